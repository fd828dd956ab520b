"""Gaussian elimination of stacks of matrices by operations on whole arrays, for libraries without LAPACK."""

from __future__ import annotations

from typing import Any


def exchange(xp: Any, x: Any, k: int, p: Any) -> Any:
    """Exchange entry k along the last axis with entry p, which is another in each row."""
    places, p = xp.arange(x.shape[-1]), p[..., None]
    order = xp.where(places == k, p, xp.where(places == p, k, places))
    return xp.take_along_axis(x, order, axis=-1)


def factor_matrix(xp: Any, a: Any) -> tuple[Any, Any]:
    """Factor matrices (…, m, n) with partial pivoting, PA = LU. Return (L below the diagonal and U in one matrix; the
    row, counted from 0, with which each was exchanged)."""
    *batch, m, n = a.shape
    rows, columns, pivots = xp.arange(m), xp.arange(n), []
    for k in range(min(m, n)):
        column = a[..., :, k]
        size = xp.abs(xp.real(column)) + xp.abs(xp.imag(column)) if is_complex(xp, a) else xp.abs(column)
        p = xp.argmax(xp.where(rows >= k, size, -xp.ones_like(size)), axis=-1)
        pivots.append(p)
        a = xp.matrix_transpose(exchange(xp, xp.matrix_transpose(a), k, p[..., None]))
        pivot = a[..., k, k][..., None]
        pivot = xp.where(pivot == 0, xp.ones_like(pivot), pivot)  # beside which the column is zero
        factors = xp.where(rows > k, a[..., :, k] / pivot, xp.zeros_like(a[..., :, k]))
        below = a - factors[..., None] * a[..., k, :][..., None, :]
        a = xp.where(
            columns > k, below, xp.where((columns == k) & (rows > k)[:, None], factors[..., None], a)
        )
    nothing = xp.zeros((*batch, 0), dtype=xp.int64)
    return a, xp.stack(pivots, axis=-1) if pivots else nothing


def is_complex(xp: Any, a: Any) -> bool:
    return xp.isdtype(a.dtype, "complex floating")


def order_rows(xp: Any, pivots: Any, m: int) -> Any:
    """Return for every row of PA its row number in A, from the exchanges `pivots`."""
    *batch, count = pivots.shape
    order = xp.broadcast_to(xp.arange(m), (*batch, m))
    for k in range(count):
        order = exchange(xp, order, k, pivots[..., k])
    return order


def first_true(xp: Any, condition: Any) -> Any:
    """Return the 1-based place of the first true entry along the last axis; 0 if there is none."""
    if not condition.shape[-1]:
        return xp.zeros(condition.shape[:-1], dtype=xp.int32)
    place = xp.argmax(xp.astype(condition, xp.int32), axis=-1) + 1
    return xp.astype(xp.where(xp.any(condition, axis=-1), place, 0), xp.int32)


def find_zero_pivot(xp: Any, a: Any) -> Any:
    """Return the place of the first zero on the diagonal of U, counted from 1, or 0."""
    packed, _ = factor_matrix(xp, a)
    k = min(a.shape[-2:])
    return first_true(xp, xp.stack([packed[..., i, i] == 0 for i in range(k)], axis=-1))


def find_indefinite(xp: Any, a: Any) -> Any:
    """Return the order of the first leading minor of Hermitian matrices that is not positive, or 0: the first
    non-positive pivot of elimination without exchanges."""
    n, wrong = a.shape[-1], []
    rows = xp.arange(n)
    for k in range(n):
        pivot = xp.real(a[..., k, k]) if is_complex(xp, a) else a[..., k, k]
        wrong.append(~(pivot > 0))
        divisor = xp.where(wrong[-1], xp.ones_like(pivot), pivot)[..., None]
        factors = xp.where(rows > k, a[..., :, k] / divisor, xp.zeros_like(a[..., :, k]))
        a = a - factors[..., None] * a[..., k, :][..., None, :]
    return first_true(xp, xp.stack(wrong, axis=-1)) if wrong else xp.zeros(a.shape[:-2], dtype=xp.int32)
