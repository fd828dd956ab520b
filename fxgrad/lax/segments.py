"""Reductions of segments: rows with equal numbers are summed, multiplied or compared, as by `jax.ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.aval import aval_of, kind_of
from ..core.errors import ConcretizationError, DTypeError, ShapeError, UnsupportedError
from ..core.interpreter import concretize
from ..core.typing import Array, ArrayLike
from ..numpy.composite import composite
from ..numpy.composite import operand as array

MODES = (None, "drop", "fill", "clip", "promise_in_bounds")


class SegmentReduction(Protocol):
    """The type of the functions that reduce segments."""

    def __call__(
        self,
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: str | None = None,
    ) -> Array: ...


def count_segments(name: str, ids: Any) -> int:
    """Return how many segments there are, by the greatest number."""
    try:
        known = concretize(ids, "segments")
    except ConcretizationError as error:
        raise ConcretizationError(
            f"{name}: how many segments there are is not known, since segment_ids are staged or batched",
            hint=f"{name}(data, segment_ids, num_segments=…)",
        ) from error
    return max(int(known.max()) + 1, 0) if known.size else 0


def place_rows(name: str, ids: Any, count: int, mode: str | None) -> Any:
    """Return numbers in 0 … count; the last one stands for rows that are left out."""
    if mode not in MODES:
        raise UnsupportedError(f"{name} with mode={mode!r}", hint=f"one of {', '.join(map(repr, MODES))}")
    if mode == "clip":
        return ops.minimum(ops.maximum(ids, 0), count - 1)
    return ops.where(ops.logical_and(ops.greater_equal(ids, 0), ops.less(ids, count)), ids, count)


def segment_reduction(name: str, text: str, combine: Any, identity: Callable[[Any], Any], found: str) -> Any:
    """Declare a reduction of segments by a primitive, from an identity of the dtype on."""

    def function(
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: str | None = None,
    ) -> Array:
        x, ids = array(data), array(segment_ids)
        if kind_of(aval_of(ids).dtype) not in "iu":
            raise DTypeError(f"{name}: segment_ids of dtype {ids.dtype}", hint="segment_ids.astype(int)")
        if ids.ndim != 1 or x.shape[:1] != ids.shape:
            raise ShapeError(
                f"{name}: segment_ids of shape {ids.shape} for data of shape {x.shape}",
                hint=f"a number for each row: shape {x.shape[:1]}",
            )
        count = count_segments(name, ids) if num_segments is None else int(num_segments)
        if count < 0:
            raise ShapeError(f"{name}: num_segments={count}", hint="a number from 0 on")
        ids = ops.convert(ids, dtype=np.dtype(np.intp))
        start = fnp.full_like(x, identity(x.dtype), shape=(count + 1, *x.shape[1:]))
        places = place_rows(name, ids, count, mode)
        index = (ops.ARRAY, *(slice(None),) * (x.ndim - 1))
        return ops.getitem(combine(start, x, places, index=index), index=(slice(0, count, None),))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {text} of the rows of each segment.

    Args:
        data: an array; its rows along the first axis are reduced.
        segment_ids: integers, the segment of each row; rows whose number is not in 0 … num_segments − 1 are left out.
        num_segments: how many segments there are; by default one more than the greatest number, which has to be known:
            under `jit` and `vmap` say it.
        indices_are_sorted, unique_indices, bucket_size: have no effect.
        mode: "clip" takes the nearest segment for numbers out of range; the others leave out the rows.

    Returns:
        An array of shape (num_segments, *data.shape[1:]); segments without rows are the identity of the reduction.

    Raises:
        ConcretizationError: numbers that are not known, without `num_segments`.
        DTypeError: `segment_ids` are no integers.
        ShapeError: `segment_ids` is no vector as long as `data`.
        UnsupportedError: another `mode`.

    >>> fx.lax.{name}(np.array([5.0, 1.0, 2.0]), np.array([0, 0, 1]))
    {found}
    """
    return composite()(function)


def sum_rows(start: Any, x: Any, places: Any, *, index: tuple) -> Any:
    return ops.scatter_add(x, places, index=index, shape=aval_of(start).shape)


def least(dtype: Any) -> Any:
    """Return the least number of a dtype."""
    return -np.inf if kind_of(dtype) == "f" else False if kind_of(dtype) == "b" else int(np.iinfo(dtype).min)


def greatest(dtype: Any) -> Any:
    """Return the greatest number of a dtype."""
    return np.inf if kind_of(dtype) == "f" else True if kind_of(dtype) == "b" else int(np.iinfo(dtype).max)


segment_sum: SegmentReduction = segment_reduction(
    "segment_sum", "sum", sum_rows, lambda dtype: 0, "array([6., 2.])"
)
segment_prod: SegmentReduction = segment_reduction(
    "segment_prod", "product", ops.scatter_mul, lambda dtype: 1, "array([5., 2.])"
)
segment_max: SegmentReduction = segment_reduction(
    "segment_max", "maximum", ops.scatter_max, least, "array([5., 2.])"
)
segment_min: SegmentReduction = segment_reduction(
    "segment_min", "minimum", ops.scatter_min, greatest, "array([1., 2.])"
)

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
