"""torch's functions take NumPy's names `axis` and `keepdims` as well."""

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

CALLS = {
    "sum": lambda t, x: t.sum(x, axis=0, keepdims=True),
    "mean": lambda t, x: x.mean(axis=1),
    "max": lambda t, x: x.max(axis=1).values,
    "var": lambda t, x: x.var(axis=(0, 1)),
    "argmax": lambda t, x: x.argmax(axis=1),
    "softmax": lambda t, x: x.softmax(axis=0),
    "cumsum": lambda t, x: t.cumsum(x, axis=0),
    "sort": lambda t, x: t.sort(x, axis=0).values,
    "cat": lambda t, x: t.cat([x, x], axis=1),
    "stack": lambda t, x: t.stack([x, x], axis=-1),
    "squeeze": lambda t, x: x[None].squeeze(axis=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name):
    array = np.random.default_rng(2).standard_normal((2, 3))
    ours, theirs = (CALLS[name](t, t.from_numpy(array)) for t in (fxt, torch))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)
