"""Primitives of torch's that have the name of one of the library's differ from it in derivatives only: passes and
machine code, which go by names, may take either."""

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.core.primitive import REGISTRY

torch.nn.functional.gelu(torch.zeros(1))  # all are declared
from fxgrad.compat._core.primitives import PRIMITIVES  # noqa: E402

X = np.concatenate([np.linspace(-4, 4, 101), [0.0, -0.0, np.inf, -np.inf, np.nan]])
OPTIONS = {"round": {"decimals": 1}}


@pytest.mark.parametrize("name", sorted(PRIMITIVES.keys() & REGISTRY.keys()))
def test_values_are_the_same(name):
    ours, namesake = REGISTRY[name], PRIMITIVES[name]
    operands = [X, X[::-1].copy()][: len(ours.partials)] if hasattr(ours, "partials") else None
    if operands is None:
        pytest.fail(f"{name} is not elementwise: compare it here by operands of its own")
    with np.errstate(all="ignore"):
        values = [p.kernel(*operands, **OPTIONS.get(name, {})) for p in (ours, namesake)]
    np.testing.assert_allclose(*values, rtol=1e-14)
    assert values[0].dtype == values[1].dtype
