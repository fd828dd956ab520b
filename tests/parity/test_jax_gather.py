"""gather and scatter beside JAX: every way in which axes can lie, every mode, derivatives and vmap."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

from . import oracle  # noqa: F401 - 64-bit numbers

import jax  # isort: skip

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 6, 4))
INTEGERS = RNG.integers(0, 9, 7)
# operand, starts, offset_dims, collapsed_slice_dims, start_index_map, slice_sizes, axes in common
CASES = {
    "a collapsed axis": (X, RNG.integers(-1, 6, (3, 2)), (1, 2), (0,), (0, 1), (1, 3, 4), ()),
    "windows around starts": (X, RNG.integers(-1, 6, (3, 2, 2)), (0, 3), (1,), (1, 0), (2, 1, 3), ()),
    "one start": (X, RNG.integers(0, 5, 1), (0, 1, 2), (), (2,), (5, 2, 2), ()),
    "no starts": (X, RNG.integers(0, 5, (4, 0)), (1, 2, 3), (), (), (1, 2, 2), ()),
    "axes in common": (X, RNG.integers(0, 4, (3, 5, 1)), (0,), (1,), (1,), (1, 1, 2), ((0,), (1,))),
    "entries": (INTEGERS, RNG.integers(-2, 9, (4, 1)), (), (0,), (0,), (1,), ()),
    "slices of unsigned": (INTEGERS.astype(np.uint8), RNG.integers(-2, 9, (4, 1)), (1,), (), (0,), (3,), ()),
    "nothing": (X[:, :0], np.zeros((0, 1), int), (1, 2), (0,), (0,), (1, 0, 4), ()),
}
WRITES = ["scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter_sub"]


def numbers(library, kind, case):
    _, _, offset, collapsed, index_map, _, common = case
    return getattr(library, f"{kind}DimensionNumbers")(offset, collapsed, index_map, *common)


def starts_for(case, mode):
    return np.zeros_like(case[1]) if mode == "promise_in_bounds" else case[1]


@pytest.mark.parametrize("mode", [None, "clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("name", CASES)
def test_gather(name, mode):
    case = CASES[name]
    x, starts, sizes = case[0], starts_for(case, mode), case[5]

    def ours(x):
        return lax.gather(x, starts, numbers(lax, "Gather", case), sizes, mode=mode)

    def theirs(x):
        return jax.lax.gather(x, starts, numbers(jax.lax, "Gather", case), sizes, mode=mode)

    np.testing.assert_array_equal(ours(x), theirs(x), strict=True)
    np.testing.assert_array_equal(fx.jit(fx.vmap(ours))(np.stack([x, x]))[1], ours(x))
    if x.dtype.kind == "f" and mode is not None:  # JAX's derivative of its default mode is that of "fill"
        w = np.random.default_rng(1).normal(size=ours(x).shape)
        slope = fx.grad(lambda x: fnp.sum(fnp.nan_to_num(ours(x)) * w))(x)
        np.testing.assert_allclose(slope, jax.grad(lambda x: (jax.numpy.nan_to_num(theirs(x)) * w).sum())(x))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "write, mode",
    [*((write, None) for write in WRITES), ("scatter_add", "clip"), ("scatter", "promise_in_bounds")],
)
def test_scatter(write, name, mode):
    case = CASES[name]
    x, starts = case[0], starts_for(case, mode)
    shape = np.shape(lax.gather(x, starts, numbers(lax, "Gather", case), case[5]))
    updates = (3 * np.random.default_rng(1).normal(size=shape)).astype(x.dtype)

    def ours(x, updates):
        return getattr(lax, write)(x, starts, updates, numbers(lax, "Scatter", case), mode=mode)

    def theirs(x, updates):
        return getattr(jax.lax, write)(x, starts, updates, numbers(jax.lax, "Scatter", case), mode=mode)

    y = ours(x, updates)
    np.testing.assert_allclose(y, theirs(x, updates), rtol=1e-12, atol=1e-12, strict=True)
    np.testing.assert_allclose(fx.vmap(ours)(np.stack([x, x]), np.stack([updates, updates]))[1], y)
    if x.dtype.kind == "f" and write in ("scatter_add", "scatter_sub"):
        w = np.random.default_rng(2).normal(size=x.shape)
        found = fx.grad(lambda x, u: fnp.sum(ours(x, u) * w), (0, 1))(x, updates)
        wanted = jax.grad(lambda x, u: (theirs(x, u) * w).sum(), (0, 1))(x, updates)
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_scatter_apply(name):
    case = CASES[name]
    x, starts = case[:2]
    shape = np.shape(lax.gather(x, starts, numbers(lax, "Gather", case), case[5]))
    ours = lax.scatter_apply(x, starts, lambda v: v * 2, numbers(lax, "Scatter", case), update_shape=shape)
    theirs = jax.lax.scatter_apply(
        x, starts, lambda v: v * 2, numbers(jax.lax, "Scatter", case), update_shape=shape
    )
    np.testing.assert_array_equal(ours, theirs, strict=True)


def test_what_does_not_fit_is_refused():
    rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    with pytest.raises(fx.ShapeError, match="last axis of the indices"):
        lax.gather(np.ones((3, 2)), np.array([[1, 2]]), rows, (1, 2))
    with pytest.raises(fx.ShapeError, match="slice_sizes"):
        lax.gather(np.ones((3, 2)), np.array([[1]]), rows, (1, 3))
    with pytest.raises(fx.ShapeError, match="updates of shape"):
        lax.scatter(
            np.ones((3, 2)), np.array([[1]]), np.ones(2), lax.ScatterDimensionNumbers((1,), (0,), (0,))
        )
    with pytest.raises(fx.StructureError, match="no mode"):
        lax.gather(np.ones((3, 2)), np.array([[1]]), rows, (1, 2), mode="wrap")
