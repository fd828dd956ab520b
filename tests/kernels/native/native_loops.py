"""Loops as machine code beside loops in Python."""

import numpy as np

import fxgrad as fx
from fxgrad.core import same_graphs
from fxgrad.core.cache import Cache
from fxgrad.kernels.native import engine
from fxgrad.kernels.native import recurrence as native

TOLERANCES = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-13}


def made_natively(monkeypatch):
    """Have every loop carried out by machine code at once; return a list that tells of each run whether it was."""
    found = []

    class Noted(native.Loop):
        def __call__(self, *arguments):
            results = super().__call__(*arguments)
            found.append(results is not None)
            return results

    monkeypatch.setattr(native, "Loop", Noted)
    monkeypatch.setattr(
        same_graphs, "_interned", Cache(256)
    )  # loops that were met before would be machine code already
    monkeypatch.setattr(engine, "mode", lambda: "always")
    return found


def compare(monkeypatch, function, *operands, is_native=True):
    """Compare a jitted function with machine code to one without, and say whether its loops became some."""
    with monkeypatch.context() as patch:
        patch.setattr(engine, "mode", lambda: "never")
        expected = fx.jit(lambda *a: function(*a))(*operands)
    with monkeypatch.context() as patch:
        made = made_natively(patch)
        found = fx.jit(lambda *a: function(*a))(*operands)
    assert (bool(made) and all(made)) == is_native
    for x, y in zip(fx.tree.leaves(found), fx.tree.leaves(expected)):
        assert (type(x), np.shape(x)) == (type(y), np.shape(y))
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype
        tolerance = TOLERANCES.get(str(y.dtype), 0)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def numbers(*shape, dtype="float64"):
    return (np.random.default_rng(len(shape)).standard_normal(shape) / 8).astype(dtype)
