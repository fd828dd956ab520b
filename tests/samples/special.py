"""Samples of the special functions. The oracle is SciPy."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats

from tests.sample import DOMAINS, Sample, written

DOMAINS["probability"] = lambda rng, shape: rng.uniform(0.02, 0.98, shape)
DOMAINS["between poles"] = lambda rng, shape: rng.integers(-3, 3, shape) + rng.uniform(0.3, 0.7, shape)
DOMAINS["exponent"] = lambda rng, shape: rng.integers(2, 6, shape)
DOMAINS["low"] = lambda rng, shape: rng.uniform(-2, 0.3, shape)
DOMAINS["middle"] = lambda rng, shape: rng.uniform(0.5, 1.0, shape)
DOMAINS["many"] = lambda rng, shape: rng.uniform(3, 9, shape)
DOMAINS["above"] = lambda rng, shape: np.ones(shape, bool)
DOMAINS["below"] = lambda rng, shape: np.zeros(shape, bool)
DOMAINS["wide"] = lambda rng, shape: rng.uniform(0.5, 200, shape)


@np.vectorize
def bessel_moment(x: float, order: int, power: int, degree: int) -> float:
    scale = 1 / (math.sqrt(math.pi) * 2**order * math.gamma(order + 0.5))

    def integrand(angle: float) -> float:
        fall = 1 - math.cos(angle)
        return scale * fall**power * math.sin(angle) ** (2 * order) * math.exp(-abs(x) * fall)

    return x**degree * scipy.integrate.quad(integrand, 0, math.pi, epsabs=0, epsrel=1e-13, limit=200)[0]


def density(a: Any, x: Any) -> Any:
    return scipy.stats.gamma.pdf(x, a)


def rounded(x: Any) -> Any:
    """To three bits after the leading one."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(mantissa * 16) / 16, exponent)


SAMPLES = [
    *(
        written(name, (domain, shape), reference=reference)
        for name, domain, reference in [
            ("normal_cdf", "real", scipy.special.ndtr),
            ("normal_quantile", "probability", scipy.special.ndtri),
            ("erf", "real", scipy.special.erf),
            ("erfc", "real", scipy.special.erfc),
            ("erfcx", "real", scipy.special.erfcx),
            ("log_normal_cdf", "real", scipy.special.log_ndtr),
            ("erf_inv", "unit", scipy.special.erfinv),
            ("log_gamma", "positive", scipy.special.gammaln),
            ("log_gamma", "between poles", scipy.special.gammaln),
        ]
        for shape in [(2, 3), (), (0,)]
    ),
    *(
        written("polygamma", (domain, (3,)), n=n, reference=partial(scipy.special.polygamma, n))
        for domain in ["positive", "between poles"]
        for n in range(4)
    ),
    written("zeta", ("exponent", (3,)), ("positive", (2, 1)), power=0, reference=scipy.special.zeta),
    *(
        written("zeta", ("above1", shape), ("positive", shape), power=power)
        for shape in [(3,), ()]
        for power in range(3)
    ),
    *(
        written("gamma_moment", (a, (3,)), (w, shape), (side, ()), n=n)
        for a, w, side, shape in [
            ("positive", "low", "below", (3,)),
            ("many", "middle", "below", (2, 1)),
            ("many", "middle", "below", (3,)),
            ("positive", "above1", "above", (2, 3)),
            ("positive", "above1", "above", ()),
        ]
        for n in (0, 2)
    ),
    *(
        written("gamma_density", (a, (3,)), (x, (2, 1)), reference=density)
        for a, x in [("positive", "positive"), ("many", "many"), ("wide", "many")]
    ),
    *(
        written("incomplete_gamma", (a, (3,)), (x, shape), upper=upper, reference=reference)
        for a, x, shape in [
            ("positive", "positive", (2, 1)),
            ("many", "many", (3,)),
            ("many", "positive", ()),
            ("positive", "many", (3,)),
        ]
        for upper, reference in [(False, scipy.special.gammainc), (True, scipy.special.gammaincc)]
    ),
    *(
        written(
            "bessel_moment",
            (domain, (2, 3)),
            order=order,
            power=power,
            degree=degree,
            reference=partial(bessel_moment, order=order, power=power, degree=degree),
        )
        for domain in ["nonzero", "wide"]
        for order, power, degree in [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 2, 0)]
    ),
    Sample(
        "reduce_precision",
        (("nonzero", (2, 3)),),
        {"exponent_bits": 8, "mantissa_bits": 3},
        rounded,
        lambda x, **params: x,
    ),
]
