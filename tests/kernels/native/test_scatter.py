"""Slices added at places along an axis: the sums that NumPy gives, in its order."""

import numpy as np
import pytest

from fxgrad.kernels import selection
from fxgrad.kernels.native import engine
from fxgrad.kernels.native.scatter import add_slices

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")

SHAPES = [((5, 37), 0), ((5, 37), 1), ((2, 6, 3), 1), ((2, 3, 4, 9), 2), ((4, 1), 0)]


@pytest.fixture(autouse=True)
def every_array_is_large(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(selection, "INDEXED_ENTRIES", 1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 37), 0), ((5, 37), 1), ((2, 6, 3), 1), ((2, 3, 4, 9), 2), ((4, 1), 0)]
)
def test_values(shape, axis, dtype):
    rng = np.random.default_rng(0)
    n = shape[axis]
    rows = rng.integers(-n, n, 11)
    u = rng.standard_normal((*shape[:axis], 11, *shape[axis + 1 :])).astype(dtype)
    index = (*(slice(None),) * axis, rows)
    expected = np.zeros(shape, dtype)
    np.add.at(expected, index, u)
    for given in (u, np.asfortranarray(u)):
        found = np.zeros(shape, dtype)
        with np.errstate(all="ignore"):
            selection.add_at(found, index, given)
        assert found.tobytes() == expected.tobytes()
    assert add_slices(np.zeros(shape, dtype), rows % n, u, axis)


def test_what_does_not_fit_is_left_to_numpy():
    out, rows = np.zeros((3, 8)), np.array([0, 2])
    assert not add_slices(out, rows, np.ones(8), 0)  # broadcast
    assert not add_slices(out, rows, np.ones((2, 8), "f4"), 0)
    assert not add_slices(out[:, ::2], rows, np.ones((2, 4)), 0)
    with np.errstate(all="ignore"), pytest.raises(IndexError):
        selection.add_at(out, (np.array([0, 3]),), np.ones((2, 8)))
    assert not out.any()
