"""A user's primitive that has the name of one of the library's is never taken for it by what compiles programs."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, ops
from fxgrad.core.costs import FUSED_ENTRIES
from fxgrad.core.rules import REGISTRY
from fxgrad.extend import Primitive
from fxgrad.kernels.native.steps import RULES

for family in dir(ops):
    getattr(ops, family)
NAMES = sorted({*REGISTRY, *RULES})


class Foreign(Primitive):
    """x + 41, under any name and with the traits of the namesake."""

    def __init__(self, name):
        super().__init__(name, lambda xp: lambda x: x + 41)
        self.entrywise = getattr(REGISTRY.get(name), "entrywise", False)

    def abstract_eval(self, avals, params):
        return avals[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_namesake_keeps_its_meaning(name):
    foreign = Foreign(name).call

    def program(x):
        y = foreign(fnp.sin(x)) * 2 + x
        return y, fnp.sum(y * y)

    def loop(x):
        return lax.fori_loop(0, 5, lambda i, y: foreign(y) * 0.5, x)

    for x in (np.arange(4.0), np.linspace(0.0, 1.0, FUSED_ENTRIES)):
        y = (np.sin(x) + 41) * 2 + x
        for _ in range(3):
            found = fx.jit(program)(x)
        np.testing.assert_allclose(found[0], y, rtol=1e-12)
        np.testing.assert_allclose(found[1], np.sum(y * y), rtol=1e-12)
    expected = np.arange(4.0)
    for _ in range(5):
        expected = (expected + 41) * 0.5
    np.testing.assert_allclose(fx.jit(loop)(np.arange(4.0)), expected, rtol=1e-12)
