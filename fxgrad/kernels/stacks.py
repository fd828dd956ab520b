"""Products of stacks of matrices, which threads share matrix by matrix.

NumPy multiplies them one after the other, and its BLAS has threads share each, which for the usual sizes takes longer
than one thread alone. So BLAS is held to one thread meanwhile. A few large matrices are left to it.
"""

from __future__ import annotations

import numpy as np

from ..core.costs import ONE_THREAD_PRODUCTS, SHARED_STACK
from .registry import native_function

PRODUCT_EFFORT = 0.02  # of a product, for each byte of a number: see `native.threads.Crew`


def multiply_stacks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `np.matmul(a, b)`."""
    products = a.size * b.shape[-1]
    if products < ONE_THREAD_PRODUCTS or a.ndim < 3 or a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype:
        return np.matmul(a, b)
    lengths = a.shape[:-2]
    axis = max(range(len(lengths)), key=lengths.__getitem__)
    if lengths[axis] < SHARED_STACK or a.dtype.kind not in "fc" or a.dtype.itemsize < 4:
        return np.matmul(a, b)
    y = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
    before = (slice(None),) * axis

    def multiply(first: int, last: int) -> None:
        part = (*before, slice(first, last))
        np.matmul(a[part], b[part], out=y[part])

    native_function("threads.share_calls")(
        multiply, lengths[axis], PRODUCT_EFFORT * a.dtype.itemsize * products, holds_blas=True
    )
    return y
