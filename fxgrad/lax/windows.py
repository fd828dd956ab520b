"""Reductions of windows that slide along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.errors import ShapeError
from ..core.interpreter import api_boundary
from ..core.typing import Array, ArrayLike
from ..numpy.composite import cast, dtype_of
from ..numpy.composite import operand as array
from .convolution import Padding, dilated_sizes, numbers_per_axis, pads_per_axis
from .elementwise import add, max, min, mul
from .reductions import reduce
from .shaping import pad

REDUCTIONS: dict[Any, Callable[..., Any]] = {
    add: ops.window_sum,
    max: ops.window_max,
    min: ops.window_min,
}


def reduce_nothing(reduce_windows: Callable[..., Any], dtype: Any) -> Any:
    """Return what a window without entries is reduced to: what changes no other."""
    return reduce_windows(np.empty(0, dtype), sizes=(1,), steps=(1,), pads=((0, 1),), dilations=(1,))[0]


@api_boundary
def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """Combine the entries of each window by an associative and commutative function: pooling.

    Args:
        operand: an array, or a pytree of arrays of one shape that are reduced together.
        init_value: what each window's reduction starts from, in the same structure, of no axes.
        computation: a function of two such values to one. `lax.add`, `lax.max` and `lax.min` are fast; others see all
            windows written out, and init_value is to change nothing there.
        window_dimensions: the sizes of windows, one number for each axis of the operand, as of all that follows.
        window_strides: the steps between windows.
        padding: "VALID", "SAME", "SAME_LOWER", or how many entries that count for nothing come (before, after).
        base_dilation, window_dilation: put dilation − 1 such entries between those of the operand, of windows.

    Returns:
        An array with one entry for each window. The derivative of `lax.max` and `lax.min` is that of the first entry
        of those that tie.

    Raises:
        ShapeError: if there is not one number for each axis, or operands differ in shape.

    >>> x = fnp.array([[1.0, 5.0, 2.0, 3.0], [4.0, 0.0, 6.0, 1.0]])
    >>> fx.lax.reduce_window(x, -fnp.inf, fx.lax.max, (2, 2), (2, 2))
    array([[5., 6.]])
    >>> fx.grad(lambda x: fx.lax.reduce_window(x, -fnp.inf, fx.lax.max, (2, 2), (2, 2)).sum())(x)
    array([[0., 1., 0., 0.],
           [0., 0., 1., 0.]])
    """
    leaves, structure = pytree.flatten(operand)
    starts = [array(v) for v in pytree.leaves(init_value)]
    leaves = [array(x) for x in leaves]
    if not leaves or len(starts) != len(leaves) or len({x.shape for x in leaves}) != 1:
        raise ShapeError(
            f"reduce_window: the operands must have one shape, not {[x.shape for x in leaves]}, and one initial "
            "value each",
            hint="fnp.broadcast_arrays(*operands), and an initial value for each",
        )
    shape = leaves[0].shape
    rank = len(shape)
    sizes = numbers_per_axis("reduce_window: window_dimensions", window_dimensions, rank)
    steps = numbers_per_axis("reduce_window: window_strides", window_strides, rank)
    inner = numbers_per_axis("reduce_window: base_dilation", base_dilation, rank)
    dilations = numbers_per_axis("reduce_window: window_dilation", window_dilation, rank)
    pads = pads_per_axis(padding, dilated_sizes(shape, inner), dilated_sizes(sizes, dilations), steps)
    found = REDUCTIONS.get(computation) if len(leaves) == 1 else None
    if found is None:
        taps = []
        for x, start in zip(leaves, starts):
            neutral = 1 if computation is mul else start
            wide = pad(x, neutral, [(low, high, d - 1) for (low, high), d in zip(pads, inner)])
            taps.append(ops.windows(wide, sizes=sizes, steps=steps, dilations=dilations))
        return reduce(pytree.unflatten(structure, taps), init_value, computation, tuple(range(rank)))
    (x,), (start,) = leaves, starts
    neutral = reduce_nothing(found, dtype_of(x))
    if any(d > 1 for d in inner):
        x = pad(x, neutral, [(0, 0, d - 1) for d in inner])
    axes = enumerate(zip(sizes, steps, pads))
    first = next((i for i, one in axes if one != (1, 1, (0, 0))), rank)  # the axes before it stay as they are
    y = x
    if first < rank:
        y = found(x, sizes=sizes[first:], steps=steps[first:], pads=pads[first:], dilations=dilations[first:])
    if isinstance(start, np.ndarray | np.generic) and start == neutral:
        return pytree.unflatten(structure, [y])
    return pytree.unflatten(structure, [computation(y, cast(start, dtype_of(x)))])


__all__ = ["reduce_window"]
