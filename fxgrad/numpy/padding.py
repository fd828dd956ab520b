"""Padding of arrays: `pad` and its modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core.common_errors import check_option
from ..core.errors import ShapeError, UnsupportedError
from ..core.interpreter import Tracer
from ..core.typing import Array, ArrayLike
from .composite import cast, composite, dtype_of, kind, operand
from .contraction import tensordot
from .creation import linspace
from .manipulation import expand_dims, flip, moveaxis, slice_axis, take_positions
from .ufuncs import rint

# The options of each mode.
OPTIONS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}
STATISTICS = {"maximum": "max", "mean": "mean", "median": "median", "minimum": "min"}


@composite(np.pad)
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """An array with padding: constants, copies of entries, ramps, or statistics.

    Args:
        pad_width: entries before and after: one number, a pair, a pair for every axis, or a dict of axes.
        mode: 'constant' (with `constant_values`), 'empty' (zeros here), 'edge', 'wrap', 'reflect' and 'symmetric'
            (with reflect_type='even' or 'odd'), 'linear_ramp' (with `end_values`), 'maximum', 'minimum', 'mean' and
            'median' (with `stat_length`). A function, which NumPy lets write into the array, is refused.

    Raises:
        UnsupportedError: `mode` is a function, which would write into the array.
        ValueError: there is no such mode or option, a width is negative, or an empty axis has nothing to repeat.

    >>> fx.grad(lambda x: fnp.sum(fnp.pad(x, 2, mode="edge")))(fnp.ones(3))
    array([3., 1., 3.])
    """
    x = operand(array)
    if callable(mode):
        raise UnsupportedError(
            "pad with a function as mode, which writes into the array",
            hint="fnp.concatenate, or one of the modes by name",
        )
    check_option("pad", "mode", mode, OPTIONS)
    if unknown := kwargs.keys() - OPTIONS[mode]:
        raise ShapeError(
            f"pad: mode={mode!r} has no option {', '.join(sorted(unknown))}",
            hint=f"its options: {', '.join(OPTIONS[mode]) or 'none'}",
        )
    if isinstance(pad_width, dict):
        sides = [(0, 0)] * x.ndim
        for axis, width in pad_width.items():
            sides[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = sides
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if np.min(widths, initial=0) < 0:
        raise ShapeError(f"pad: pad_width has a negative number: {pad_width}", hint="x[a:-b], which cuts")
    if mode in ("constant", "empty"):
        values = operand(kwargs.get("constant_values", 0))
        if values.ndim == 0 and not isinstance(values, Tracer) and is_positive_zero(values):
            return ops.pad(x, widths=tuple(map(tuple, widths)))
        values = ops.broadcast_to(cast(values, dtype_of(x)), shape=(x.ndim, 2))
        return pad_sides(x, widths, lambda x, axis, side, count: values[axis, side])
    for axis, pair in enumerate(widths):
        if any(pair) and x.shape[axis] == 0:
            raise ShapeError(
                f"pad: mode={mode!r} has no entries to extend the empty axis {axis} with",
                hint='mode="constant"',
            )
    if mode == "linear_ramp":
        return pad_ramps(x, widths, kwargs.get("end_values", 0))
    if mode in STATISTICS:
        return pad_statistics(x, widths, mode, kwargs.get("stat_length"))
    for axis, pair in enumerate(widths):
        if any(pair) and kwargs.get("reflect_type", "even") == "odd":
            # 2·edge − entry, again and again: a linear map, of which NumPy makes the matrix.
            pairs = [pair, (0, 0)]
            matrix = np.pad(np.eye(x.shape[axis], dtype=dtype_of(x)), pairs, mode, reflect_type="odd")  # type: ignore
            x = moveaxis(tensordot(matrix, x, ([1], [axis])), 0, axis)
        elif any(pair):
            x = take_positions(x, np.pad(np.arange(x.shape[axis]), pair, mode), axis)  # type: ignore[call-overload]
    return x


def is_positive_zero(value: Any) -> bool:
    """Whether a number is the 0 with which `ops.pad` fills; −0 is another."""
    return value == 0 and not np.signbit(value.real)


def pad_sides(x: Any, widths: Any, fill: Any) -> Any:
    """Put fill(x, axis, side, count), which broadcasts, on both sides of every axis of x."""
    for axis, pair in enumerate(widths):
        ends = []
        for side, count in enumerate(pair):
            shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
            ends.append(ops.broadcast_to(fill(x, axis, side, count), shape=shape))
        x = ops.concatenate(ends[0], x, ends[1], axis=axis)
    return x


def pad_ramps(x: Any, widths: Any, end_values: Any) -> Any:
    """Pad with even steps from the end values to the edges."""
    ends = ops.broadcast_to(operand(end_values), shape=(x.ndim, 2))

    def ramp(x: Any, axis: int, side: int, count: int) -> Any:
        edge = take_positions(x, np.intp(-side), axis)
        steps = linspace(ends[axis, side], edge, count, endpoint=False, dtype=dtype_of(x), axis=axis)
        return flip(steps, axis) if side else steps

    return pad_sides(x, widths, ramp)


def pad_statistics(x: Any, widths: Any, mode: str, stat_length: Any) -> Any:
    """Pad with a statistic of all entries along the axis, or of so many next to the edge."""
    from .. import numpy as fnp  # the whole namespace: statistics by their names

    reduce = getattr(fnp, STATISTICS[mode])
    lengths = np.broadcast_to(np.asarray(stat_length, object), (x.ndim, 2))

    def statistic(x: Any, axis: int, side: int, count: int) -> Any:
        size, wanted = x.shape[axis], lengths[axis, side]
        if wanted is not None and wanted < size:
            x = slice_axis(x, axis, size - wanted, None) if side else slice_axis(x, axis, None, wanted)
        y = expand_dims(reduce(x, axis=axis), axis)
        return cast(rint(y) if kind(x) in "iu" and kind(y) == "f" else y, dtype_of(x))

    return pad_sides(x, widths, statistic)


__all__ = ["pad"]
