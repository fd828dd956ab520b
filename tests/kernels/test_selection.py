"""Selections by masks are NumPy's, whichever way they go."""

import numpy as np
import pytest

from fxgrad.kernels import selection


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
@pytest.mark.parametrize("shape", [(3000,), (50, 60), (10, 20, 30), (0, 5000), (4000, 1), (2, 2, 2)])
def test_masks_select_as_in_numpy(shape, share):
    rng = np.random.default_rng(0)
    mask = rng.random(shape) < share
    for array in (mask, mask.T, mask.astype("f4"), mask.astype("c16")):
        np.testing.assert_array_equal(selection.find_nonzero(array), array.nonzero())
    for rest in ((), (3,)):
        x = rng.random((*shape, *rest))
        chosen = x[mask]
        np.testing.assert_array_equal(selection.select_rows(x, mask), chosen, strict=True)
        for entries in (rng.random(chosen.shape), 0.5):
            expected, written = x.copy(), x.copy()
            expected[mask] = entries
            selection.replace_rows(written, mask, entries)
            np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", ">i8", ">i4", "u8"])
def test_numbers_of_any_dtype_choose_as_in_numpy(dtype):
    rng = np.random.default_rng(0)
    x, numbers = rng.random((100, 50)), rng.integers(0, 50, (60, 2)).astype(dtype)
    if np.dtype(dtype).kind == "i":
        numbers[0] = -1
    for index in ((numbers, slice(None)), (slice(None), numbers), (numbers, numbers), (numbers, None)):
        np.testing.assert_array_equal(selection.take_at(x, index), x[index], strict=True)
        np.testing.assert_array_equal(selection.take_at(x.T, index), x.T[index], strict=True)
    for beyond in (np.array([1 << 56], ">i8"), np.array([1 << 63], "u8"), np.array([-101]), np.array([100])):
        for shape in ((100, 50), (100, 5000)):
            with pytest.raises(IndexError):
                selection.take_at(np.zeros(shape), (beyond.repeat(60), slice(None)))
