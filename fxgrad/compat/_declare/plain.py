"""Operations on plain Tensors (see `gate`) that are computed and recorded directly."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, source_info
from .._core.memory import VERSIONS
from .._core.tape import BASE_TAPE, Node, next_serial
from .._core.tensor import Tensor, allocate_tensor
from .gate import plain_edge

getframe, code_kinds = sys._getframe, source_info.code_kinds


def constant_array(tensor) -> np.ndarray | None:
    """Return the array of a plain Tensor that is not differentiated here; None if there is more to decide."""
    return tensor._fx_value if plain_edge(tensor, CURRENT.get()) is None else None


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
