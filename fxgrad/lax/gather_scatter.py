"""`gather` and `scatter` of jax.lax, which read or write many slices in one operation; an array gives their starts.

Both are indexing by one array of integers for each axis of the operand, which broadcast to the axes of the starts,
followed by the axes of the slices ("window axes").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import numpy as fnp
from ..core.errors import ShapeError, StructureError
from ..core.typing import Array, ArrayLike
from ..numpy.composite import composite
from ..numpy.composite import operand as array


class GatherDimensionNumbers(NamedTuple):
    """The axes of `gather`, with JAX's names.

    Attributes:
        offset_dims: the axes of the result that are those of the slices.
        collapsed_slice_dims: the axes of the operand, of size 1 in slices, that the result has not.
        start_index_map: for each entry of a start the axis of the operand in which it counts.
        operand_batching_dims, start_indices_batching_dims: axes that the operand and the starts have in common.

    >>> rows = fx.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> fx.lax.gather(fnp.eye(2), fnp.array([[1]]), rows, slice_sizes=(1, 2))
    array([[0., 1.]])
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """The axes of `scatter`, with JAX's names: the counterparts of `GatherDimensionNumbers`.

    Attributes:
        update_window_dims: the axes of the updates that are those of the slices.
        inserted_window_dims: the axes of the operand, of size 1 in slices, that the updates have not.
        scatter_dims_to_operand_dims: for each entry of a start the axis of the operand in which it counts.
        operand_batching_dims, scatter_indices_batching_dims: axes that the operand and the starts have in common.

    >>> entries = fx.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> fx.lax.scatter_add(fnp.zeros(3), fnp.array([[1], [1]]), fnp.ones(2), entries)
    array([0., 2., 0.])
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()

    def reading(self) -> GatherDimensionNumbers:
        """The numbers of the `gather` that reads what a `scatter` writes."""
        return GatherDimensionNumbers(*self)


class GatherScatterMode(Enum):
    """The treatment of slices that extend beyond the operand: CLIP moves them inside, FILL_OR_DROP leaves them out
    (`gather` fills them), ONE_HOT fills with zeros, PROMISE_IN_BOUNDS states that there are none.

    >>> rows = fx.lax.GatherDimensionNumbers((), (0,), (0,))
    >>> fx.lax.gather(fnp.ones(2), fnp.array([[9]]), rows, (1,), mode=fx.lax.GatherScatterMode.FILL_OR_DROP)
    array([nan])
    """

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"
    ONE_HOT = "one_hot"

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """Return the mode of this name; None is FILL_OR_DROP."""
        if isinstance(mode, GatherScatterMode):
            return mode
        try:
            return GatherScatterMode("fill" if mode in (None, "drop") else mode)
        except ValueError:
            raise StructureError(
                f"{mode!r} is no mode of gather and scatter",
                hint='one of "clip", "fill", "drop", "promise_in_bounds", "one_hot"',
            ) from None


def locate_slices(
    shape: Sequence[int], starts: Any, numbers: GatherDimensionNumbers, sizes: Sequence[int], mode: Any
) -> tuple[Any, ...]:
    """Return one array of integers for each axis of an operand: the places of slices of these sizes. In mode "fill" the
    slices that reach beyond it are at places that are all beyond it."""
    _, collapsed, index_map, shared, starts_shared = numbers
    batch = starts.shape[:-1]
    windows = [d for d in range(len(shape)) if d not in (*collapsed, *shared)]
    rank = len(batch) + len(windows)

    def along(places: Any, axis: int) -> Any:
        """Put a vector along an axis of the result."""
        return fnp.reshape(places, (*[1] * axis, -1, *[1] * (rank - axis - 1)))

    found: list[Any] = [0] * len(shape)
    valid: Any = None
    for k, d in enumerate(index_map):
        start, last = starts[..., k], shape[d] - sizes[d]
        if mode is GatherScatterMode.CLIP:
            start = fnp.clip(start, 0, last)
        elif mode is not GatherScatterMode.PROMISE_IN_BOUNDS:
            inside = (start >= 0) & (start <= last)
            valid = inside if valid is None else valid & inside
        found[d] = fnp.reshape(start, (*batch, *[1] * len(windows)))
    for d, axis in zip(shared, starts_shared):
        found[d] = along(np.arange(shape[d]), axis)
    for i, d in enumerate(windows):
        found[d] = found[d] + along(np.arange(sizes[d]), len(batch) + i)
    if valid is not None:
        valid = fnp.reshape(valid, (*batch, *[1] * len(windows)))
        found = [fnp.where(valid, places, n) for places, n in zip(found, shape)]
    full = (*batch, *[sizes[d] for d in windows])
    return tuple(fnp.broadcast_to(places, full) for places in found)


def result_axes(count: int, offset_dims: Sequence[int], rank: int) -> list[int]:
    """Return for each axis of a result its place among the axes of the starts, `count` many, and of the slices."""
    rest = iter(range(count))
    return [
        count + list(offset_dims).index(axis) if axis in offset_dims else next(rest) for axis in range(rank)
    ]


def check_numbers(what: str, operand: Any, starts: Any, numbers: GatherDimensionNumbers) -> None:
    """Raise unless the axes exist and are as many as there must be."""
    offset, collapsed, index_map, shared, starts_shared = numbers
    if starts.ndim < 1 or starts.shape[-1] != len(index_map):
        raise ShapeError(
            f"{what}: the last axis of the indices, of shape {starts.shape}, must have size {len(index_map)}, one "
            f"entry for each of the axes {tuple(index_map)}",
            hint="indices[..., None] where each is one number",
        )
    if len(offset) + len(collapsed) + len(shared) != operand.ndim or len(shared) != len(starts_shared):
        raise ShapeError(
            f"{what}: {numbers} for an operand of shape {operand.shape}",
            hint=f"offset_dims, collapsed_slice_dims and batching dims that together are {operand.ndim}",
        )
    if any(not 0 <= d < operand.ndim for d in (*collapsed, *index_map, *shared)):
        raise ShapeError(
            f"{what}: {numbers} names axes that an operand of shape {operand.shape} has not",
            hint=f"axes from 0 to {operand.ndim - 1}",
        )


@composite()
def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Slices of the operand whose starts are given by an array.

    Args:
        operand: an array.
        start_indices: integers; the last axis has one entry for each axis in which starts are given.
        dimension_numbers: which axes are which.
        slice_sizes: the size of the slices in every axis of the operand.
        unique_indices, indices_are_sorted: have no effect.
        mode: a `GatherScatterMode` or its name; by default slices that reach beyond the operand are moved inside, as
            with "clip".
        fill_value: with what "fill" fills them; by default NaN, for integers the smallest signed or the
            largest unsigned number.

    Returns:
        An array with the axes of `start_indices` but the last, and those of the slices, at `offset_dims`.

    Raises:
        ShapeError: sizes, axes and shapes do not fit together.

    >>> rows = fx.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> fx.lax.gather(np.arange(6.0).reshape(3, 2), np.array([[2], [0]]), rows, slice_sizes=(1, 2))
    array([[4., 5.],
           [0., 1.]])
    """
    x, starts = array(operand), array(start_indices)
    numbers = GatherDimensionNumbers(*dimension_numbers)
    mode = GatherScatterMode.CLIP if mode is None else GatherScatterMode.from_any(mode)
    check_numbers("gather", x, starts, numbers)
    sizes = tuple(slice_sizes)
    if len(sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(sizes, x.shape)):
        raise ShapeError(
            f"gather: slice_sizes={sizes} of an operand of shape {x.shape}",
            hint=f"a size for each of the {x.ndim} axes, at most as long as the axis: {x.shape}",
        )
    places = locate_slices(x.shape, starts, numbers, sizes, mode)
    fills = mode in (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT)
    if fills:
        zero = 0 if mode is GatherScatterMode.ONE_HOT else fill_value
        y = fnp.at(x)[places].get(mode="fill", fill_value=zero)
    else:
        y = x[places]
    return fnp.transpose(y, result_axes(starts.ndim - 1, numbers.offset_dims, y.ndim))


def scatter_by(
    name: str,
    write: Callable[[Any, Any], Any],
    operand: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    numbers: Sequence[Any],
    mode: Any,
) -> Array:
    """Write updates into slices of the operand: write(fnp.at(operand)[places], updates)."""
    x, starts, updates = array(operand), array(indices), array(updates)
    reading, mode = ScatterDimensionNumbers(*numbers).reading(), GatherScatterMode.from_any(mode)
    check_numbers(name, x, starts, reading)
    offset, collapsed, _, shared, _ = reading
    if updates.ndim != starts.ndim - 1 + len(offset):
        raise ShapeError(
            f"{name}: updates of shape {updates.shape} for indices of shape {starts.shape} and window axes {offset}",
            hint=f"updates with {starts.ndim - 1 + len(offset)} axes",
        )
    windows = iter(offset)
    sizes = [1 if d in (*collapsed, *shared) else updates.shape[next(windows)] for d in range(x.ndim)]
    if any(s > n for s, n in zip(sizes, x.shape)):
        raise ShapeError(
            f"{name}: updates of shape {updates.shape} into an operand of shape {x.shape}",
            hint=f"updates whose windows fit into {x.shape}",
        )
    axes = result_axes(starts.ndim - 1, offset, updates.ndim)
    places = locate_slices(x.shape, starts, reading, sizes, mode)
    target = fnp.at(x)[places]
    return write(target, fnp.transpose(updates, np.argsort(axes).tolist()))


class Scatter(Protocol):
    """The type of the functions that write into slices of a copy of an operand."""

    def __call__(
        self,
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Array: ...


def scatter_function(name: str, method: str, text: str) -> Scatter:
    """Declare one of the functions that write by a method of `fnp.at`."""

    def function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Array:
        def write(target: Any, values: Any) -> Any:
            return getattr(target, method)(values, mode="drop", unique_indices=unique_indices)

        return scatter_by(name, write, operand, scatter_indices, updates, dimension_numbers, mode)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""A copy of the operand in which slices are {text} the updates.

    Args:
        operand: an array.
        scatter_indices: integers, where the slices start; as for `gather`.
        updates: the slices, in the dtype of the operand or one that fits into it.
        dimension_numbers: a `ScatterDimensionNumbers`.
        indices_are_sorted: has no effect.
        unique_indices: no entry is written twice; if it is all the same, the result is not defined.
        mode: as for `gather`; but by default slices that reach beyond the operand are left out.

    Raises:
        ShapeError: axes and shapes do not fit together.

    >>> rows = fx.lax.ScatterDimensionNumbers((1,), (0,), (0,))
    >>> fx.lax.{name}(np.ones((3, 2)), np.array([[2]]), np.full((1, 2), 3.0), rows).shape
    (3, 2)
    """
    return composite()(function)


scatter: Scatter = scatter_function("scatter", "set", "replaced by")
scatter_add: Scatter = scatter_function("scatter_add", "add", "increased by")
scatter_sub: Scatter = scatter_function("scatter_sub", "subtract", "decreased by")
scatter_mul: Scatter = scatter_function("scatter_mul", "multiply", "multiplied by")
scatter_min: Scatter = scatter_function("scatter_min", "min", "limited from above by")
scatter_max: Scatter = scatter_function("scatter_max", "max", "limited from below by")


@composite()
def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Array], Array],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """A copy of the operand in which `func`, of arrays entry by entry, is applied to slices of it.

    Args:
        operand, scatter_indices, dimension_numbers: as of `scatter`.
        func: the function.
        update_shape: the shape that the updates of `scatter` would have.
        indices_are_sorted, unique_indices, mode: as of `scatter`.

    Raises:
        ShapeError: the operand, the indices and the updates do not fit each other as `dimension_numbers` says.

    >>> entries = fx.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> fx.lax.scatter_apply(fnp.ones(3), fnp.array([[1]]), lambda x: -x, entries, update_shape=(1,))
    array([ 1., -1.,  1.])
    """

    def write(target: Any, _: Any) -> Any:
        return target.apply(func, mode="drop", unique_indices=unique_indices)

    updates = np.broadcast_to(0, tuple(update_shape))
    return scatter_by("scatter_apply", write, operand, scatter_indices, updates, dimension_numbers, mode)


__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather", "scatter", "scatter_add",
    "scatter_apply", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub",
]  # fmt: skip
