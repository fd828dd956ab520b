"""Indexing of plain Tensors. It is computed directly: there are too many indices to keep a plan for each, and analysing
an index is as fast as looking up a plan.
"""

from __future__ import annotations

from typing import Any

from ...extend import EVAL, SCALARS, Aval, ops, source_info
from .._core import strides
from .._core.dtypes import cast_number
from .._core.memory import VERSIONS
from .._core.tape import LEAF, grad_accumulator
from .._declare.plain import constant_array, copy_directly, make_result, plain_context, writable_array
from .._declare.view_plan import BOUND_TYPES, make_view
from .basic_views import select_view, slice_view


def find_part(key, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], Any] | None:
    """Return (an index of non-negative positions, the operation) for a key of Python integers, slices of integers and
    `...`; None for other keys and for those that raise."""
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


def take_part(tensor, key) -> Any:
    """Return the view of a plain Tensor for a key of integers and slices; None if it needs the general path."""
    context = plain_context(tensor)
    if context is None:
        return None
    value = tensor._fx_value
    part = find_part(key, value.shape)
    if part is None:
        return None
    index, op = part
    params, pullback = {"index": index}, None
    if context is EVAL and tensor._fx_node is not None:
        pullback = PART, ([Aval(value.shape, value.dtype)], params), PULL_PART
    return make_view(tensor, context, value[(*index, ...)], (op, (), params, None, pullback))


def write_part(tensor, key, value) -> bool:
    """Write a number, or a plain Tensor of the dtype and shape, into the part of a plain Tensor that a key of integers
    and slices chooses, where nothing is recorded. Return whether that was done."""
    memory = writable_array(tensor)
    part = None if memory is None else find_part(key, memory.shape)
    if memory is None or part is None:
        return False
    view = memory[(*part[0], ...)]
    if type(value) not in SCALARS:
        return copy_directly(value, view, memory)
    view[...] = cast_number(value, memory.dtype)
    VERSIONS.record_change(memory, "fill_", source_info.user_frame())
    return True


def take_entries(operation, tensor, key) -> Any:
    """Return the rows of a plain Tensor at the places in a plain Tensor of integers, by the recorded operation; None if
    it needs the general path."""
    places, context = constant_array(key), plain_context(tensor)
    if places is None or context is None or not places.shape or places.dtype.char not in "lqi":
        return None
    value = tensor._fx_value
    if not value.shape or not value.flags.c_contiguous:
        return None
    try:
        rows = value.take(places, 0)
    except IndexError:
        return None
    if context is not EVAL or tensor._fx_node is None:
        return make_result(rows, operation, None, None)
    params = {"index": (ops.ARRAY, *(WHOLE,) * (value.ndim - 1))}
    pullback = GATHER, ([Aval(value.shape, value.dtype), places], params), PULL_GATHER
    edge = tensor._fx_node
    edges = ((tensor._fx_accumulator or grad_accumulator(tensor)) if edge is LEAF else edge, None)
    return make_result(rows, operation, pullback, edges)


WHOLE = slice(None)
PART, GATHER = strides.basic_view.primitive, ops.getitem.primitive
PULL_PART, PULL_GATHER = PART.pull_plain, GATHER.pull_plain
