"""Reductions along any axes, of arrays of any layout: machine code gives what NumPy gives."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.kernels.native import engine, totals

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")
NAMES = ["sum", "prod", "max", "min", "any", "all"]
DTYPES = ["f4", "f8", "f2", "c8", "c16", "?", "i1", "u1", "i4", "u4", "i8"]
LENGTHS = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 33, 50, 65, 130])


@st.composite
def reductions(draw):
    """The name of a reduction, an array and axes."""
    shape = draw(st.lists(LENGTHS, min_size=1, max_size=5).filter(lambda s: np.prod(s) <= 200_000))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x = (random.standard_normal(shape) * draw(st.sampled_from([1, 40]))).astype(draw(st.sampled_from(DTYPES)))
    if x.dtype.kind == "f" and draw(st.booleans()):
        x.flat[random.integers(x.size, size=3)] = [np.nan, -np.inf, -0.0]
    return draw(st.sampled_from(NAMES)), x, tuple(sorted(axes))


LAYOUTS = {
    "dense": lambda x: x,
    "Fortran": np.asfortranarray,
    "permuted": lambda x: np.ascontiguousarray(np.moveaxis(x, 0, -1)).transpose(-1, *range(x.ndim - 1)),
    "every other": lambda x: np.repeat(x, 2, 0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


def check_same(got, name, x, axes):
    """Compare with NumPy: sums and products of floating-point numbers to rounding."""
    want = getattr(np, name)(x, axis=axes)
    assert (np.shape(got), np.asarray(got).dtype) == (want.shape, want.dtype)
    if name not in ("sum", "prod") or x.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    sizes = np.abs(x.astype("c16" if x.dtype.kind == "c" else "f8"))
    bound = (
        getattr(np, name)(sizes, axis=axes) * np.finfo(x.dtype).eps * (20 if name == "sum" else 4 * x.size)
    )
    with np.errstate(all="ignore"):
        good = (np.abs(got - want) <= bound) | (got == want) | (np.isnan(got) & np.isnan(want))
    assert np.all(good | ~np.isfinite(want) & ~np.isfinite(got))


@settings(deadline=None, max_examples=60)
@given(reductions(), st.sampled_from([*LAYOUTS]))
def test_any_axes_of_any_layout(reduction, layout):
    name, x, axes = reduction
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        patch.setattr(engine, "mode", lambda: "always")
        given = LAYOUTS[layout](x)
        primitive = getattr(ops, f"reduce_{name}").primitive
        ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}.get(name)
        reduce = (ufunc or getattr(np, {"any": "logical_or", "all": "logical_and"}[name])).reduce
        alone = totals.reduce_natively(primitive, reduce, given, axes)
        if alone is not None:
            check_same(alone, name, x, axes)
        check_same(fx.jit(lambda x: getattr(fnp, name)(x, axis=axes))(given), name, x, axes)


@settings(deadline=None, max_examples=30)
@given(reductions().filter(lambda r: r[1].dtype.kind in "fi" and r[1].dtype.itemsize > 2), st.data())
def test_groups_that_end_in_several(reduction, data):
    """Operands vary along some axes only; the whole value is a result as well."""
    _, x, axes = reduction
    shape = tuple(n if data.draw(st.booleans()) else 1 for n in x.shape)
    y = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(x.dtype)
    further = tuple(sorted({*axes, *data.draw(st.sets(st.integers(0, x.ndim - 1)))}))
    x = np.nan_to_num(x, posinf=1, neginf=1)

    def program(x, y):
        z = x * y + y
        return z, fnp.sum(z, axis=axes), fnp.max(z, axis=further), fnp.min(z, axis=axes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "mode", lambda: "always")
        got = fx.jit(program)(x, y)
    z = x * y + y
    np.testing.assert_array_equal(got[0], z)
    check_same(got[1], "sum", z, axes)
    check_same(got[2], "max", z, further)
    check_same(got[3], "min", z, axes)
