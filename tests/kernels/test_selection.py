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
