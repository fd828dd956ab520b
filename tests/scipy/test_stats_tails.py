"""Derivatives of distributions far out, at the ends of the support, beyond them and next to zero, generated over all
distributions: distribution functions have the density for derivative, quantiles its inverse, and there is no NaN where
what underflows meets what overflows."""

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.scipy import stats
from tests.together import together

from .test_stats import CONTINUOUS, WHOLE

SIZES = [1e-300, 1e-200, 1e-160, 1e-100, 1e-20, 1e-10, 1e-5, 0.1, 0.5, 0.9, 1.0, 2.0, 3.0, 5.0, 8.3, 30.0, 37.5, 38.6,
         100.0, 300.0, 700.0, 709.0, 711.0, 715.0, 720.0, 735.0, 740.0, 745.0, 746.0, 800.0, 1e3, 1e5, 1e20, 1e100,
         1e150, 1e200, 1e300, np.inf]  # fmt: skip
POINTS = np.array([-x for x in reversed(SIZES)] + [-0.0, 0.0] + SIZES)
SHARES = np.array([0.0, 1e-300, 1e-100, 1e-20, 1e-5, 0.1, 0.5, 0.9, 1 - 1e-5, 1 - 2**-53, 1.0])
PARTS = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
# Within which points are accurate: values of SciPy's cancel, angles are reduced by multiples of a rounded 2π.
REACH = {"skewnorm": 3.0, "vonmises": 1e3, "vonmises_line": 1e3}
CASES = [(name, args) for name, several in CONTINUOUS.items() for args in several]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def gradients(function, x, reach=np.inf, ends=()):
    """Values and derivatives at each point, in reverse mode, with which forward mode and compiled code agree, but where
    the value is an end or next to one: what is rounded to an end has the end's derivative."""
    values, found = fx.vmap(fx.value_and_grad(function))(x)
    others = fx.jit(fx.vmap(fx.grad(function)))(x), fx.vmap(lambda v: fx.jvp(function, (v,), (1.0,))[1])(x)
    known = np.isfinite(values) & ~np.isinf(found)
    for end in filter(np.isfinite, ends):
        known &= ~np.isclose(values, end, rtol=1e-15, atol=0)
    for other in others:
        np.testing.assert_array_equal(np.isnan(other)[known], np.isnan(found)[known])
        usual = known & (np.abs(x) < reach) & np.isfinite(found) & np.isfinite(other)
        np.testing.assert_allclose(other[usual], found[usual], 1e-5, 1e-14)
    return values, found


@together("part")
@pytest.mark.parametrize("name, args", CASES)
@pytest.mark.parametrize("part", PARTS)
def test_parts_have_the_density_for_derivative(name, args, part):
    law = getattr(stats, name)(*args)
    reach = REACH.get(name, np.inf)
    values, found = gradients(getattr(law, part), POINTS, reach)
    known = np.isfinite(values)
    assert not np.isnan(found[known]).any(), POINTS[known & np.isnan(found)]
    with np.errstate(all="ignore"):
        density = law.pdf(POINTS)
        expected = {"cdf": density, "sf": -density, "logcdf": density / law.cdf(POINTS),
                    "logsf": -density / law.sf(POINTS)}.get(part)  # fmt: skip
    if expected is None:
        return
    lower, upper = law.support()
    inside = known & (np.abs(POINTS) < reach) & (lower < POINTS) & (upper > POINTS)
    if "log" in part:
        inside &= (density > 1e-290) & (law.cdf(POINTS) > 1e-290) & (law.sf(POINTS) > 1e-290)
    inside &= np.isfinite(expected)
    np.testing.assert_allclose(found[inside], expected[inside], 1e-6, 1e-18)


@together("part")
@pytest.mark.parametrize("name, args", CASES)
@pytest.mark.parametrize("part", ["ppf", "isf"])
def test_quantiles_have_the_inverse_of_the_density(name, args, part):
    law = getattr(stats, name)(*args)
    values, found = gradients(getattr(law, part), SHARES, ends=law.support())
    assert not np.isnan(found[np.isfinite(values)]).any()
    lower, upper = law.support()
    inside = (values > lower) & (values < upper) & (np.abs(values) < 1e150) & (np.abs(values) > 1e-150)
    inside &= np.abs(values) < REACH.get(name, np.inf)
    if upper == 1:  # next to which points are rounded
        inside &= (values < 0.9999) & (values > 1e-100)
    expected = np.array([1, -1])[int(part == "isf")] / law.pdf(values[inside])
    np.testing.assert_allclose(found[inside], expected, 1e-6)


PARAMETERS = [(name, args, i) for name, args in CASES for i, v in enumerate(args)
              if np.isfinite(v) and i not in WHOLE.get(name, ())]  # fmt: skip


@together("part")
@pytest.mark.parametrize("name, args, i", PARAMETERS)
@pytest.mark.parametrize("part", [*PARTS, "ppf", "isf"])
def test_derivatives_in_parameters_are_none_of_0_times_infinity(name, args, i, part):
    def function(p, x):
        return getattr(getattr(stats, name)(*args[:i], p, *args[i + 1 :]), part)(x)

    points = SHARES if part in ("ppf", "isf") else POINTS
    values, found = fx.vmap(fx.value_and_grad(function), (None, 0))(float(args[i]), points)
    known = np.isfinite(values)
    assert not np.isnan(found[known]).any(), points[known & np.isnan(found)]
    step = 1e-5 * abs(args[i])
    with np.errstate(all="ignore"):
        further, nearer = (
            (function(args[i] + h, points) - function(args[i] - h, points)) / (2 * h)
            for h in (2 * step, step)
        )
    steady = np.abs(further - nearer) < 1e-6 * (np.abs(nearer) + 1e-3)
    reach = REACH.get(name, np.inf)
    usual = known & steady & (np.abs(values) < min(600, reach)) & (np.abs(points) < reach)
    usual &= ~np.isin(points, args)  # where the support may end
    np.testing.assert_allclose(found[usual], nearer[usual], 1e-3, 1e-6)
