"""Extrema put in place: the largest or the smallest of an entry and of the values that an index gives to it.

Values that reach the extremum of an entry together share its derivative, as for `reduce_max`.
"""

from __future__ import annotations

from typing import Any

from ..core.aval import Aval, aval_of
from ..kernels.selection import combine_at
from .indexing import ARRAY, batch_index, fill_template, getitem, move_axis, scatter_add
from .kinds import general
from .vocabulary import ops


def scatter_extreme_kernel(name: str) -> Any:
    """Return the kernels that combine by a ufunc of this name."""

    def make_kernel(xp: Any) -> Any:
        def scatter_extreme(x: Any, u: Any, *arrays: Any, index: tuple) -> Any:
            out = xp.array(x, copy=True, order="C") if hasattr(xp, "array") else xp.asarray(x, copy=True)
            at = fill_template(index, arrays, xp)
            if arrays:
                combine_at(xp, name, out, at, u)
            else:
                out[at] = getattr(xp, name)(out[at], u)
            return out

        return scatter_extreme

    return make_kernel


def scatter_extreme_aval(self: Any, x: Aval, u: Aval, *arrays: Aval, index: tuple) -> Aval:
    return Aval(x.shape, x.dtype)


def reaches(values: Any, extrema: Any) -> Any:
    """Return the mask of the values that are the extremum: of NaN all that are NaN."""
    return ops.logical_or(ops.equal(values, extrema), ops.isnan(values))


def scatter_extreme_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (x, u, *arrays), (dx, du, *_) = primals, tangents
    index, dtype, shape = params["index"], aval_of(y).dtype, aval_of(y).shape

    def put(values: Any) -> Any:
        return scatter_add(values, *arrays, index=index, shape=shape)

    own, theirs = reaches(x, y), reaches(u, getitem(y, *arrays, index=index))
    count = ops.convert(own, dtype=dtype) + put(ops.convert(theirs, dtype=dtype))
    kept = None if dx is None else ops.where(own, dx, 0)
    given = None if du is None else put(ops.where(theirs, du, 0))
    return (kept if given is None else given if kept is None else kept + given) / count


def scatter_extreme_batch(rule: Any, x: Any, u: Any, *arrays: Any, size: int, index: tuple) -> Any:
    arrays, index, axis = batch_index(aval_of(x).shape[1:], arrays, index, size, ARRAY in index)
    return rule(x, move_axis(u, 0, axis), *arrays, index=index)


def scatter_extreme(name: str, ufunc: str) -> Any:
    """Declare a primitive (x, u, *arrays) → x, in which entries at an index are combined with u by a ufunc."""
    rule = general(
        name,
        scatter_extreme_kernel(ufunc),
        abstract_rule=scatter_extreme_aval,
        tangent_rule=scatter_extreme_tangent,
        batch_rule=lambda *operands, size, index: scatter_extreme_batch(
            rule, *operands, size=size, index=index
        ),
    )
    return rule


scatter_max = scatter_extreme("scatter_max", "maximum")
scatter_min = scatter_extreme("scatter_min", "minimum")
