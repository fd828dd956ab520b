"""Effects under control flow of every kind, nested at random, over constants only: a staged program has them at each
call as often, and with the same values, as the program as written."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
from fxgrad import lax

doubled = fx.custom_jvp(lambda f, x: f(x) * 2, nondiff_argnums=(0,))
doubled.defjvp(lambda f, primals, tangents: (doubled(f, *primals), 2 * tangents[0]))
tripled = fx.custom_vjp(lambda f, x: f(x) * 3, nondiff_argnums=(0,))
tripled.defvjp(lambda f, x: (tripled(f, x), None), lambda f, _, ct: (3 * ct,))

# What runs a function of a number, some of them more than once.
CONSTRUCTS = {
    "fori_loop": lambda f, x: lax.fori_loop(0, 2, lambda i, c: f(c) + i, x),
    "scan": lambda f, x: lax.scan(lambda c, r: (f(c + r), r), x, np.arange(2.0))[0],
    "scan, of rows": lambda f, x: lax.scan(lambda c, r: (c + f(r), r), x, np.arange(2.0))[0],
    "while_loop": lambda f, x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x), 4)[1],
    "while_loop, its condition": lambda f, x: lax.while_loop(
        lambda s: f(s[1]) + s[0] < s[1] + 2, lambda s: (s[0] + 1, s[1]), (0, x), 4
    )[1],
    "cond": lambda f, x: lax.cond(True, f, lambda x: x, x),
    "cond, of the value": lambda f, x: lax.cond(x == x, f, lambda x: x, x),
    "switch": lambda f, x: lax.switch(1, [lambda x: x, f], x),
    "map": lambda f, x: lax.map(f, np.arange(2.0))[1] + x,
    "associative_scan": lambda f, x: lax.associative_scan(lambda a, b: (f(1.0), a + b)[1], np.arange(4.0))[3] + x,
    "jit": lambda f, x: fx.jit(f)(x),
    "checkpoint": lambda f, x: fx.checkpoint(f)(x),
    "custom_jvp": lambda f, x: doubled(f, x),
    "custom_vjp": lambda f, x: tripled(f, x),
}  # fmt: skip
TRANSFORMS = {
    "jit": (lambda f: fx.jit(f), 1),
    "grad": (lambda f: lambda x: fx.grad(f)(x), 1),
    "jvp": (lambda f: lambda x: fx.jvp(f, (x,), (1.0,))[0], 1),
    "linearize": (lambda f: lambda x: fx.linearize(f, x)[0], 1),
    "a loop": (lambda f: lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x), 2),
    "a branch": (lambda f: lambda x: lax.cond(x == x, f, lambda x: x, x), 1),
}


@given(
    st.lists(st.sampled_from(sorted(CONSTRUCTS)), max_size=3),
    st.lists(st.sampled_from(sorted(TRANSFORMS)), max_size=2),
    st.booleans(),
)
@settings(max_examples=150)
def test_effects_happen_at_each_call(constructs, transforms, constant):
    seen = []

    def noted(x):
        fx.debug.callback(lambda v: seen.append(float(v)), 0.5 if constant else x)
        return x * 1.0

    nested = noted
    for name in constructs:
        nested = (lambda construct, inner: lambda x: construct(inner, x))(CONSTRUCTS[name], nested)

    def program(x):
        nested(1.5)
        return 2.0 * x

    program(1.0)
    expected, times = sorted(seen), 1
    transformed = program
    for name in transforms:
        transform, count = TRANSFORMS[name]
        transformed, times = transform(transformed), times * count
    transformed = fx.jit(transformed)
    for _ in range(3):
        seen.clear()
        transformed(1.0)
        assert sorted(seen) == sorted(expected * times)
