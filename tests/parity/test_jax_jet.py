"""Taylor mode beside `jax.experimental.jet`."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.experimental import jet  # noqa: E402

import fxgrad as fx  # noqa: E402
import fxgrad.numpy as fnp  # noqa: E402

X = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3))
SERIES = list(np.random.default_rng(1).normal(size=(3, 2, 3)))
FUNCTIONS = [
    lambda np, x: np.tanh(np.exp(x) @ np.sin(x).T),
    lambda np, x: np.log(np.sum(np.sqrt(x) / np.cos(x), axis=1)),
    lambda np, x: np.concatenate([x[0] ** 3, np.max(x, axis=0)]),
]


@pytest.mark.parametrize(("fun", "scaled"), [(f, True) for f in FUNCTIONS] + [(FUNCTIONS[2], False)])
def test_jet(fun, scaled):
    with jax.enable_x64(True):
        value, terms = jet.jet(lambda x: fun(jnp, x), (X,), (SERIES,), factorial_scaled=scaled)
    have, found = fx.jet(lambda x: fun(fnp, x), (X,), (SERIES,), factorial_scaled=scaled)
    assert np.allclose(have, value)
    assert len(found) == len(terms)
    for a, b in zip(found, terms):
        assert np.allclose(a, b)
