"""Derivatives of special functions at and beyond the ends of their support, at huge and tiny arguments and at zero, and
of inverses that are clamped, generated over all declarations: as differences of the values, and never 0·∞."""

import itertools

import numpy as np
import pytest
import scipy.special

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import NotDifferentiableError
from fxgrad.scipy import special

from .test_special import DECLARED

SIZES = [1e-300, 1e-200, 1e-100, 1e-20, 1e-5, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 2.0, 3.5, 10.0, 40.0, 100.0,
         800.0, 1e5, 1e20, 1e100, 1e200, 1e300, np.inf]  # fmt: skip
POINTS = np.array([-x for x in reversed(SIZES)] + [-0.0, 0.0] + SIZES)
# What has no derivative there, or none in double precision: where (function, operand) is not looked at.
UNKNOWN = {
    ("fresnel", 0): lambda x: abs(x) >= 40,  # oscillates faster than differences
    ("modfresnelp", 0): lambda x: abs(x) >= 40,
    ("modfresnelm", 0): lambda x: abs(x) >= 40,
    ("cosm1", 0): lambda x: abs(x) >= 1e5,
    ("cotdg", 0): lambda x: abs(x) >= 1e5,
    ("zetac", 0): lambda x: (x <= -800) | (abs(x - 1) < 1e-8),  # ∞ between zeros; a pole
    ("rgamma", 0): lambda x: x == -np.inf,
    ("gammasgn", 0): lambda x: x == 0,  # a step
    ("agm", 0): lambda x: x == 0,  # infinite slopes
    ("agm", 1): lambda x: x == 0,
    ("binom", 1): lambda x: abs(x) >= 800,  # 0 but for what underflows, with slopes that do not
    ("poch", 0): lambda x: x <= -800,
    **dict.fromkeys(
        [
            ("pseudo_huber", 0),
            ("besselpoly", 0),
            ("keip", 0),
            ("it2i0k0", 0),
            ("it2j0y0", 0),
            ("it2struve0", 0),
            ("gdtrib", 2),
        ],
        lambda x: x == 0,
    ),
    # Clamped to where the equation has no value.
    ("stdtridf", 0): lambda x: x < 0.5,
    ("stdtridf", 1): lambda x: x < 0.5,
    ("chndtrinc", 0): lambda x: x < 2,
    ("lpmv", 2): lambda x: abs(x) == 1,
    ("hankel1", 1): lambda x: x < 0.1,  # parts of complex numbers that cancel
    ("hankel2", 1): lambda x: x < 0.1,
    ("hyp2f1", 1): lambda x: abs(x) >= 100,  # values of SciPy's are not accurate
    ("itstruve0", 0): lambda x: abs(x) >= 40,
    ("pbvv", 1): lambda x: x <= -10,
    ("stdtrit", 0): lambda x: x < 1e-3,
    ("fdtri", 1): lambda x: x < 1e-3,
    ("mathieu_modcem2", 2): lambda x: x < 0,
    ("mathieu_modsem2", 2): lambda x: x < 0,
    ("gammaincinv", 0): lambda x: x >= 1e20,  # of densities that are narrower than numbers are apart
    ("gammainccinv", 0): lambda x: x >= 1e20,
    ("betaincinv", 1): lambda x: x >= 1e20,
    ("betainccinv", 1): lambda x: x >= 1e20,
}

# Of which only points of ordinary size are looked at: they oscillate, are SciPy's series that do not end far out, or
# their rules and equations are not accurate there.
NEAR = {
    "agm", "bdtrik", "bdtrin", "besselpoly", "btdtria", "btdtrib", "chdtri", "chndtr", "chndtrinc", "ellipeinc",
    "ellipj", "ellipkinc", "fdtr", "fdtrc", "fdtri", "fdtridfd", "gdtria", "gdtrib", "gdtrix", "hankel1",
    "hankel1e", "hankel2", "hankel2e", "hyp0f1", "hyp1f1", "hyp2f1", "hyperu", "itairy", "itj0y0", "itstruve0",
    "j0", "j1", "jn", "jv", "kolmogorov", "log_wright_bessel", "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2",
    "mathieu_modsem1", "mathieu_modsem2", "mathieu_sem", "nbdtrik", "nbdtrin", "pbdv", "pbvv", "round", "sici",
    "stdtr", "stdtridf", "stdtrit", "struve", "tandg", "tklmbda", "y0", "y1", "yn", "yv",
}  # fmt: skip
ORDINARY = POINTS[(np.abs(POINTS) <= 100) & ((np.abs(POINTS) >= 1e-5) | (POINTS == 0))]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def operands(name):
    function = getattr(special, name)
    names = function.__wrapped__.__code__.co_varnames
    moving = [i for i, v in enumerate(function.at) if names[i] not in function.fixed and type(v) is float]
    return [(name, i) for i in moving]


CASES = [case for name in DECLARED if not any(isinstance(v, complex) for v in getattr(special, name).at)
         for case in operands(name)]  # fmt: skip


@pytest.mark.parametrize("name, i", CASES)
def test_derivatives_at_the_ends(name, i):
    function, at = getattr(special, name), getattr(special, name).at
    points = ORDINARY if name in NEAR else POINTS

    def compute(x):
        return function(*at[:i], x, *at[i + 1 :])

    several = isinstance(compute(at[i]), tuple)
    for k in range(len(compute(at[i])) if several else 1):
        f = (lambda x, k=k: fnp.real(compute(x)[k])) if several else (lambda x: fnp.real(compute(x)))
        values = np.asarray(f(points), float)
        try:
            found = fx.vmap(fx.grad(f))(points)
        except NotDifferentiableError:
            continue
        known = np.isfinite(values)
        if (name, i) in UNKNOWN:
            known &= ~UNKNOWN[name, i](points)
        limits = known & ~np.isnan(found)
        nowhere = known & np.isnan(found) & np.isfinite(points)
        assert not nowhere.any(), points[nowhere]
        step = np.where(points == 0, 1e-9, 1e-5 * np.abs(points))
        with np.errstate(all="ignore"):
            measured, wider = (
                np.asarray(f(points + h) - f(points - h), float) / (2 * h) for h in (step, 2 * step)
            )
            noise = 1e-9 * np.maximum(np.abs(values), 1e-3) / step
            steady = np.abs(wider - measured) <= 1e-5 * np.abs(measured) + noise  # and no pole between
        usual = limits & steady & np.isfinite(measured) & np.isfinite(found)
        allowed = 1e-4 * np.abs(measured) + 3 * noise + 1e-300
        wrong = usual & (np.abs(found - measured) > allowed)
        assert not wrong.any(), list(zip(points[wrong], found[wrong], measured[wrong]))


# Inverses, and operands among which are such that there is no solution.
CLAMPED = {
    "pdtrik": ([0.0, 0.05, 0.3, 0.708, 0.95], [0.05, 0.708, 2.6, 30.0]),
    "bdtrik": ([0.0, 0.05, 0.3, 0.708], [1.6, 5.0, 30.0], [0.05, 0.4, 0.9]),
    "nbdtrik": ([0.0, 0.05, 0.3, 0.708], [1.6, 5.0, 30.0], [0.2, 0.4, 0.9]),
    "tklmbda": ([-40.0, -3.0, -1.1, -0.3, 0.0, 0.7, 1.4, 3.0, 40.0], [0.4, 1.0, 2.5, 0.05, -0.5]),
    "bdtrin": ([2.0], [0.3, 0.6], [0.2, 0.4]),
    "nbdtrin": ([2.0, 5.0], [0.3, 0.6], [0.2, 0.4]),
    "gdtria": ([0.1, 0.4, 0.9], [0.3, 1.6], [0.2, 1.3, 20.0]),
    "gdtrib": ([0.7, 3.0], [0.1, 0.4, 0.9], [0.2, 1.3, 20.0]),
    "stdtridf": ([0.6, 0.7], [0.4, 0.7]),
    "betaincinv": ([0.3, 1.7], [0.6, 5.0], [1e-5, 0.4, 0.999]),
    "agm": ([-30.0, -1.4, -0.6], [-20.0, -0.6]),
    "elliprc": ([0.3, 2.5, 30.0], [-20.0, -1.4, -0.2, 0.7]),
    "elliprj": ([0.2, 0.7], [0.4, 3.0], [0.0, 1.3, 5.0], [-9.0, -0.9, -0.15, 0.8]),
}


@pytest.mark.parametrize("name", CLAMPED)
def test_solutions_that_are_clamped_and_other_branches(name):
    function, reference = getattr(special, name), getattr(scipy.special, name)
    points = np.array(list(itertools.product(*CLAMPED[name])))
    for i in range(points.shape[1]):
        others = points[:, i] != 0  # of which differences leave the domain
        at = points[others]
        found = fx.vmap(fx.grad(function, argnums=i))(*at.T)
        step = np.zeros_like(at)
        step[:, i] = 1e-5 * np.abs(at[:, i])

        def slope(h, step=step, at=at, i=i):
            return (reference(*(at + h * step).T) - reference(*(at - h * step).T)) / (2 * h * step[:, i])

        measured = (4 * slope(1) - slope(2)) / 3
        steady = np.abs(slope(2) - slope(1)) <= 1e-3 * np.abs(measured)
        if name == "elliprj":
            steady &= (
                at.min(1, where=np.arange(4) < 3, initial=np.inf) > 0
            )  # where it is infinite in one of them
        np.testing.assert_allclose(found[steady], measured[steady], 1e-5, 1e-7)
        clamped = measured == 0
        np.testing.assert_array_equal(found[clamped], 0)
        assert steady.sum() > len(at) // 3
