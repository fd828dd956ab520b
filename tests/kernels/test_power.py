"""Powers with a number as exponent, beside those of long doubles."""

import warnings

import numpy as np
import pytest

from fxgrad.core.costs import NEAR_CACHE_ENTRIES
from fxgrad.kernels.power import real_power

LONG = np.finfo(np.longdouble).nmant > 52
WHOLE = [0, 1, 2, 3, 4, 5, 7, 8, 31, 65, -1, -2, -3, -4, -65]


def bases(dtype):
    """Ordinary numbers of both signs, those at the ends of the range, and what is not finite."""
    info = np.finfo(dtype)
    ends = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        -1,
        info.max,
        -info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    rng = np.random.default_rng(0)
    wide = np.exp(rng.uniform(np.log(float(info.tiny)), np.log(float(info.max)), 500))
    return np.concatenate([rng.standard_normal(NEAR_CACHE_ENTRIES), wide, ends]).astype(dtype)


@pytest.mark.skipif(not LONG, reason="long doubles are doubles here")
@pytest.mark.parametrize("p", [*WHOLE, 3.0, 0.5, 1.5, 2.5, -0.5])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_powers_are_exact_to_rounding(dtype, p):
    x = bases(dtype)
    if p == 0.5:
        x = x[x != -np.inf]  # a root, as NumPy takes it
    with np.errstate(all="ignore"):
        y, exact = real_power(x, p), np.power(x.astype(np.longdouble), np.longdouble(p))
        rounded = exact.astype(dtype)
    assert y.dtype == x.dtype
    finite = np.isfinite(rounded) & np.isfinite(y)
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    normal = finite & (np.abs(rounded) >= np.finfo(dtype).tiny)
    with np.errstate(all="ignore"):  # what follows the greatest number is infinite
        error = np.abs(y[normal] - exact[normal]) / np.spacing(np.abs(rounded[normal])).astype(np.longdouble)
    assert error.max() <= (1.5 if p in (3, -2) else 1)
    np.testing.assert_array_equal(np.signbit(y)[normal], np.signbit(rounded)[normal])


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 4), (2, NEAR_CACHE_ENTRIES)])
def test_shapes_and_layouts(shape):
    x = np.asarray(np.random.default_rng(0).standard_normal(shape), "f4")
    np.testing.assert_allclose(real_power(x, 4), x.astype(float) ** 4, rtol=1e-6)
    np.testing.assert_allclose(real_power(x.T, -5), x.T.astype(float) ** -5, rtol=1e-6)


def test_warnings_are_those_of_a_power():
    x = np.array([0.0, 1.0], np.float32)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in power"):
        real_power(x, -4)
    with pytest.warns(RuntimeWarning, match="overflow encountered in power"):
        real_power(x + np.float32(1e30), 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        real_power(x, 8)
