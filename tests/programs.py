"""Random programs and random stacks of transforms over them, as Python source: an example prints as what one runs.

A program is a function of an array of shape (3,); a stack is a chain of functions, each a transform of the one
before, that again take an array of shape (3,). Both are text in terms of `np` and `fx`, so that one example runs
on fxgrad, on JAX, and on the plain reference of transforms/test_compositions.py.
"""

import numpy
from hypothesis import strategies as st

from tests.statements import CONSTANTS, FUNCTIONS, STATEMENTS

SIZE = 3
LARGEST = 81  # a result with more entries is summed up before the next Jacobian
X = numpy.array([0.4137, -0.9071, 1.2731])  # off the thresholds of the choices above, halved or doubled

# Name → an array made of f and x, both of them of the outer transform.
TRANSFORMS = {
    "grad": "fx.grad(lambda v: np.sum(np.sin(f(v))))(x)",
    "value_and_grad": "(lambda y, g: y * g)(*fx.value_and_grad(lambda v: np.sum(f(v) ** 2))(x))",
    "grad, closing over x": "fx.grad(lambda v: np.sum(f(v) * np.sum(x * v)))(C)",
    "vjp": "(lambda y, pull: pull(np.cos(y))[0])(*fx.vjp(f, x))",
    "vjp, twice": "(lambda y, pull: pull(y)[0] * pull(np.sin(y))[0])(*fx.vjp(f, x))",
    "jvp": "fx.jvp(f, (x,), (np.cos(x),))[1]",
    "jvp of a closure": "fx.jvp(lambda v: f(v * x), (C,), (x,))[1]",
    "linearize": "(lambda y, push: y * push(C) + push(np.sin(x)))(*fx.linearize(f, x))",
    "linear_transpose": "fx.linear_transpose(lambda t: fx.jvp(f, (x,), (t,))[1], x)(np.sin(f(x)))[0]",
    "vmap": "fx.vmap(f)(A * x)",
    "vmap, axes": "fx.vmap(f, in_axes=1, out_axes=-1)(A * x)",
    "vmap of a closure": "fx.vmap(lambda c: f(c * x) * c)(C)",
    "vmap of grad": "fx.vmap(fx.grad(lambda v: np.sum(f(v))))(np.stack([x, 0.5 * x]))",
    "jit": "fx.jit(f)(x)",
    "jit of a closure": "fx.jit(lambda v: f(v * x))(C)",
    "jacfwd": "fx.jacfwd(f)(x)",
    "jacrev": "fx.jacrev(f)(x)",
    "checkpoint": "fx.checkpoint(f)(x)",
    "custom_jvp": "ruled(f)(x)",
}  # fmt: skip


@st.composite
def programs(draw, max_statements=6, families=tuple(STATEMENTS)):
    """The source of `def f(x): …`, with statements of these families."""
    statements = st.sampled_from(families).flatmap(lambda family: st.sampled_from(STATEMENTS[family]))
    lines, names = ["def f(x):"], ["x"]
    for _ in range(draw(st.integers(1, max_statements))):
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        names.append(f"v{len(names)}")
        lines.append(f"    {names[-1]} = {draw(statements).format(a=a, b=b)}")
    lines.append(f"    return {names[-1]}")
    return "\n".join(lines)


def stacks(max_size=4):
    """The names of the transforms applied, innermost first."""
    return st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=max_size)


def namespace(fx, np):
    """What programs may name, made of the given transforms and array functions."""

    @fx.custom_jvp
    def softplus(v):
        return np.log(1.0 + np.exp(v))

    softplus.defjvps(lambda t, y, v: t / (1.0 + np.exp(-v)))

    @fx.custom_jvp
    def scaled(v, w):
        return v * np.sin(w)

    scaled.defjvps(lambda t, y, v, w: t * np.sin(w), lambda t, y, v, w: v * np.cos(w) * t)

    def twice(g, v):
        wrapped = fx.custom_jvp(lambda u: g(g(u)))
        wrapped.defjvp(lambda primals, tangents: fx.jvp(lambda u: g(g(u)), primals, tangents))
        return wrapped(v)

    def ruled(g):
        wrapped = fx.custom_jvp(g)
        wrapped.defjvp(lambda primals, tangents: fx.jvp(g, primals, tangents))
        return wrapped

    return {
        "fx": fx,
        "np": np,
        "softplus": softplus,
        "scaled": scaled,
        "twice": twice,
        "ruled": ruled,
        **CONSTANTS,
        **{name: function(np, fx.lax) for name, function in FUNCTIONS.items()},
        "lax": fx.lax,
    }


def build(source, stack, fx, np):
    """The function of a program under a stack of transforms."""
    names = namespace(fx, np)
    exec(source, names)
    f = names["f"]
    for transform in stack:
        f = bounded(eval(f"lambda f: lambda x: {TRANSFORMS[transform]}", names)(f), np)
    return f


def bounded(f, np):
    """f with few entries (summed along leading axes) and values between −1 and 1: so that rounding errors of one level
    are not blown up by the next."""

    def g(x):
        y = f(x)
        while numpy.prod(y.shape) > LARGEST:
            y = np.sum(y, axis=0)
        return y / np.sqrt(1.0 + y**2)

    return g
