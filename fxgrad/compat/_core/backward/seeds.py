"""The cotangents that start backward: the gradients that the user gives for outputs, or 1."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ....extend import CPU, Aval, aval_of, device_of, devices, kind_of, ops
from ...errors import ArgumentError, ArgumentValueError, TensorError
from ..dtypes import from_numpy_dtype
from ..duals import map_cotangent
from ..tape import BASE_TAPE, Node
from ..tensor import Size, Tensor
from .accumulation import to_cotangent


def ensure_gradient(gradient) -> None:
    """Raise for a gradient of an output that is not a Tensor."""
    if not isinstance(gradient, Tensor):
        raise ArgumentError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}",
            hint="torch.from_numpy(…), torch.tensor(…)",
        )


def implicit_cotangent(aval: Aval, value: Any = None, is_grads_batched: bool = False) -> Any:
    """The cotangent 1 of an output for which none was given, on the device of its value, where that is known."""
    if is_grads_batched:
        raise ArgumentValueError(
            "is_grads_batched=True: every output needs a grad_output with a batch axis in front",
            hint="grad_outputs=torch.eye(n) of an output with n entries: a row for each derivative",
        )
    if aval.size != 1:
        raise TensorError(
            "grad can be implicitly created only for scalar outputs",
            hint="reduce it (.sum(), .mean()), or give the gradient: y.backward(torch.ones_like(y))",
        )
    if kind_of(aval.dtype) != "f":
        raise TensorError(
            f"grad can be implicitly created only for real scalar outputs but got {from_numpy_dtype(aval.dtype)}",
            hint="y.abs().backward(), or another real number; or a gradient: y.backward(torch.ones_like(y))",
        )
    return devices.put_array(np.ones(aval.shape, aval.dtype), device_of(value) or CPU)


@cache
def one(dtype) -> np.ndarray:
    """The number 1; to be copied, which takes a quarter of the time of making it."""
    return np.ones((), dtype)


def scalar_seeds(output: Tensor) -> list[tuple[Any, Any]] | None:
    """The seeds of backward from one real number outside all transforms, which is what most losses are. None where
    there is more to decide."""
    value, node = output._fx_value, output._fx_node
    if type(value) is not np.ndarray or value.shape or value.dtype.kind != "f" or type(node) is not Node:
        return None
    return (
        [(node, one(value.dtype).copy())]
        if output._fx_view_meta is None and output._fx_tape is BASE_TAPE
        else None
    )


def output_cotangent(
    position: int, aval: Aval, gradient: Tensor, create_graph: bool, is_grads_batched: bool = False
) -> Any:
    """Convert a given gradient to the cotangent of an output, whose shape it must have."""
    ct = to_cotangent(gradient, create_graph)
    have = aval_of(ct)
    shape = have.shape[1:] if is_grads_batched else have.shape
    if shape != aval.shape:
        shapes = (
            f"grad_output[{position}] has a shape of {Size(shape)} and output[{position}] has a shape of "
            f"{Size(aval.shape)}."
        )
        if not is_grads_batched:
            raise TensorError(
                f"Mismatch in shape: {shapes}",
                hint="torch.ones_like(output), or another Tensor of its shape",
            )
        raise TensorError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: {shapes} If you only want some tensors in `grad_output` to be considered batched, "
            "consider using vmap.",
            hint=f"a batch axis in front of the shape of the output: (n, {', '.join(map(str, aval.shape))})",
        )
    return map_cotangent(ct, lambda c: cast_to_output(c, aval.dtype, position))


def cast_to_output(ct, dtype, position: int) -> Any:
    """Convert a cotangent to the dtype of the output at a position. A complex cotangent, or that of a complex output,
    must have this dtype already: a real part is no cotangent of the whole."""
    have = aval_of(ct).dtype
    if have == dtype:
        return ct
    if "c" in (kind_of(have), kind_of(dtype)):
        raise TensorError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {from_numpy_dtype(have)} and output[{position}] has a dtype of "
            f"{from_numpy_dtype(dtype)}.",
            hint=f"grad_output.to({from_numpy_dtype(dtype)})",
        )
    return ops.convert(ct, dtype=dtype)
