"""Collectives against JAX: values and gradients, inside and outside of the map, nested axes, pytrees."""

import numpy
import pytest

import fxgrad
import fxgrad.numpy
from tests.parity.oracle import JAX, same

import jax  # isort: skip

rng = numpy.random.default_rng(0)
V, W = rng.normal(size=3), rng.normal(size=3)
S = rng.normal(size=(3, 3))
X = rng.normal(size=(3, 4))
L = rng.normal(size=(3, 6, 2))
T = rng.normal(size=(2, 3, 4))
C = rng.normal(size=(3, 3, 2, 3))
TREE = {"a": V, "b": (X, None)}

# (the function of one entry, given lax and the entry; the mapped operand)
LOCAL = {
    "psum": (lambda lax, x: lax.psum(x, "i") * x, V),
    "psum of rows": (lambda lax, x: lax.psum(x, "i") ** 2, X),
    "psum of a tree": (lambda lax, d: lax.psum(d, "i"), TREE),
    "psum of what is the same": (lambda lax, x: x * lax.psum(W, "i").sum(), V),
    "psum of a number": (lambda lax, x: x * lax.psum(1, "i") + lax.psum(2.5, "i"), V),
    "pmean": (lambda lax, x: (x - lax.pmean(x, "i")) ** 3, X),
    "normalized": (lambda lax, x: x**2 / (lax.psum(x**2, "i")) ** 0.5, X),
    "all_gather": (lambda lax, x: lax.all_gather(x, "i") @ W * x, V),
    "all_gather, axis": (lambda lax, x: lax.all_gather(x, "i", axis=1) ** 2 * x[0], X),
    "all_gather, the last axis": (lambda lax, x: lax.all_gather(x, "i", axis=-1), X),
    "all_gather, tiled": (lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True) * x[0, 0], L),
    "all_gather of what is the same": (lambda lax, x: lax.all_gather(W, "i") * x, V),
    "psum_scatter": (lambda lax, x: lax.psum_scatter(x**2, "i") * x[0], S),
    "psum_scatter, dimension": (lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=2) ** 2, C),
    "psum_scatter, tiled": (lambda lax, x: lax.psum_scatter(x, "i", tiled=True) ** 2 * x[0], L),
    "ppermute": (lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]) * x, X),
    "pshuffle": (lambda lax, x: lax.pshuffle(x, "i", [1, 2, 0]) * x, X),
    "all_to_all": (lambda lax, x: lax.all_to_all(x, "i", 0, 0) * x, S),
    "all_to_all, tiled": (lambda lax, x: lax.all_to_all(x**2, "i", 0, 1, tiled=True), L),
    "all_to_all, tiled, one axis": (lambda lax, x: lax.all_to_all(x**2, "i", 0, 0, tiled=True), L),
    "pswapaxes": (lambda lax, x: lax.pswapaxes(x, "i", 0) * x, S),
    "axis_index": (lambda lax, x: x * (lax.axis_index("i") + 1.0), V),
    "axis_size": (lambda lax, x: x**3 / lax.axis_size("i"), V),
    "several": (
        lambda lax, x: lax.ppermute(lax.psum(x, "i") * x, "i", [(1, 0), (2, 1), (0, 2)]) - lax.pmean(x, "i"),
        X,
    ),
    "matrix product": (lambda lax, x: lax.psum_scatter(lax.all_gather(x, "i", axis=1) @ S, "i") ** 2, S),
}


def ways(fx, lax, f, x):
    """The values, the tangents, and gradients taken inside and outside of the map."""

    def local(x):
        return f(lax, x)

    def loss(x):
        leaves = [v for v in fx.tree.leaves(local(x)) if numpy.ndim(v) >= 0]
        return sum((leaf**2).sum() for leaf in leaves)

    def mapped(x):
        return fx.vmap(local, axis_name="i")(x)

    value, tangent = fx.jvp(mapped, (x,), (fx.tree.map(lambda v: 0.5 * v + 0.25, x),))
    return (
        value,
        tangent,
        fx.grad(lambda x: fx.vmap(loss, axis_name="i")(x).sum())(x),
        fx.vmap(fx.grad(loss), axis_name="i")(x),
        fx.vmap(lambda x: fx.jvp(local, (x,), (x,))[1], axis_name="i")(x),
        fx.vmap(fx.vmap(local, axis_name="i"), in_axes=-1, out_axes=-1)(fx.tree.map(widened, x)),
    )


def widened(x):
    return x[..., None] * numpy.array([1.0, 2.0])


@pytest.mark.parametrize("f, x", LOCAL.values(), ids=LOCAL)
def test_values_and_gradients(f, x):
    theirs = jax.jit(lambda x: ways(JAX, jax.lax, f, x))(x)
    same(ways(fxgrad, fxgrad.lax, f, x), theirs)
    same(fxgrad.jit(lambda x: ways(fxgrad, fxgrad.lax, f, x))(x), theirs)


def nested(fx, f, x, inner="i", outer="j"):
    return fx.vmap(fx.vmap(f, axis_name=inner), axis_name=outer)(x)


PROGRAMS = {
    "pmax, pmin": lambda fx, lax: fx.vmap(lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i")), axis_name="i")(X),
    "pmax of what is the same": lambda fx, lax: fx.vmap(lambda x: lax.pmax(W, "i") + x, axis_name="i")(V),
    "psum of integers": lambda fx, lax: fx.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(
        numpy.arange(3, dtype="int32")
    ),
    "pmean of integers": lambda fx, lax: fx.vmap(lambda x: lax.pmean(x, "i"), axis_name="i")(numpy.arange(3)),
    "single precision": lambda fx, lax: fx.vmap(
        lambda x: (lax.psum(x, "i"), lax.pmean(x, "i")), axis_name="i"
    )(X.astype("float32")),
    "complex": lambda fx, lax: fx.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(X * 1j),
    "all_to_all, axes": lambda fx, lax: fx.vmap(
        lambda x: (lax.all_to_all(x, "i", 0, 2), lax.all_to_all(x, "i", 2, 1)), axis_name="i"
    )(C),
    "inner axis": lambda fx, lax: nested(fx, lambda x: x - lax.psum(x, "i"), T),
    "outer axis": lambda fx, lax: nested(fx, lambda x: x - lax.psum(x, "j"), T),
    "both axes": lambda fx, lax: nested(fx, lambda x: x - lax.pmean(x, ("i", "j")), T),
    "both, one after the other": lambda fx, lax: nested(fx, lambda x: lax.psum(x * lax.psum(x, "i"), "j"), T),
    "positions": lambda fx, lax: nested(
        fx, lambda x: x * 0 + 10.0 * lax.axis_index(("i", "j")) + lax.axis_size(("i", "j")), T
    ),
    "maximum over both": lambda fx, lax: nested(fx, lambda x: lax.pmax(x, ("i", "j")), T),
    "permutation of the outer": lambda fx, lax: nested(
        fx, lambda x: lax.ppermute(x, "j", [(0, 1), (1, 0)]) * x, T
    ),
    "exchange with the outer": lambda fx, lax: nested(fx, lambda x: lax.all_to_all(x, "j", 0, 0), T[..., :2]),
    "gradient between the maps": lambda fx, lax: fx.vmap(
        fx.grad(lambda x: fx.vmap(lambda x: (lax.psum(x, ("i", "j")) ** 2).sum(), axis_name="i")(x).sum()),
        axis_name="j",
    )(T),
    "gradient inside of both": lambda fx, lax: nested(
        fx, fx.grad(lambda x: (lax.psum(x**2, "i") * lax.pmean(x, "j")).sum()), T
    ),
    "weights outside": lambda fx, lax: fx.grad(
        lambda w: fx.vmap(lambda x: lax.pmean(w * x, "i") ** 2 * w, axis_name="i")(V).sum()
    )(0.7),
    "weights inside": lambda fx, lax: fx.vmap(
        fx.grad(lambda w, x: lax.pmean((w * x) ** 2, "i")), (None, 0), axis_name="i"
    )(0.7, V),
    "data-parallel gradient": lambda fx, lax: fx.vmap(
        lambda w, x: lax.pmean(fx.grad(lambda w: ((w * x) ** 2).sum())(w), "i"), (None, 0), axis_name="i"
    )(0.7, X),
    "batch normalization": lambda fx, lax: fx.grad(
        lambda x: (
            fx.vmap(
                lambda x: (x - lax.pmean(x, "i")) / (lax.pmean(x**2, "i") - lax.pmean(x, "i") ** 2) ** 0.5,
                axis_name="i",
            )(x)
            ** 3
        ).sum()
    )(X),
    "hessian": lambda fx, lax: fx.hessian(
        lambda x: fx.vmap(lambda x: lax.psum(x**2, "i") * x, axis_name="i")(x).sum()
    )(V),
    "hessian inside": lambda fx, lax: fx.vmap(
        fx.hessian(lambda x: lax.psum((x**3).sum(), "i") * x[0]), axis_name="i"
    )(X),
    "out_axes": lambda fx, lax: fx.vmap(lambda x: lax.psum(x, "i"), in_axes=1, out_axes=None, axis_name="i")(
        X
    ),
    "vmap of what is the same to one axis": lambda fx, lax: fx.vmap(
        lambda x: fx.vmap(lambda y: lax.psum(x, "i") * y)(W), axis_name="i"
    )(V),
    "jit inside": lambda fx, lax: fx.vmap(fx.jit(lambda x: lax.psum(x, "i") * x), axis_name="i")(X),
    "jit inside, of several kinds": lambda fx, lax: fx.vmap(
        fx.jit(lambda x, w: lax.psum_scatter(lax.all_gather(w, "i") * x, "i") + lax.axis_index("i")),
        (0, None),
        axis_name="i",
    )(V, 2.0),
    "grad of jit inside": lambda fx, lax: fx.vmap(
        fx.grad(fx.jit(lambda x: (lax.all_gather(x, "i") ** 2).sum() * x)), axis_name="i"
    )(V),
    "vjp": lambda fx, lax: fx.vmap(
        lambda x: fx.vjp(lambda x: lax.all_gather(x, "i"), x)[1](W), axis_name="i"
    )(V),
    "linearize": lambda fx, lax: fx.vmap(
        lambda x: fx.linearize(lambda x: lax.psum(x**2, "i"), x)[1](x), axis_name="i"
    )(V),
    "linear_transpose": lambda fx, lax: fx.vmap(
        lambda x: fx.linear_transpose(
            lambda x: lax.psum(x, "i") - lax.ppermute(x, "i", [(0, 1), (2, 0), (1, 2)]), x
        )(x)[0],
        axis_name="i",
    )(V),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    same(program(fxgrad, fxgrad.lax), jax.jit(lambda: program(JAX, jax.lax))())


def test_who_catches_jaxs_error_catches_ours():
    for lax, fx in ((jax.lax, JAX), (fxgrad.lax, fxgrad)):
        with pytest.raises(NameError, match="elsewhere"):
            fx.vmap(lambda x, lax=lax: lax.psum(x, "elsewhere"), axis_name="here")(V)
