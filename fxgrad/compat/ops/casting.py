"""Copies and conversions."""

from __future__ import annotations

from typing import Any

from ...extend import Tracer, aval_of, ops
from .._core import inplace
from .._core.dtypes import as_numpy_dtype
from .._declare.operation import operation


def fresh_copy(value) -> Any:
    """Copy a value into new memory."""
    return value.copy() if hasattr(value, "copy") and not isinstance(value, Tracer) else ops.positive(value)


@operation("input", name="to_copy", node="ToCopyBackward0", spaces="", out=False, entrywise=True)
def to_copy(input, dtype) -> Any:
    """A copy in another dtype."""
    target = as_numpy_dtype(dtype)
    return ops.convert(input, dtype=target) if aval_of(input).dtype != target else fresh_copy(input)


inplace.to_copy = to_copy
