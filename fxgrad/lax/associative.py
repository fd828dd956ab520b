"""Prefix sums under any associative operation, in logarithmic depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core import pytree, source_info
from ..core.advice import fit_axis
from ..core.aval import aval_of
from ..core.errors import AxisError, ShapeError, StructureError
from ..core.interpreter import api_boundary
from ..core.surface import is_alike
from ..core.typing import PyTree
from .functions import flatten_arguments, mismatch_error, unshare_if_plain

__all__ = ["associative_scan"]


@api_boundary
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: PyTree, reverse: bool = False, axis: int = 0
) -> PyTree:
    """The combinations e₀, e₀∘e₁, e₀∘e₁∘e₂, … along an axis, by O(log n) vectorized applications of `fn`.

    Neighbours are combined, the scan of the half as many pairs gives every other result, and one more combination the
    rest (G. Blelloch, "Prefix sums and their applications", 1990).

    Args:
        fn: an associative operation on pytrees like `elems`, of any size along the axis: it is applied to slices.
        elems: a pytree of arrays with the same size along `axis`.
        reverse: combine from the end: …, eₙ₋₁∘eₙ₋₂, eₙ₋₁.
        axis: the axis of each array.

    Raises:
        StructureError: `fn` changes structure, shapes or dtypes.
        ShapeError: the sizes along the axis differ.
        AxisError: there is no such axis.

    >>> lax.associative_scan(np.maximum, np.array([1.0, 3.0, 2.0, 5.0]))
    array([1., 3., 3., 5.])
    """
    site = source_info.user_frame()
    leaves, structure = flatten_arguments("associative_scan: elems", (elems,))
    (inner,) = structure.children()
    axes = []
    for leaf in leaves:
        rank = aval_of(leaf).ndim
        if not -rank <= axis < rank:
            raise AxisError(
                f"associative_scan: axis {axis} is out of bounds for an array with {rank} axes",
                hint=fit_axis(rank),
            )
        axes.append(axis % rank)
    sizes = {aval_of(v).shape[a] for v, a in zip(leaves, axes)}
    if len(sizes) > 1:
        raise ShapeError(
            f"associative_scan: the sizes along axis {axis} differ: {sorted(sizes)}",
            hint="arrays of one size along the axis that is gone along",
        )

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        results, found = pytree.flatten(fn(pytree.unflatten(inner, a), pytree.unflatten(inner, b)))
        if not is_alike(found, inner):
            raise StructureError(
                f"associative_scan: fn has a result of structure {found}, elems has {inner}",
                hint="return the containers that fn is given",
                site=site,
            )
        for i, (v, r) in enumerate(zip(a, results)):
            if aval_of(v) != aval_of(r):
                when = ("as operand", "as result of fn")
                raise mismatch_error(
                    "associative_scan: a part", inner, i, when, (aval_of(v), aval_of(r)), site
                )
        return results

    flipped = [ops.flip(v, axes=(a,)) for v, a in zip(leaves, axes)] if reverse else leaves
    results = combine_prefixes(combine, flipped, axes, sizes.pop() if sizes else 0)
    if reverse:
        results = [ops.flip(v, axes=(a,)) for v, a in zip(results, axes)]
    return pytree.unflatten(inner, unshare_if_plain(results, leaves))


def combine_prefixes(
    combine: Callable[[Sequence[Any], Sequence[Any]], list[Any]],
    values: Sequence[Any],
    axes: Sequence[int],
    size: int,
) -> list[Any]:
    """Combine the rows of values up to each one; `size` is how many there are along the axes."""
    if size < 2:
        return list(values)
    half, rest = size // 2, (size - 1) // 2
    pairs = combine(slice_rows(values, axes, 0, 2 * half, 2), slice_rows(values, axes, 1, size, 2))
    odd = combine_prefixes(combine, pairs, axes, half)
    even = slice_rows(values, axes, 0, 1)
    if rest:
        later = combine(slice_rows(odd, axes, 0, rest), slice_rows(values, axes, 2, size, 2))
        even = [ops.concatenate(e, r, axis=a) for e, r, a in zip(even, later, axes)]
    woven = [
        ops.reshape(
            ops.stack(pair, axis=a + 1), shape=(*pair[0].shape[:a], 2 * half, *pair[0].shape[a + 1 :])
        )
        for *pair, a in zip(slice_rows(even, axes, 0, half), odd, axes)
    ]
    if size % 2:
        last = slice_rows(even, axes, half, half + 1)
        woven = [ops.concatenate(w, e, axis=a) for w, e, a in zip(woven, last, axes)]
    return woven


def slice_rows(values: Sequence[Any], axes: Sequence[int], start: int, stop: int, step: int = 1) -> list[Any]:
    """Return some rows of each value, along its axis."""
    return [
        ops.getitem(
            v, index=tuple(slice(start, stop, step) if i == a else slice(None) for i in range(v.ndim))
        )
        for v, a in zip(values, axes)
    ]
