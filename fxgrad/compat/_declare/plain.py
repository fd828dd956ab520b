"""Operations on plain Tensors: arrays, outside all transforms and all modes but `no_grad`. Only their shapes matter, so
results are computed and recorded here directly.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, EVAL, Context, source_info
from .._core.memory import VERSIONS
from .._core.modes import NO_GRAD, QUIET
from .._core.tape import BASE_TAPE, LEAF, Node, grad_accumulator, next_serial
from .._core.tensor import TENSOR_CLASSES, Tensor, allocate_tensor
from .._core.views import ViewMeta, is_plain_view

current, getframe, code_kinds = CURRENT.get, sys._getframe, source_info.code_kinds


def plain_context(tensor) -> Context | None:
    """Return the current Context where a Tensor is plain; None where there is more to decide."""
    if type(tensor) not in TENSOR_CLASSES or type(tensor._fx_value) is not np.ndarray:
        return None
    context = current()
    if context is EVAL:
        if tensor._fx_node is not None and tensor._fx_tape is not BASE_TAPE:
            return None
    elif context is not NO_GRAD and context is not QUIET:
        return None
    meta = tensor._fx_view_meta
    return context if meta is None or (type(meta) is ViewMeta and is_plain_view(tensor)) else None


def plain_operands(tensors: Sequence[Any]) -> tuple[list[np.ndarray], list[Any] | None] | None:
    """Return (arrays, gradient edges) of plain Tensors of one dtype; no edges where nothing is recorded, and None where
    there is more to decide."""
    context = current()
    if (context is not EVAL and context is not NO_GRAD and context is not QUIET) or not tensors:
        return None
    arrays, edges, is_recorded, dtype = [], [], False, None
    for x in tensors:
        if type(x) not in TENSOR_CLASSES:
            return None
        array, meta = x._fx_value, x._fx_view_meta
        if type(array) is not np.ndarray or not (
            meta is None or (type(meta) is ViewMeta and is_plain_view(x))
        ):
            return None
        if dtype is None:
            dtype = array.dtype
        elif array.dtype is not dtype:
            return None
        arrays.append(array)
        edge = x._fx_node
        if edge is not None and context is EVAL:
            if x._fx_tape is not BASE_TAPE:
                return None
            is_recorded = True
            if edge is LEAF:
                edge = x._fx_accumulator or grad_accumulator(x)
        edges.append(edge)
    return arrays, edges if is_recorded else None


def writable_array(tensor) -> np.ndarray | None:
    """Return the array of a plain Tensor that may be written into with no history to be changed; None where there is
    more to decide."""
    context = plain_context(tensor)
    if context is None or tensor._fx_is_inference_tensor:
        return None
    meta = tensor._fx_view_meta
    if context is EVAL and (
        tensor._fx_node is not None or (meta is not None and meta.base._fx_node is not None)
    ):
        return None
    return tensor._fx_value


def constant_array(tensor) -> np.ndarray | None:
    """Return the array of a plain Tensor that is not differentiated here; None where there is more to decide."""
    context = plain_context(tensor)
    return None if context is None or (context is EVAL and tensor._fx_node is not None) else tensor._fx_value


def copy_directly(source, part: np.ndarray, memory: np.ndarray) -> bool:
    """Copy a plain Tensor into an array, which is part of a memory, where dtype and shape are the same and nothing is
    recorded. Return whether that was done."""
    array = constant_array(source)
    if array is None or array.dtype is not part.dtype or array.shape != part.shape:
        return False
    if not memory.flags.c_contiguous:  # entries could share a place
        return False
    part[...] = array
    VERSIONS.record_change(memory, "copy_", source_info.user_frame(2))
    return True


def make_result(
    value: np.ndarray,
    operation,
    pullback: tuple[Any, ...] | None,
    edges: Sequence[Any] | None,
    depth: int = 2,
) -> Tensor:
    """Make the Tensor of a result, recorded by a node with this (rule, residuals, pull_plain) if there are edges. The
    user's line is at least `depth` calls away."""
    result = allocate_tensor(Tensor)
    result._fx_tape, result._fx_value, result._fx_node, result._fx_view_meta = BASE_TAPE, value, None, None
    if edges is not None and pullback is not None:
        result._fx_node = node = allocate_tensor(Node)
        node.order, node.operation, node.next_edges = next_serial(), operation, tuple(edges)
        node.rule, node.residuals, node.pull_plain = pullback
        frame = getframe(depth)
        while code_kinds[frame.f_code.co_filename] and frame.f_back is not None:  # called from this library
            frame = frame.f_back
        node.code, node.lasti = frame.f_code, frame.f_lasti
    return result
