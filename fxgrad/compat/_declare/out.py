"""Support for `out=`: the result of an operation is written into Tensors that exist already."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import wraps
from inspect import Parameter
from typing import Any

import numpy as np

from ...extend import aval_of, source_info
from .._core import duals, inference
from .._core.error_messages import check_result_dtype
from .._core.inplace import assign
from .._core.memory import ensure_no_overlap, is_array
from .._core.modes import current_modes
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from ..errors import ArgumentError, NotSupportedError, TensorError, argument_error
from .signatures import OUT, DerivedSignature


def write_out(operation, y, node, out, operands: Sequence[Any]) -> Any:
    """Write the result of these operands, or each of several, into `out`, which is returned."""
    operands = operation.arrange(operands)[1]
    if operation.results is None:
        write_out_result(operation.name, y, node, out, operands)
        return out
    ensure_targets(operation.name, out, len(y))
    for target, value in zip(out, y):
        write_out_result(operation.name, value, node, target, operands)
    return out if operation.results in (tuple, list) else operation.results(*out)


def ensure_targets(name: str, out, count: int) -> None:
    """Raise unless `out` is a sequence of as many Tensors as there are results."""
    if not isinstance(out, list | tuple) or len(out) != count:
        raise ArgumentError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}",
            hint=f"there are {count} results",
        )


def with_out(function) -> Any:
    """Make a function on Tensors that is no single operation take `out=`."""

    @wraps(function)
    def call_with_out(*args, out=None, **options) -> Any:
        result = function(*args, **options)
        if out is None:
            return result
        if isinstance(result, tuple):
            ensure_targets(function.__name__, out, len(result))
            for target, part in zip(out, result):
                write_out_result(function.__name__, part._fx_value, part._fx_node, target, (part,))
            return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
        write_out_result(function.__name__, result._fx_value, result._fx_node, out, (result,))
        return out

    call_with_out.__signature__ = DerivedSignature(function, add_out)  # type: ignore[attr-defined]
    return call_with_out


def add_out(given: list[Parameter]) -> list[Parameter]:
    """Add `out` to parameters, before those of any name."""
    place = len(given) - (bool(given) and given[-1].kind is Parameter.VAR_KEYWORD)
    return [*given[:place], OUT, *given[place:]]


def write_out_result(name: str, value, node, out, operands: Sequence[Any] = ()) -> None:
    """Write one result of the named function into `out`."""
    if not isinstance(out, Tensor):
        raise argument_error(
            name, "out", None, "Tensor", out, "out=torch.empty(0), which is resized to the result"
        )
    if current_modes().grad and (node is not None or out.requires_grad):
        raise TensorError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad.",
            hint="with torch.no_grad(): …, or out.copy_(…)",
        )
    inference.ensure_writable(out)
    if current_modes().forward and any(
        isinstance(x, Tensor) and duals.tangent_cell(x) for x in (out, *operands)
    ):
        raise NotSupportedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function",
            hint="out.copy_(…), which carries tangents",
        )
    result = make_tensor(current_tape(), value)
    check_result_dtype(name, aval_of(out._fx_value).dtype, aval_of(result._fx_value).dtype)
    shape, wanted = out._fx_value.shape, result._fx_value.shape
    if shape != wanted:
        if out._fx_value.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(shape)}, which "
                f"does not match the required output shape {list(wanted)}. This behavior is deprecated, "
                "and in a future PyTorch release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=source_info.user_stacklevel(),
            )
        out._fx_value = np.empty(wanted, out._fx_value.dtype)
    if is_array(out._fx_value):
        ensure_no_overlap(out._fx_value)
    assign(out, result, name)
