"""`out=`: the result of an operation written into Tensors that are there already."""

from __future__ import annotations

import inspect
import warnings
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.aval import aval_of
from .._core import duals, inference
from .._core.error_messages import check_result
from .._core.errors import ArgumentError, NotSupportedError, TensorError
from .._core.inplace import assign
from .._core.memory import ensure_separate, is_array
from .._core.modes import current_modes
from .._core.tape import current_tape
from .._core.tensor import Tensor, make

if TYPE_CHECKING:
    from collections.abc import Sequence


def write_out(operation: Any, y: Any, node: Any, out: Any, operands: Sequence[Any]) -> Any:
    """Write the result of these operands, or each of several, into `out`, which is returned."""
    if operation.results is None:
        put_out(operation.name, y, node, out, operands)
        return out
    if not isinstance(out, list | tuple) or len(out) != len(y):
        raise ArgumentError(
            f"{operation.name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}",
            hint=f"there are {len(y)} results",
        )
    for target, value in zip(out, y):
        put_out(operation.name, value, node, target, operands)
    return out if operation.results in (tuple, list) else operation.results(*out)


def with_out(function: Any) -> Any:
    """Have a function on Tensors, which is no single operation, take `out=`."""

    @wraps(function)
    def called(*args: Any, out: Any = None, **options: Any) -> Any:
        result = function(*args, **options)
        if out is None:
            return result
        put_out(function.__name__, result.value, result.node, out, (result,))
        return out

    given = list(inspect.signature(function).parameters.values())
    place = len(given) - (bool(given) and given[-1].kind is inspect.Parameter.VAR_KEYWORD)
    given.insert(place, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    called.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    return called


def put_out(name: str, value: Any, node: Any, out: Any, operands: Sequence[Any] = ()) -> None:
    """Write one result of the function of that name."""
    if not isinstance(out, Tensor):
        raise ArgumentError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if current_modes().grad and (node is not None or out.requires_grad):
        raise TensorError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad.",
            hint="with torch.no_grad(): …, or out.copy_(…)",
        )
    inference.ensure_writable(out)
    if current_modes().forward and any(isinstance(x, Tensor) and duals.cell_of(x) for x in (out, *operands)):
        raise NotSupportedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function",
            hint="out.copy_(…), which carries tangents",
        )
    result = make(current_tape(), value)
    check_result(name, aval_of(out.value).dtype, aval_of(result.value).dtype)
    if out.value.shape != result.value.shape:
        if out.value.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.value.shape)}, which "
                f"does not match the required output shape {list(result.value.shape)}. This behavior is deprecated, "
                "and in a future PyTorch release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=5,
            )
        out.value = np.empty(result.value.shape, out.value.dtype)
    if is_array(out.value):
        ensure_separate(out.value)
    assign(out, result, name)
