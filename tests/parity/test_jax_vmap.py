"""vmap against JAX: axes, prefixes, sizes, and the errors."""

import numpy
import pytest

from tests.parity.oracle import agree, both_refuse

rng = numpy.random.default_rng(3)
V, W = rng.normal(size=3), rng.normal(size=3)
M, N = rng.normal(size=(3, 4)), rng.normal(size=(4, 3))
T = rng.normal(size=(2, 3, 4))
TREE = {"w": M, "b": (V, None), "s": W}

PROGRAMS = {
    "scalars": lambda fx, np: fx.vmap(np.sin)(V),
    "rows": lambda fx, np: fx.vmap(np.sum)(M),
    "dot": lambda fx, np: fx.vmap(np.dot)(M, M),
    "in_axes, an int": lambda fx, np: fx.vmap(lambda x, y: x * np.sum(y), in_axes=1)(M, N.T),
    "in_axes, a tuple": lambda fx, np: fx.vmap(np.dot, in_axes=(0, 1))(M, N),
    "in_axes, a list": lambda fx, np: fx.vmap(np.dot, in_axes=[0, 1])(M, N),
    "in_axes, None": lambda fx, np: fx.vmap(lambda x, y: x * y, in_axes=(0, None))(V, M),
    "in_axes, negative": lambda fx, np: fx.vmap(lambda x, y: np.outer(x, y), in_axes=(-1, -2))(N, M),
    "out_axes": lambda fx, np: fx.vmap(lambda x: np.outer(x, x), out_axes=2)(M),
    "out_axes, negative": lambda fx, np: fx.vmap(lambda x: np.outer(x, x), out_axes=-1)(M),
    "out_axes, -2": lambda fx, np: fx.vmap(lambda x: np.outer(x, x), out_axes=-2)(M),
    "out_axes, a tuple": lambda fx, np: fx.vmap(lambda x: (x, np.sum(x)), out_axes=(1, 0))(M),
    "out_axes, None": lambda fx, np: fx.vmap(
        lambda x, y: (x * y, np.sin(y)), in_axes=(0, None), out_axes=(0, None)
    )(V, 2.0),
    "out_axes, one for a dict": lambda fx, np: fx.vmap(lambda x: {"a": x, "b": (x * 2.0, None)}, out_axes=1)(
        M
    ),
    "out_axes, a dict": lambda fx, np: fx.vmap(
        lambda x: {"a": x, "b": (x * 2.0, np.sum(x))}, out_axes={"a": 1, "b": 0}
    )(M),
    "out_axes, nested": lambda fx, np: fx.vmap(
        lambda x: {"a": x, "b": (x * 2.0, np.sum(x))}, out_axes={"a": 1, "b": (-1, 0)}
    )(M),
    "a pytree": lambda fx, np: fx.vmap(lambda d: d["w"] @ d["w"] + d["b"][0] * d["s"])(TREE),
    "a prefix": lambda fx, np: fx.vmap(
        lambda d, y: d["w"] @ y + d["s"][0], in_axes=({"w": 0, "b": None, "s": None}, None)
    )(TREE, N[:, 0]),
    "a prefix with tuples": lambda fx, np: fx.vmap(
        lambda d: d["w"] * d["b"][0] * d["s"], in_axes=({"w": 1, "b": (None, None), "s": None},)
    )({**TREE, "w": N.T}),
    "None for a whole dict": lambda fx, np: fx.vmap(lambda d, y: d["w"] * y, in_axes=(None, 0))(TREE, V),
    "keyword arguments": lambda fx, np: fx.vmap(lambda x, *, k: x * k, in_axes=1)(N, k=V),
    "axis_size": lambda fx, np: fx.vmap(lambda x: x * 2.0, in_axes=None, axis_size=3)(M),
    "axis_size, no argument": lambda fx, np: fx.vmap(lambda: np.ones(2), axis_size=3)(),
    "axis_size, given as well": lambda fx, np: fx.vmap(lambda x, y: x * y, in_axes=(0, None), axis_size=3)(
        V, W
    ),
    "a constant result": lambda fx, np: fx.vmap(lambda x: (x, 3.0, np.zeros(2)))(V),
    "a constant result elsewhere": lambda fx, np: fx.vmap(lambda x: np.zeros(2), out_axes=1)(V),
    "size one": lambda fx, np: fx.vmap(np.sum)(M[:1]),
    "nested": lambda fx, np: fx.vmap(fx.vmap(np.sin))(M),
    "nested, axes": lambda fx, np: fx.vmap(fx.vmap(lambda x, y: x * y, in_axes=(0, None)), in_axes=(None, 0))(
        V, W
    ),
    "nested, both axes": lambda fx, np: fx.vmap(
        fx.vmap(np.dot, in_axes=(0, 1), out_axes=0), in_axes=(0, None), out_axes=1
    )(T, N),
    "three deep": lambda fx, np: fx.vmap(fx.vmap(fx.vmap(lambda x: x**2), in_axes=1, out_axes=1), in_axes=2)(
        T
    ),
    "closure": lambda fx, np: fx.vmap(lambda x: fx.vmap(lambda y: x * y)(W))(V),
    "closure, unmapped inside": lambda fx, np: fx.vmap(
        lambda x: fx.vmap(lambda y: (x, y), out_axes=(None, 0))(W)
    )(V),
    "comparison, where": lambda fx, np: fx.vmap(lambda x: np.where(x > 0, np.sum(x), -1.0))(M),
    "indexing": lambda fx, np: fx.vmap(lambda x, i: x[i] + x[::-1][:2], in_axes=(0, 0))(
        M, numpy.array([0, 3, 2])
    ),
    "indexing of what is not mapped": lambda fx, np: fx.vmap(lambda i: np.take(M, i, axis=0))(
        numpy.array([2, 0, 1])
    ),
    "update": lambda fx, np: fx.vmap(lambda x, i: x.at[i].set(7.0))(np.asarray(M), numpy.array([0, 3, 2])),
    "einsum": lambda fx, np: fx.vmap(lambda t, v: np.einsum("ij,i->j", t, v), in_axes=(0, None))(T, V),
    "matmul": lambda fx, np: fx.vmap(lambda t: t @ N)(T),
    "reductions": lambda fx, np: fx.vmap(
        lambda t: (t.max(), t.min(axis=0), t.mean(axis=-1, keepdims=True), np.prod(t))
    )(T),
    "argmax": lambda fx, np: fx.vmap(lambda t: (np.argmax(t), np.argmin(t, axis=1)))(T),
    "shapes": lambda fx, np: fx.vmap(
        lambda t: (t.T, t.reshape(-1), t[None], np.squeeze(t[:1]), np.stack([t, t], axis=1))
    )(T),
    "per-sample gradients": lambda fx, np: fx.vmap(
        fx.grad(lambda w, x: np.sum(np.tanh(w * x)) ** 2), in_axes=(None, 0)
    )(N[:, 0], M),
    "grad of a vmap": lambda fx, np: fx.grad(lambda w: np.sum(fx.vmap(lambda x: np.tanh(x @ w))(M)))(N),
    "jvp of a vmap": lambda fx, np: fx.jvp(fx.vmap(lambda x: np.sum(x**2)), (M,), (N.T,)),
    "vmap of a jvp": lambda fx, np: fx.vmap(lambda x, t: fx.jvp(np.sin, (x,), (t,)))(M, N.T),
    "vmap of a jvp, tangents only": lambda fx, np: fx.vmap(lambda t: fx.jvp(np.sin, (V,), (t,)))(N),
    "vmap of a pullback": lambda fx, np: fx.vmap(fx.vjp(lambda x: np.sin(x) * x, V)[1])(N),
    "vmap of a linearized function": lambda fx, np: fx.vmap(fx.linearize(lambda x: np.sin(x) * x, V)[1])(N),
    "vmap of vjp": lambda fx, np: fx.vmap(lambda x: fx.vjp(lambda y: y @ N, x)[1](V))(M),
    "vmap of hessian": lambda fx, np: fx.vmap(fx.hessian(lambda x: np.prod(np.sin(x))))(M),
    "vmap of jacfwd, axes": lambda fx, np: fx.vmap(fx.jacfwd(lambda x: x**2), in_axes=1, out_axes=2)(N),
    "vmap of jit": lambda fx, np: fx.vmap(fx.jit(lambda x, y: x @ y), in_axes=(0, None))(M, N),
    "integers": lambda fx, np: fx.vmap(lambda n: n * 2 + 1)(numpy.arange(4)),
    "booleans": lambda fx, np: fx.vmap(lambda x: np.any(x > 0))(M),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    agree(program)


ERRORS = {
    "different sizes": lambda fx, np: fx.vmap(lambda x, y: x)(V, M.T),
    "axis out of range": lambda fx, np: fx.vmap(np.sin, in_axes=1)(V),
    "axis out of range, negative": lambda fx, np: fx.vmap(np.sin, in_axes=-2)(V),
    "a scalar": lambda fx, np: fx.vmap(np.sin)(1.0),
    "length of in_axes": lambda fx, np: fx.vmap(lambda x, y: x, in_axes=(0,))(V, V),
    "in_axes is no prefix": lambda fx, np: fx.vmap(lambda d: d["w"], in_axes=({"v": 0},))({"w": V}),
    "in_axes, no axis": lambda fx, np: fx.vmap(np.sin, in_axes=("a",))(V),
    "in_axes, a float": lambda fx, np: fx.vmap(np.sin, in_axes=0.5)(V),
    "nothing is mapped": lambda fx, np: fx.vmap(np.sin, in_axes=None)(V),
    "no argument": lambda fx, np: fx.vmap(lambda: 1.0)(),
    "axis_size disagrees": lambda fx, np: fx.vmap(np.sin, axis_size=4)(V),
    "out_axes None of a mapped result": lambda fx, np: fx.vmap(np.sin, out_axes=None)(V),
    "out_axes is no prefix": lambda fx, np: fx.vmap(np.sin, out_axes=(0, 0))(V),
    "out_axes out of range": lambda fx, np: fx.vmap(np.sin, out_axes=1)(V),
    "`if` on a mapped value": lambda fx, np: fx.vmap(lambda x: x if x > 0 else -x)(V),
    "float() of a mapped value": lambda fx, np: fx.vmap(float)(V),
    "a result that is no array": lambda fx, np: fx.vmap(lambda x: "a")(V),
    "an argument that is no array": lambda fx, np: fx.vmap(lambda x: x)("a"),
    "no function": lambda fx, np: fx.vmap(3),
}


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_both_refuse(program):
    both_refuse(program)
