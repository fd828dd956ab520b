"""Sorting along an axis, sorting permutations, and searches in sorted values.

The order is NumPy's: NaN comes last. Complex numbers are ordered by their real parts and then by their imaginary parts;
the last are those with NaN as imaginary part, then as real part, then as both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of, kind_of
from ..kernels.sorting import argsort_lines, sort_lines
from .indexing import getitem, take_along, take_along_index
from .kinds import General, general, register


def as_sortable(x: Any) -> Any:
    """Convert x to what NumPy can sort: the order of bfloat16 has no place for NaN."""
    return x.astype(np.float32) if getattr(x.dtype, "kind", None) == "V" else x


def argsort_kernel(xp: Any) -> Callable:
    if xp is np:
        return lambda x, *, axis: argsort_lines(as_sortable(x), axis)
    return lambda x, *, axis: xp.argsort(x, axis=axis)  # stable, in the standard and in CuPy


# The positions that sort; entries that are equal keep their order.
argsort = general(
    "argsort",
    argsort_kernel,
    abstract_rule=lambda self, x, *, axis: Aval(x.shape, np.dtype(np.intp)),
    tangent_rule=None,
    batch_rule=lambda x, *, size, axis: argsort(x, axis=axis + 1),
)


class Sort(General):
    """Reverse mode is that of the gather by the positions that sort: they are found once for value and pullbacks, and
    a cotangent that is structurally zero at an entry stays so at the entry that was sorted there."""

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        (x,), axis = values, params["axis"]
        arrays, index = take_along_index(argsort(x, axis=axis), axis)
        return getitem.primitive.vjp(
            getitem, (x, *arrays), (*needed, *[None] * len(arrays)), {"index": index}, lambda array: array
        )


def sort_kernel(xp: Any) -> Callable:
    if xp is np:
        return lambda x, *, axis: sort_lines(as_sortable(x), axis).astype(x.dtype, copy=False)
    return lambda x, *, axis: xp.sort(x, axis=axis)


def sort_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangents of the entries, in the order of the stable sort, also where entries tie."""
    (x,), (t,), axis = primals, tangents, params["axis"]
    return take_along(t, argsort(x, axis=axis), axis)


sort = register(
    Sort(
        "sort",
        sort_kernel,
        abstract_rule=lambda self, x, *, axis: Aval(x.shape, x.dtype),
        tangent_rule=sort_tangent,
        batch_rule=lambda x, *, size, axis: sort(x, axis=axis + 1),
    )
).call


class Search(General):
    """A search, in which a batch of values to be found in a single row needs no rule."""

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        if not is_batched[0] and aval_of(values[0]).ndim == 1:
            return self.call(*values, **params), True
        return super().batch(values, is_batched, size, params)


def searchsorted_kernel(xp: Any) -> Callable:
    def precedes(p: Any, q: Any) -> Any:
        """Return whether p < q in the order of sorting."""
        if kind_of(aval_of(p).dtype) != "c":
            return ~xp.isnan(p) & (xp.isnan(q) | (p < q))
        (a, b), (c, d) = ((xp.real(z), xp.imag(z)) for z in (p, q))
        p, q = (xp.where(xp.isnan(x), 2, 0) + xp.where(xp.isnan(y), 1, 0) for x, y in ((a, b), (c, d)))
        return (p < q) | ((p == q) & ((a < c) | (~(c < a) & (b < d))))

    def bisect(a: Any, v: Any, side: str) -> Any:
        """Find the places of v in each row of a by bisection."""
        n = a.shape[-1]
        low = xp.zeros(v.shape, dtype=xp.int64)
        high = xp.full(v.shape, n, dtype=xp.int64)
        for _ in range(n.bit_length()):
            middle = (low + high) // 2
            entry = xp.take_along_axis(a, xp.where(middle < n, middle, n - 1), axis=-1)
            after = (low < high) & (precedes(entry, v) if side == "left" else ~precedes(v, entry))
            low, high = xp.where(after, middle + 1, low), xp.where(after, high, middle)
        return low

    def searchsorted(a: Any, v: Any, *, side: str) -> Any:
        a, v = as_sortable(a), as_sortable(v)
        if a.ndim == 1:
            return xp.searchsorted(a, v, side=side)
        rows = xp.reshape(v, (*a.shape[:-1], int(np.prod(v.shape[a.ndim - 1 :]))))
        return xp.reshape(bisect(a, rows, side), v.shape)

    return searchsorted


# The places in a, sorted along its last axis, at which the entries of v keep it sorted: before entries that are equal
# (side="left") or after them. The other axes of a are the first ones of v.
searchsorted = register(
    Search(
        "searchsorted",
        searchsorted_kernel,
        abstract_rule=lambda self, a, v, *, side: Aval(v.shape, np.dtype(np.intp)),
        tangent_rule=None,
        batch_rule=lambda a, v, *, size, side: searchsorted(a, v, side=side),
    )
).call
