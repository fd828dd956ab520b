"""Linear and bilinear maps."""

from __future__ import annotations

from typing import Any

from ....extend import aval_of, ops
from ..._core.dtypes import short_name
from ..._declare.operation import operation
from ...errors import TensorError


def check_dtypes(what: str, *operands) -> None:
    """Raise unless all operands have one dtype; None is ignored."""
    names = [short_name(aval_of(x).dtype) for x in operands if x is not None]
    for name in names[1:]:
        if name != names[0]:
            raise TensorError(
                f"{what} must have the same dtype, but got {names[0]} and {name}",
                hint="convert one of them: x.to(weight.dtype)",
            )


@operation("input weight bias", spaces="nn.functional", node="AddmmBackward0")
def linear(input, weight, bias=None) -> Any:
    """The linear map input @ weightᵀ + bias.

    >>> torch.nn.functional.linear(torch.ones(2), torch.ones(3, 2), torch.ones(3)).tolist()
    [3.0, 3.0, 3.0]
    """
    a, w = aval_of(input), aval_of(weight)
    check_dtypes("mat1 and mat2", input, weight)
    if not a.ndim or a.shape[-1] != w.shape[-1]:
        rows = a.size // a.shape[-1] if a.ndim and a.shape[-1] else 1
        shapes = f"{rows}x{a.shape[-1] if a.ndim else 1} and {'x'.join(map(str, w.shape[::-1]))}"
        raise TensorError(
            f"mat1 and mat2 shapes cannot be multiplied ({shapes})",
            hint="weight.T"
            if a.ndim and a.shape[-1] == w.shape[0]
            else f"a weight of shape (out_features, {a.shape[-1] if a.ndim else 1})",
        )
    head = ops.LETTERS[: a.ndim - 1]
    own = "Y" * (w.ndim - 1)
    y = ops.contract(input, weight, spec=f"{head}Z,{own}Z->{head}{own}")
    return y if bias is None else y + bias


@operation("input1 input2 weight bias", spaces="function nn.functional", out=False)
def bilinear(input1, input2, weight, bias=None) -> Any:
    """The bilinear map Σᵢⱼ input1ᵢ·weight[k, i, j]·input2ⱼ + bias[k]."""
    left, right, shape = aval_of(input1).shape, aval_of(input2).shape, aval_of(weight).shape
    if left[:-1] != right[:-1]:
        raise TensorError(
            f"bilinear(): input batch dimensions do not match at dim 0: got {left[0]} and {right[0]}",
            hint="input1.expand_as(input2), or input1[:, None] and input2[None]",
        )
    for i, (n, m) in enumerate(((left[-1], shape[1]), (right[-1], shape[2])), 1):
        if n != m:
            raise TensorError(
                f"bilinear(): input{i} size does not match weight size: got {n} but expected {m}",
                hint=f"a weight of shape (out_features, {left[-1]}, {right[-1]})",
            )
    head = ops.LETTERS[: len(left) - 1]
    half = ops.contract(input1, weight, spec=f"{head}X,ZXY->{head}ZY")
    y = ops.contract(half, input2, spec=f"{head}ZY,{head}Y->{head}Z")
    return y if bias is None else y + bias
