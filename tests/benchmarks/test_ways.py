"""How far calls go, in Python calls, which are the same on every machine."""

import pytest

from benchmarks.ways import count, ways
from fxgrad.kernels.native import engine

# At most so many calls, on the Python versions that count comprehensions.
LIMITS = {
    "grad(f)(2.0)": 31,
    "jit(f)(x)": 5,
    "vmap(grad(f))(x)": 150,
    "shard_map of psum": 142,
    "its gradient": 279,
    "per_sample.norms(loss)(w, xs)": 60,
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_warm_call_is_short(name, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    assert count(ways()[name]).calls <= LIMITS[name]
