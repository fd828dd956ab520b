"""Tests that compare with names and parameters which older versions of a library lack."""

import numpy as np
import pytest

with_new_numpy = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="compares with what NumPy has since 2.4"
)
