"""Bessel functions and Airy's against SciPy, near 0, at moderate and at large arguments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from fxgrad.kernels.bessel import airy, bessel

POINTS = np.concatenate([[1e-8, 1e-3, 0.999999, 1.000001], np.linspace(0.01, 60, 400), [300.0, 1e5]])
REFERENCES = {"J": scipy.special.jv, "Y": scipy.special.yv, "K": scipy.special.kv}


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("family", ["J", "Y", "K"])
def test_bessel(family, order):
    ours = bessel(np, POINTS, family=family, order=order, scaled=False)
    # J and Y have zeros, near which what is right is the distance: of the size of the amplitude and the phase's error.
    expected = REFERENCES[family](order, POINTS)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=0 if family == "K" else 1e-14)


def test_negative_numbers_and_zero():
    at = np.array([-2.0, 0.0])
    with np.errstate(all="ignore"):  # as in the kernels that are made of these functions
        values = {f: bessel(np, at, family=f, order=1, scaled=False) for f in "JYK"}
    np.testing.assert_allclose(values["J"], scipy.special.j1(at))
    np.testing.assert_array_equal(values["Y"], [np.nan, -np.inf])
    np.testing.assert_array_equal(values["K"], [np.nan, np.inf])


def test_scaled_functions_do_not_underflow():
    at = np.array([0.5, 800.0, 1e300, np.inf])
    with np.errstate(all="ignore"):
        ours = bessel(np, at, family="K", order=0, scaled=True)
    np.testing.assert_allclose(ours, [*scipy.special.k0e(at[:3]), 0])


@pytest.mark.parametrize("slope", [False, True])
def test_airy(slope):
    at = np.concatenate([-POINTS[POINTS < 100], [0.0], POINTS[POINTS < 50]])
    expected = scipy.special.airy(at)[int(slope)]
    np.testing.assert_allclose(airy(np, at, slope=slope), expected, rtol=1e-12, atol=1e-13)
