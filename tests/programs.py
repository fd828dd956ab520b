"""Random programs and random stacks of transforms over them, as Python source: an example prints as what one runs.

A program is a function of an array of shape (3,); a stack is a chain of functions, each a transform of the one
before, that again take an array of shape (3,). Both are text in terms of `np` and `fx`, so that one example runs
on fxgrad, on JAX, and on the plain reference of test_compositions.py.
"""

import numpy
from hypothesis import strategies as st

SIZE = 3
LARGEST = 81  # a result with more entries is summed up before the next Jacobian
CONSTANTS = {
    "A": numpy.array([[0.9, -0.4, 0.3], [0.2, 0.8, -0.5], [-0.6, 0.1, 0.7]]),
    "C": numpy.array([0.31, -0.73, 1.17]),
    "I": numpy.array([2, 0, 2]),
}
X = numpy.array([0.4137, -0.9071, 1.2731])  # off the thresholds of the choices above, halved or doubled

# Values of shape (3,) from values of shape (3,); bounded, and without ties where choices are made.
STATEMENTS = [
    "np.sin({a})",
    "np.tanh({a}) + {b}",
    "{a} * {b}",
    "{a} - 0.5 * {b}",
    "{a} / (1.5 + {b} ** 2)",
    "np.exp(-({a} ** 2))",
    "np.sqrt(1.0 + {a} ** 2)",
    "np.log(2.0 + np.cos({a}))",
    "np.arctan2({a}, 2.0 + {b} ** 2)",
    "np.where({a} > 0.1, np.sin({b}), {a})",
    "np.maximum({a}, C * {b} + 0.05)",
    "np.minimum(np.sin({a} + C), 0.7)",
    "np.clip({a} + C, -0.61, 0.83)",
    "np.abs({a} + C) * 0.5",
    "A @ {a}",
    "{a} @ (A * {b})",
    "np.einsum('i,ij,j->j', {a}, A, {b})",
    "(np.outer({a}, {b}) * A).sum(axis=0)",
    "np.tensordot(np.stack([{a}, {b}]), A, axes=1)[1]",
    "{a}.sum() * C",
    "{a} - np.mean({b})",
    "np.max({a} + 5.0 * C) * {b}",
    "np.prod(1.0 + 0.1 * {a}) + {b}",
    "np.cumsum({a})",
    "{a}[::-1]",
    "{a}[I]",
    "{a}[1] * {b}",
    "np.concatenate([{a}[1:], {b}[:1]])",
    "np.stack([{a}, {b}], axis=1).reshape(2, 3)[1]",
    "np.roll({a}, 1) * {b}",
    "np.broadcast_to({a}, (2, 3)).T.sum(axis=1)",
    "np.take({a}, I) + {b}",
    "({a}[:, None] * {b}[None, :]).transpose()[0]",
    "{a} * fx.stop_gradient({b})",
    "fx.jit(lambda v: np.sin(v) * {b})({a})",
    "fx.checkpoint(lambda v: np.sin(v) * np.cos(v + {b}))({a})",
    "fx.vmap(lambda v: v * np.sin({b}.sum() + v))({a})",
    "fx.vmap(lambda r, s: r @ {b} + s, in_axes=(1, 0))(A, {a})",
    "fx.grad(lambda v: np.sum(np.sin(v) * {b} ** 2))({a})",
    "fx.jvp(lambda v: np.sin(v) * {b}, ({a},), ({b},))[1]",
    "softplus({a}) + {b}",
    "scaled({a}, {b})",
    "twice(lambda v: np.sin(v) + C, {a}) * {b}",
    "np.where(A > 0.0, A * {a}, {b}[:, None]).sum(axis=0)",
]

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
def programs(draw, max_statements=6):
    """The source of `def f(x): …`."""
    lines, names = ["def f(x):"], ["x"]
    for _ in range(draw(st.integers(1, max_statements))):
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        names.append(f"v{len(names)}")
        lines.append(f"    {names[-1]} = {draw(st.sampled_from(STATEMENTS)).format(a=a, b=b)}")
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
