"""Views by indices of integers and slices, as one primitive."""

from __future__ import annotations

from operator import index as as_index
from typing import Any

from ...extend import ops
from .._core import strides
from .._declare.operation import operation
from .._declare.rearrangement import Rearrangement
from .._declare.view_plan import BOUND_TYPES
from ..errors import ArgumentError, ArgumentValueError, DimensionError
from .arguments import place_hint


def declare_basic_view(name: str) -> Any:
    """Declare the view operation of an index of integers and slices, under one of torch's names for its node."""

    @operation("input", name=name, spaces="", view=True, out=False, composite=Rearrangement)
    def view_part(input, index) -> Any:
        return strides.basic_view, (input,), {"index": normalize_basic_index(index, input.shape)}

    return view_part


select_view, slice_view = declare_basic_view("select"), declare_basic_view("slice")


@operation("input place", name="select", spaces="", view=True, out=False, composite=Rearrangement)
def select_traced(input, place, dim: int) -> Any:
    """Select the part at a traced place, which may differ between the entries of a batch."""
    return ops.getitem, (input, place), {"index": (*[slice(None)] * dim, ops.ARRAY)}


def normalize_basic_index(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Convert an index of integers, slices and `...` to non-negative positions, one for each dimension."""
    used = len(index) - index.count(...)
    check_dimension_count(used, shape)
    found: list[Any] = []
    for e in index:
        if e is ...:
            found += [slice(None)] * (len(shape) - used)
            used = len(shape)  # a second one stands for none
        elif type(e) is slice:
            found.append(normalize_slice(e, shape[len(found)]))
        else:
            found.append(position_in_dim(e, shape, len(found)))
    return (*found, *[slice(None)] * (len(shape) - len(found)))


def normalize_slice(part: slice, size: int) -> slice:
    """Convert a slice of a dimension to one of positions counted from the front."""
    if part.step is not None and as_index(part.step) <= 0:
        raise ArgumentValueError(
            "step must be greater than zero", hint="x.flip(dim) is a copy in the reverse order"
        )
    start, stop, step = part.indices(size)
    return slice(start, max(start, stop), step)


def check_dimension_count(used: int, shape: tuple[int, ...]) -> None:
    """Raise if a key consumes more dimensions than there are."""
    if used > len(shape):
        raise DimensionError(
            f"too many indices for tensor of dimension {len(shape)}",
            hint=f"at most {len(shape)}; x[..., i] is of the last dimension",
        )


def position_in_dim(entry, shape: tuple[int, ...], dim: int) -> int:
    """Convert an integer of a key to a position along a dimension."""
    if isinstance(entry, str):
        raise ArgumentError(
            "new(): invalid data type 'str'", hint="places are numbers: x[0], x[torch.tensor(…)]"
        )
    try:
        place = as_index(entry)
    except TypeError:
        raise DimensionError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type(entry).__name__})",
            hint="int(…) of a number; torch.tensor(…) of a list of places or of a mask",
        ) from None
    if not -shape[dim] <= place < shape[dim]:
        raise DimensionError(
            f"index {place} is out of bounds for dimension {dim} with size {shape[dim]}",
            hint=place_hint(shape[dim]),
        )
    return place % shape[dim]


def find_basic_view(key) -> Any:
    """Find the view operation for a key that is a tuple of Python integers, slices of integers and `...`. Return None
    for other keys."""
    maker = None
    if type(key) is tuple:
        for e in key:
            kind = type(e)
            if kind is int:
                maker = select_view
            elif kind is slice:
                if not (
                    type(e.start) in BOUND_TYPES
                    and type(e.stop) in BOUND_TYPES
                    and type(e.step) in BOUND_TYPES
                ):
                    return None
                maker = slice_view
            elif e is not ...:
                return None
    return maker
