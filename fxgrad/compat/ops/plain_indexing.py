"""Indexing of plain Tensors. It is computed directly: there are too many indices to keep a plan for each, and analysing
an index is as fast as looking up a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import CURRENT, SCALARS, Aval, costs, ops, source_info
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


def find_places(key, shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Return the index for a key that is a plain Tensor of integers, or several of one shape, maybe behind whole
    dimensions, or the mask of the first dimensions; None for other keys."""
    keys = (key,) if type(key) is Tensor else key
    if type(keys) is not tuple or not keys:
        return None
    if keys[0] is ...:
        keys = (*(WHOLE,) * (len(shape) - len(keys) + 1), *keys[1:])
    while keys and type(keys[-1]) is slice and keys[-1] == WHOLE:
        keys = keys[:-1]
    if not 0 < len(keys) <= len(shape):
        return None
    found: list[Any] = []
    first: np.ndarray | None = None
    for entry in keys:
        if first is None and type(entry) is slice and entry == WHOLE:
            found.append(WHOLE)
            continue
        array = constant_array(entry) if type(entry) is Tensor else None
        if array is None or not array.shape or (first is not None and array.shape != first.shape):
            return None
        if array.dtype.char not in "lqi":
            is_mask = len(keys) == 1 and array.dtype.char == "?" and array.shape == shape[: array.ndim]
            return (array,) if is_mask else None
        first = array
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
    index = find_places(key, value.shape)
    if index is None or not value.flags.c_contiguous:
        return None
    places = [entry for entry in index if entry is not WHOLE]
    is_mask = places[0].dtype.char == "?"
    try:
        if is_mask:
            rows = ops.select_rows(value, places[0])
        elif len(places) == 1:
            rows = value.take(places[0], len(index) - 1)
        else:
            rows = np.ascontiguousarray(value[index])
    except IndexError:
        return None
    if edge is None:
        return make_result(rows, operation, None, None, 3)
    places = ops.find_nonzero(places[0]) if is_mask else places
    lead = sum([entry is WHOLE for entry in index])
    template = (*(WHOLE,) * lead, *(ops.ARRAY,) * len(places), *(WHOLE,) * (value.ndim - lead - len(places)))
    pullback = GATHER, ([Aval(value.shape, value.dtype), *places], {"index": template}), PULL_GATHER
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
    if not fill_places(memory, key, value):
        return False
    VERSIONS.record_change(memory, "index_put_", source_info.user_frame())
    return True


def fill_places(memory: np.ndarray, key, value) -> bool:
    """Write a number, or a plain Tensor of the dtype and shape, into an array at places; return whether that was
    done."""
    index = find_places(key, memory.shape)
    if index is None or not memory.flags.c_contiguous:
        return False
    last = index[-1]
    is_mask = last.dtype.char == "?"
    if type(value) in SCALARS:
        entries = round_number(value, memory.dtype)
    else:
        entries = constant_array(value)
        if entries is None or entries.dtype is not memory.dtype or np.may_share_memory(entries, memory):
            return False
        lead = sum([entry is WHOLE for entry in index])
        shape = (int(np.count_nonzero(last)),) if is_mask else last.shape
        rest = memory.shape[last.ndim if is_mask else len(index) :]
        if entries.shape and entries.shape != (*memory.shape[:lead], *shape, *rest):
            return False
    try:
        if is_mask:
            ops.replace_rows(memory, last, entries)
        else:
            memory[index] = entries
    except IndexError:
        return False
    return True


def put_directly(input, indices, values, accumulate=False) -> Any:
    """Do what `index_put` does on plain Tensors; None where there is more to decide."""
    value = constant_array(input)
    if value is None or value.size > costs.CALLED_ENTRIES or not value.flags.c_contiguous:
        return None
    if accumulate or type(indices) not in (tuple, list) or type(values) in SCALARS:
        return None
    made = value.copy()
    return make_result(made, None, None, None) if fill_places(made, tuple(indices), values) else None


def put_directly_(input, indices, values, accumulate=False) -> Any:
    """Do what `index_put_` does on plain Tensors; None where there is more to decide."""
    memory = writable_array(input)
    if accumulate or memory is None or type(indices) not in (tuple, list) or type(values) in SCALARS:
        return None
    return input if write_places(memory, tuple(indices), values) else None


WHOLE = slice(None)
PART, GATHER = strides.basic_view.primitive, ops.getitem.primitive
PULL_PART, PULL_GATHER = PART.pull_plain, GATHER.pull_plain
