"""Loops and whole programs as machine code, beside Python."""

import numpy as np

import fxgrad as fx
from fxgrad.core import same_graphs
from fxgrad.core.cache import Cache
from fxgrad.kernels.native import call, engine
from fxgrad.kernels.native import recurrence as native

TOLERANCES = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-13}


def made_natively(monkeypatch):
    """Have every loop and every small program carried out by machine code at once; return a list that tells of each run
    whether it was."""
    found = []

    class Noted(native.Loop):
        def __call__(self, *arguments):
            results = super().__call__(*arguments)
            found.append(results is not None)
            return results

    def make_noted_call(graph, by_numpy):
        def note(*leaves):
            found[-1] = False
            return by_numpy(*leaves)

        run = make_call(graph, note)

        def noted(*leaves):
            found.append(True)
            return run(*leaves)

        return noted

    make_call = call.make_call
    monkeypatch.setattr(native, "Loop", Noted)
    monkeypatch.setattr(call, "make_call", make_noted_call)
    monkeypatch.setattr(
        same_graphs, "_interned", Cache(256)
    )  # loops that were met before would be machine code already
    monkeypatch.setattr(engine, "mode", lambda: "always")
    return found


def compare(monkeypatch, function, *operands, is_native=True):
    """Compare a function with machine code to one without, as it is and jitted. `is_native` says whether its loops are
    to become machine code; a jitted function may be some where its loops alone are not."""
    with monkeypatch.context() as patch:
        patch.setattr(engine, "mode", lambda: "never")
        expected = fx.jit(lambda *a: function(*a))(*operands)
    for run, may_be_native in ((function, is_native), (fx.jit(lambda *a: function(*a)), True)):
        with monkeypatch.context() as patch:
            made = made_natively(patch)
            found = run(*operands)
        assert is_native <= (bool(made) and all(made)) <= may_be_native
        for x, y in zip(fx.tree.leaves(found), fx.tree.leaves(expected)):
            assert (type(x), np.shape(x)) == (type(y), np.shape(y))
            x, y = np.asarray(x), np.asarray(y)
            assert x.dtype == y.dtype
            tolerance = TOLERANCES.get(str(y.dtype), 0)
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def numbers(*shape, dtype="float64"):
    return (np.random.default_rng(len(shape)).standard_normal(shape) / 8).astype(dtype)
