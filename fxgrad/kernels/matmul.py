"""Products of matrices by NumPy's BLAS, which threads of ours share: blocks of a result, or the matrices of a stack.

BLAS is held to one thread meanwhile. Its own would share a product as well, but round in another way for each number of
them, and wait for the next product for 20 ms beside threads that have work. Blocks depend on shapes only.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ..core.costs import BLOCK_LENGTH, BLOCK_PRODUCTS, ONE_THREAD_PRODUCTS, ONE_THREAD_ROWS, SHARED_STACK
from .registry import native_function, share_calls

PRODUCT_EFFORT = 0.02  # of a product, for each byte of a number: see `native.threads.Crew`
MULTIPLE = 16  # of which rows and columns of a block are multiples


def is_small(left: int, right: int, terms: int) -> bool:
    """Whether BLAS wakes no threads for a product of operands of so many entries, whose sums have `terms` terms."""
    has_vector = terms in (left, right)
    return left * right <= (ONE_THREAD_ROWS if has_vector else ONE_THREAD_PRODUCTS) * terms


def dot(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return `a.dot(b, out)` of vectors and matrices."""
    if is_small(a.size, b.size, a.shape[-1]) or a.dtype != b.dtype or not is_for_blas(a):
        return a.dot(b, out)
    if is_block(a.size * b.size // a.shape[-1]):
        return native_function("threads.call_held")(a.dot, b, out)
    rows, columns = a.reshape(-1, a.shape[-1]), b.reshape(len(b), -1)
    y = np.empty((*a.shape[:-1], *b.shape[1:]), a.dtype) if out is None else out
    multiply_blocks(rows, columns, y.reshape(len(rows), -1))
    return y if y.shape else y[()]


def multiply_stacks(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return `np.matmul(a, b, out)`."""
    lengths = a.shape[:-2]
    if lengths != b.shape[:-2]:
        lengths = np.broadcast_shapes(lengths, b.shape[:-2])
        a, b = (np.broadcast_to(x, (*lengths, *x.shape[-2:])) for x in (a, b))
    products = a.size * b.shape[-1]
    if products < ONE_THREAD_PRODUCTS or a.dtype != b.dtype or not is_for_blas(a):
        return np.matmul(a, b, out)
    y = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype) if out is None else out
    axis = max(range(len(lengths)), key=lengths.__getitem__, default=0)
    if not lengths or (lengths[axis] < SHARED_STACK and not is_block(products // prod(lengths))):
        for place in np.ndindex(*lengths):
            multiply_blocks(a[place], b[place], y[place])
        return y
    before = (slice(None),) * axis

    def run(first: int, last: int) -> None:
        part = (*before, slice(first, last))
        np.matmul(a[part], b[part], out=y[part])

    share(run, lengths[axis], products, a.dtype)
    return y


def is_block(products: int) -> bool:
    """Whether a product of two matrices is one block."""
    return products < 2 * BLOCK_PRODUCTS


def multiply_blocks(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
    """Store a product of two matrices in y."""
    (m, terms), n = a.shape, b.shape[1]
    rows, columns = block_lengths(m, n, m * n * terms)
    if is_square_of(a, b):  # symmetric, and half the work, as a whole
        rows, columns = m, n
    high, wide = -(-m // rows), -(-n // columns)
    if high * wide > 1:  # otherwise each block would copy what BLAS cannot read
        a, b = (x if x.flags.forc else np.ascontiguousarray(x) for x in (a, b))

    def run(first: int, last: int) -> None:
        for block in range(first, last):
            i, j = divmod(block, wide)
            part, other = slice(i * rows, (i + 1) * rows), slice(j * columns, (j + 1) * columns)
            np.matmul(a[part], b[:, other], out=y[part, other])

    share(run, high * wide, m * n * terms, a.dtype)


def block_lengths(m: int, n: int, products: int) -> tuple[int, int]:
    """Return how many rows and columns a block has. BLAS copies its operands once for each block, which takes a 20th of
    the time at most."""
    longer = max(m, n)
    count = min(max(longer // BLOCK_LENGTH, min(2 * longer // BLOCK_LENGTH, 2)), products // BLOCK_PRODUCTS)
    counts = count, min(m, n) // (2 * BLOCK_LENGTH)
    rows, columns = (
        -(-length // (count * MULTIPLE)) * MULTIPLE if count > 1 else length
        for length, count in zip((m, n), counts if m >= n else counts[::-1])
    )
    return rows, columns


def share(run: Callable[[int, int], None], units: int, products: int, dtype: np.dtype) -> None:
    """Have threads take units of products by BLAS."""
    effort = PRODUCT_EFFORT * dtype.itemsize * products
    share_calls(run, units, effort, holds_blas=True)


def is_for_blas(a: np.ndarray) -> bool:
    return a.dtype.kind in "fc" and a.dtype.itemsize >= 4


def is_square_of(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a product is a matrix times its own transpose, which NumPy asks BLAS for as such."""
    return a.shape == b.shape[::-1] and a.strides == b.strides[::-1] and a.ctypes.data == b.ctypes.data
