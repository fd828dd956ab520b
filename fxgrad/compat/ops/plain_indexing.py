"""Indexing of plain Tensors. It is computed directly: there are too many indices to keep a plan for each, and analysing
an index is as fast as looking up a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import CURRENT, SCALARS, Aval, ops, source_info
from .._core import strides
from .._core.dtypes import round_number
from .._core.memory import VERSIONS
from .._core.tensor import Tensor, allocate_tensor
from .._core.views import ViewStep
from .._declare.gate import NOT_PLAIN, plain_edge, writable_array
from .._declare.plain import constant_array, copy_directly, make_result
from .._declare.view_plan import BOUND_TYPES, make_view
from .basic_views import select_view, slice_view

current = CURRENT.get


def find_part(key, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], Any] | None:
    """Return (an index of positions counted from the front, the operation) for a key of integers of Python's, slices of
    such and `...`; None for other keys and for those that raise."""
    maker, ndim, dots = None, len(shape), False
    if type(key) is int:
        if not ndim or not -shape[0] <= key < shape[0]:
            return None
        return (key if key >= 0 else key + shape[0],), select_view.operation
    entries = key if type(key) is tuple else (key,)
    found: list[Any] = []
    for e in entries:
        kind, d = type(e), len(found)
        if kind is slice:
            start, stop, step = e.start, e.stop, e.step
            if (
                d >= ndim
                or type(start) not in BOUND_TYPES
                or type(stop) not in BOUND_TYPES
                or not (step is None or (type(step) is int and step > 0))
            ):
                return None
            maker = slice_view
            if start is None and stop is None and step is None:
                found.append(WHOLE)
            else:
                start, stop, step = e.indices(shape[d])
                found.append(slice(start, stop if stop > start else start, step))
        elif kind is int:
            if d >= ndim or not -shape[d] <= e < shape[d]:
                return None
            maker = select_view
            found.append(e if e >= 0 else e + shape[d])
        elif e is ...:
            count = ndim - len(entries) + 1
            if count < 0 or dots:
                return None
            found += [WHOLE] * count
            dots = True
        else:
            return None
    return None if maker is None else (tuple(found), maker.operation)


def find_places(key, shape: tuple[int, ...]) -> tuple[np.ndarray, ...] | None:
    """Return the index arrays of a key that is a plain Tensor of integers, or several of one shape, or the mask of the
    first dimensions; None for other keys."""
    keys = (key,) if type(key) is Tensor else key
    if type(keys) is not tuple or not 0 < len(keys) <= len(shape):
        return None
    found: list[np.ndarray] = []
    for entry in keys:
        array = constant_array(entry) if type(entry) is Tensor else None
        if array is None or not array.shape or (found and array.shape != found[0].shape):
            return None
        if array.dtype.char not in "lqi":
            is_mask = len(keys) == 1 and array.dtype.char == "?" and array.shape == shape[: array.ndim]
            return (array,) if is_mask else None
        found.append(array)
    return tuple(found)


def index_directly(operation) -> Callable[[Any, Any], Any]:
    """Return the function that indexes a plain Tensor: the view that integers and slices make, or the entries that
    Tensors of positions, or a mask, choose, recorded by this operation; None if there is more to decide."""

    def take(tensor, key) -> Any:
        context = current()
        edge = plain_edge(tensor, context)
        if edge is NOT_PLAIN:
            return None
        value = tensor._fx_value
        part = None if type(key) is Tensor else find_part(key, value.shape)
        if part is None:
            return take_places(operation, value, edge, key)
        index, op = part
        step = allocate_tensor(ViewStep)
        step.operation, step.operands, step.params, step.index = op, (), {"index": index}, None
        step.pullback = None
        if edge is not None:
            step.pullback = PART, ([Aval(value.shape, value.dtype)], step.params), PULL_PART
        return make_view(tensor, context, edge, value[(*index, ...)], step)

    return take


def take_places(operation, value: np.ndarray, edge, key) -> Any:
    """Return the entries of an array at places (see `find_places`), recorded by the operation with this edge to the
    array; None if there is more to decide."""
    places = find_places(key, value.shape)
    if places is None or not value.flags.c_contiguous:
        return None
    is_mask = places[0].dtype.char == "?"
    try:
        if is_mask:
            rows = ops.select_rows(value, places[0])
        else:
            rows = value.take(places[0], 0) if len(places) == 1 else np.ascontiguousarray(value[places])
    except IndexError:
        return None
    if edge is None:
        return make_result(rows, operation, None, None, 3)
    places = ops.find_nonzero(places[0]) if is_mask else places
    index = (*(ops.ARRAY,) * len(places), *(WHOLE,) * (value.ndim - len(places)))
    pullback = GATHER, ([Aval(value.shape, value.dtype), *places], {"index": index}), PULL_GATHER
    return make_result(rows, operation, pullback, (edge, *(None,) * len(places)), 3)


def write_part(tensor, key, value) -> bool:
    """Write a number, or a plain Tensor of the dtype and shape, into the part of a plain Tensor that a key chooses,
    where nothing is recorded. Return whether that was done."""
    memory = writable_array(tensor)
    if memory is None:
        return False
    part = None if type(key) is Tensor else find_part(key, memory.shape)
    if part is None:
        return write_places(memory, key, value)
    view = memory[(*part[0], ...)]
    if type(value) not in SCALARS:
        return copy_directly(value, view, memory)
    view[...] = round_number(value, memory.dtype)
    VERSIONS.record_change(memory, "fill_", source_info.user_frame())
    return True


def write_places(memory: np.ndarray, key, value) -> bool:
    """Write as `write_part` does at places: see `find_places`."""
    places = find_places(key, memory.shape)
    if places is None or not memory.flags.c_contiguous:
        return False
    first = places[0]
    is_mask = first.dtype.char == "?"
    if type(value) in SCALARS:
        entries = round_number(value, memory.dtype)
    else:
        entries = constant_array(value)
        if entries is None or entries.dtype is not memory.dtype or np.may_share_memory(entries, memory):
            return False
        shape = (int(np.count_nonzero(first)),) if is_mask else first.shape
        if entries.shape and entries.shape != (
            *shape,
            *memory.shape[first.ndim if is_mask else len(places) :],
        ):
            return False
    try:
        if is_mask:
            ops.replace_rows(memory, first, entries)
        else:
            memory[places] = entries
    except IndexError:
        return False
    VERSIONS.record_change(memory, "index_put_", source_info.user_frame())
    return True


WHOLE = slice(None)
PART, GATHER = strides.basic_view.primitive, ops.getitem.primitive
PULL_PART, PULL_GATHER = PART.pull_plain, GATHER.pull_plain
