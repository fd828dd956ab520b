"""Custom rules that call themselves and each other, also on functions that close over traced values: under random
stacks of transforms they are the function that they are made of."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.programs import TRANSFORMS, X, bounded, namespace


def forward_pair():
    """sin and cos by rules for forward mode, each of which calls the other."""
    sine, cosine = fx.custom_jvp(fnp.sin), fx.custom_jvp(fnp.cos)
    sine.defjvps(lambda t, y, x: t * cosine(x))
    cosine.defjvp(lambda primals, tangents: (cosine(*primals), -tangents[0] * sine(*primals)))
    return sine


def reverse_pair():
    """The same by rules for reverse mode, whose forward halves call the function itself."""
    sine, cosine = fx.custom_vjp(fnp.sin), fx.custom_vjp(fnp.cos)
    sine.defvjp(lambda x: (sine(x), x), lambda x, ct: (ct * cosine(x),))
    cosine.defvjp(lambda x: (cosine(x), x), lambda x, ct: (-ct * sine(x),))
    return sine


def mixed_pair():
    """One of each."""
    sine, cosine = fx.custom_jvp(fnp.sin), fx.custom_vjp(fnp.cos)
    sine.defjvps(lambda t, y, x: t * cosine(x))
    cosine.defvjp(lambda x: (cosine(x), x), lambda x, ct: (-ct * sine(x),))
    return sine


def nested():
    """A function with a rule made of one with a rule, and a loop in it."""
    inner = forward_pair()
    outer = fx.custom_vjp(lambda x: lax.fori_loop(0, 1, lambda i, c: inner(c), x))
    outer.defvjp(lambda x: (outer(x), x), lambda x, ct: (fx.vjp(inner, x)[1](ct)[0],))
    return outer


def counted():
    """A function that calls itself, with a count that goes down."""
    twice = fx.custom_vjp(lambda n, x: fnp.sin(x) if n == 0 else twice(n - 1, x), nondiff_argnums=(0,))
    twice.defvjp(lambda n, x: (twice(n, x), x), lambda n, x, ct: (ct * twice(n, x + np.pi / 2),))
    return partial(twice, 2)


def apply_forward():
    """The call of a function, whose rule calls functions that close over its arguments."""
    call = fx.custom_jvp(lambda f, x: f(x), nondiff_argnums=(0,))

    @call.defjvp
    def rule(f, primals, tangents):
        (x,), (t,) = primals, tangents
        return call(f, x), fx.jvp(f, (x,), (t,))[1]

    return lambda x: call(lambda v: fnp.sin(v), x)


VARIANTS = {f.__name__: f for f in (forward_pair, reverse_pair, mixed_pair, nested, counted, apply_forward)}


@given(
    st.sampled_from(sorted(VARIANTS)), st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=4)
)
@settings(max_examples=150)
def test_rules_that_call_each_other(variant, stack):
    names = namespace(fx, fnp)

    def build(f):
        for transform in stack:
            f = bounded(eval(f"lambda f: lambda x: {TRANSFORMS[transform]}", names)(f), fnp)
        return f

    np.testing.assert_allclose(
        build(VARIANTS[variant]())(X), build(fnp.sin)(X), rtol=1e-8, atol=1e-10, err_msg=str((variant, stack))
    )


# -- the fixed point of a function, as JAX's documentation has it
def solve(f, a, x):
    def goes_on(state):
        return fnp.abs(state[0] - state[1]) > 1e-12

    return lax.while_loop(goes_on, lambda state: (state[1], f(a, state[1])), (x, f(a, x)))[1]


def fixed_point_of_arguments():
    """The backward rule calls the function itself, with what it needs as arguments."""
    fixed_point = fx.custom_vjp(solve, nondiff_argnums=(0,))

    def step_back(f, packed, u):
        a, x, ct = packed
        return ct + fx.vjp(lambda x: f(a, x), x)[1](u)[0]

    def bwd(f, saved, ct):
        a, x = saved
        u = fixed_point(partial(step_back, f), (a, x, ct), ct)
        return fx.vjp(lambda a: f(a, x), a)[1](u)[0], fnp.zeros_like(x)

    fixed_point.defvjp(lambda f, a, x: (lambda y: (y, (a, y)))(fixed_point(f, a, x)), bwd)
    return fixed_point


def fixed_point_of_closures():
    """The backward rule calls the function itself, on a function that closes over a pullback."""
    fixed_point = fx.custom_vjp(solve, nondiff_argnums=(0,))

    def bwd(f, saved, ct):
        a, x = saved
        pull = fx.vjp(lambda x: f(a, x), x)[1]
        u = fixed_point(lambda _, u: ct + pull(u)[0], 0.0, ct)
        return fx.vjp(lambda a: f(a, x), a)[1](u)[0], fnp.zeros_like(x)

    fixed_point.defvjp(lambda f, a, x: (lambda y: (y, (a, y)))(fixed_point(f, a, x)), bwd)
    return fixed_point


WAYS = {
    "grad": lambda g: g,
    "jit": fx.jit,
    "vmap": lambda g: lambda a: fx.vmap(g)(np.array([a, 2 * a]))[0],
    "jit(vmap)": lambda g: lambda a: fx.jit(fx.vmap(g))(np.array([a, 2 * a]))[0],
    "vmap(jit)": lambda g: lambda a: fx.vmap(fx.jit(g))(np.array([a, 2 * a]))[0],
    "loop": lambda g: lambda a: fx.jit(lambda a: lax.fori_loop(0, 2, lambda i, c: g(a) + 0 * c, a))(a),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [fixed_point_of_arguments, fixed_point_of_closures])
def test_a_fixed_point_whose_rule_is_a_fixed_point(make, way):
    fixed_point = make()
    gradient = fx.grad(lambda a: fixed_point(lambda a, x: 0.5 * (x + a / x), a, a))
    assert WAYS[way](gradient)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-9)


def test_second_derivatives_need_arguments():
    f = fixed_point_of_arguments()
    root = fx.grad(lambda a: f(lambda a, x: 0.5 * (x + a / x), a, a))
    for second in (fx.grad(root), fx.jit(fx.grad(root)), fx.grad(fx.jit(root))):
        assert second(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-8)
    f = fixed_point_of_closures()
    closed = fx.grad(lambda a: f(lambda a, x: 0.5 * (x + a / x), a, a))
    with pytest.raises(fx.CustomRuleError, match="closes over"):
        fx.grad(fx.jit(closed))(2.0)
