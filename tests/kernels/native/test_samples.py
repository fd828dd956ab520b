"""Every sample of an operation that has a rule for whole programs as machine code, between two other operations, gives
what NumPy gives: the value and what the pullback returns."""

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.core.aval import is_differentiable
from fxgrad.kernels.native import engine, steps
from tests.kernels.native.native_loops import made_natively
from tests.sample import close, drawn, function_of
from tests.samples import SAMPLES
from tests.together import together

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no machine code")

RANDOM = {"random_bits", "random_log_gamma", "random_real"}  # of keys, whose words take no part in arithmetic


def surrounded(sample):
    """The sample's operation of doubled operands, and the sum of its result and a number."""
    rng, operands = drawn(sample)
    f, values = function_of(sample, operands)

    def program(*xs):
        return f(*[x * 2 / 2 for x in xs]) + 1

    return program, values, rng


@together(sample=lambda s: s.name)
@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.name in steps.RULES and s.name not in RANDOM], ids=str
)
def test_a_sample_as_part_of_a_program(monkeypatch, sample):
    program, values, rng = surrounded(sample)
    if not values:
        pytest.skip("no operand is a number that has a derivative")

    def pull(ct, *xs):
        return fx.vjp(program, *xs)[1](ct)

    with np.errstate(all="ignore"), monkeypatch.context() as patch:
        expected = np.asarray(program(*values))
        is_smooth = is_differentiable(expected.dtype)
        ct = np.asarray(rng.standard_normal(expected.shape)).astype(expected.dtype)
        gradients = pull(ct, *values) if is_smooth else ()
        made_natively(patch)
        close(fx.jit(program)(*values), expected, 1e-10)
        for x, y in zip(fx.jit(pull)(ct, *values) if is_smooth else (), gradients, strict=True):
            close(x, y, 1e-9)
