"""Every primitive has Taylor coefficients, and a pattern that lacks no entry of its Jacobian: one sample of each."""

import numpy as np
import pytest

import fxgrad as fx
from tests.ops.test_registry import aval_of, drawn, function_of, is_smooth, random_like
from tests.samples import SAMPLES

LARGEST = 100  # entries
TAKE_LONG = {
    "matrix_log",
    "matrix_log_slope",
    "fractional_power",
    "fractional_power_slope",
}  # programs of many steps


def first_samples():
    """The first small sample of each primitive that can be differentiated, by its name."""
    found = {}
    for sample in SAMPLES:
        small = sum(np.size(x) for x in drawn(sample)[1]) <= LARGEST
        if sample.name not in found and sample.name not in TAKE_LONG and small and is_smooth(sample):
            found[sample.name] = sample
    return found


FIRST = first_samples()


@pytest.mark.parametrize("name", FIRST)
def test_the_second_derivative_along_a_curve(name):
    rng, operands = drawn(FIRST[name])
    f, xs = function_of(FIRST[name], operands)
    first, second = random_like(rng, *xs), random_like(rng, *xs)
    y, terms = fx.jet(f, tuple(xs), [list(pair) for pair in zip(first, second)])

    def rate(*values):
        return fx.jvp(f, values, tuple(first))[1]

    wanted = fx.jvp(rate, tuple(xs), tuple(first))[1] + fx.jvp(f, tuple(xs), tuple(second))[1]
    tolerance = 1e-2 if aval_of(y).dtype == np.float32 else 1e-7
    np.testing.assert_allclose(terms[0], rate(*xs), tolerance, tolerance)
    np.testing.assert_allclose(terms[1], wanted, tolerance, tolerance)


@pytest.mark.parametrize("name", FIRST)
def test_the_pattern_lacks_no_entry(name):
    rng, operands = drawn(FIRST[name])
    f, xs = function_of(FIRST[name], operands)
    pattern = fx.sparsity_pattern(f, argnums=tuple(range(len(xs))))(*xs).toarray()
    start = 0
    for i, x in enumerate(xs):
        for k in {0, x.size // 2, x.size - 1} if x.size else ():
            unit = np.zeros(x.size, x.dtype)
            unit[k] = rng.standard_normal()
            tangents = [np.zeros_like(v) for v in xs]
            tangents[i] = unit.reshape(x.shape)
            column = np.reshape(fx.jvp(f, tuple(xs), tuple(tangents))[1], -1)
            assert not ((column != 0) & ~pattern[:, start + k]).any()
        start += x.size
