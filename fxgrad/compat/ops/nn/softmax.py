"""Softmax and related functions. Their derivatives are computed from the results, so nothing is computed twice. Signs
are changed in sums, which are small, and not in the summands.
"""

from __future__ import annotations

from typing import Any

from ....extend import aval_of, ops
from ..._core.dtypes import as_numpy_dtype, short_name
from ..._declare.entry import without_out
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import NotSupportedError
from ..arguments import normalize_dim
from ..declarers import kind


def convert_if_given(x, dtype) -> Any:
    """Convert x to a dtype, if one is given."""
    return x if dtype is None else ops.convert(x, dtype=as_numpy_dtype(dtype))


def keepdim_sum(x, axis: int) -> Any:
    """The sum along an axis, which stays with length one."""
    return ops.restore_axes(ops.reduce_sum(x, axes=(axis,)), x.shape, (axis,))


def subtract_max(x, axis: int) -> Any:
    """Subtract the maximum along an axis, which changes no softmax."""
    if not aval_of(x).shape[axis]:
        return x
    return x - ops.restore_axes(ops.reduce_max(ops.stop_gradient(x), axes=(axis,)), x.shape, (axis,))


def softmax_axis(x, dim: int | None) -> int:
    """The axis of a dimension; by default the one that torch took formerly."""
    rank = aval_of(x).ndim
    if dim is None:
        return 0 if rank in (0, 1, 3) else 1
    return normalize_dim(dim, rank)


def ensure_floating(name: str, x, axis: int) -> None:
    """Raise for whole numbers, truth values and complex numbers."""
    if kind(x) != "f":
        kernel = (
            f"{name}_lastdim_kernel_impl" if axis == max(aval_of(x).ndim, 1) - 1 else f"{name}_kernel_impl"
        )
        raise NotSupportedError(
            f"\"{kernel}\" not implemented for '{short_name(aval_of(x).dtype)}'", hint="dtype=torch.float32"
        )


def softmax_tangent(y, primals, tangents, params: dict) -> Any:
    if not aval_of(y).ndim:
        return tangents[0] * 0
    t, axis = y * convert_if_given(tangents[0], params.get("dtype")), softmax_axis(y, params["dim"])
    return t + y * ops.negative(keepdim_sum(t, axis))


@operation("input", spaces="function method", tangent=softmax_tangent)
def softmax(input, dim: int, dtype=None) -> Any:
    """The softmax: eˣ divided by its sum along a dimension.

    >>> torch.softmax(torch.zeros(2), 0).tolist()
    [0.5, 0.5]
    """
    x, axis = convert_if_given(input, dtype), softmax_axis(input, dim)
    ensure_floating("softmax", x, axis)
    if not aval_of(x).ndim:
        return x * 0 + 1
    e = ops.exp(subtract_max(x, axis))
    return e / keepdim_sum(e, axis)


def log_softmax_tangent(y, primals, tangents, params: dict) -> Any:
    if not aval_of(y).ndim:
        return tangents[0] * 0
    t = convert_if_given(tangents[0], params.get("dtype"))
    return t + ops.negative(keepdim_sum(ops.exp(y) * t, softmax_axis(y, params["dim"])))


@operation("input", spaces="function method", tangent=log_softmax_tangent)
def log_softmax(input, dim: int, dtype=None) -> Any:
    """The logarithm of softmax, without overflow."""
    x, axis = convert_if_given(input, dtype), softmax_axis(input, dim)
    ensure_floating("log_softmax", x, axis)
    if not aval_of(x).ndim:
        return x * 0
    x = subtract_max(x, axis)
    return x - ops.log(keepdim_sum(ops.exp(x), axis))


for function in (softmax, log_softmax):
    expose("special")(without_out(function, "special"))


@expose("nn.functional", "softmax")
def functional_softmax(input, dim: int | None = None, _stacklevel: int = 3, dtype=None) -> Any:
    """eˣ divided by its sum along a dimension."""
    return softmax(input, softmax_axis(input, dim), dtype)


@expose("nn.functional", "log_softmax")
def functional_log_softmax(input, dim: int | None = None, _stacklevel: int = 3, dtype=None) -> Any:
    """The logarithm of softmax, without overflow."""
    return log_softmax(input, softmax_axis(input, dim), dtype)


@expose("nn.functional")
def softmin(input, dim: int | None = None, _stacklevel: int = 3, dtype=None) -> Any:
    """The softmax(−x)."""
    return softmax(-input, softmax_axis(input, dim), dtype)
