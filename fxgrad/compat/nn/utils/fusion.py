"""Fusion of layers with the BatchNorm after them, for inference."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ..._core.tensor import Tensor
from ..._declare.packages import complete_module
from ..._make.creation import ones_like, zeros_like
from ...errors import RequirementError
from ..modules.module import Module
from ..parameter import Parameter


def fold_statistics(
    weight: Any, bias: Any, mean: Any, var: Any, eps: float, scale: Any, shift: Any, dim: int
) -> tuple[Parameter, Parameter]:
    """Fold the normalization of a layer's outputs into the layer: return its new (weight, bias); `dim` is the outputs'
    dimension of the weight."""
    bias = zeros_like(mean) if bias is None else bias
    scale = ones_like(mean) if scale is None else scale
    shift = zeros_like(mean) if shift is None else shift
    factor = scale * (var + eps).rsqrt()
    shape = [1] * weight.dim()
    shape[dim] = -1
    return (
        Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad),
        Parameter(((bias - mean) * factor + shift).to(bias.dtype), bias.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The pair (weight, bias) of a convolution with the BatchNorm after it in it; `transpose`: of a transposed one.

    Returns:
        A tuple of two parameters.

    >>> one, zero = torch.ones(1), torch.zeros(1)
    >>> w, b = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1), None, zero, 4 * one, 0.0, one, zero)
    >>> w.view(-1).detach()
    tensor([0.5000])
    """
    return fold_statistics(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The pair (weight, bias) of a linear layer with the BatchNorm after it in it.

    Returns:
        A tuple of two parameters.

    >>> one, zero = torch.ones(1), torch.zeros(1)
    >>> w, b = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 1), None, zero, 4 * one, 0.0, one, zero)
    >>> w.view(-1).detach()
    tensor([0.5000])
    """
    return fold_statistics(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """A convolution that computes what `bn(conv(x))` is in evaluation.

    Args:
        transpose: whether the convolution is a transposed one.

    Raises:
        AssertionError: one of them is in training.

    >>> conv, norm = torch.nn.Conv1d(1, 2, 1).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> fused, x = torch.nn.utils.fuse_conv_bn_eval(conv, norm), torch.randn(1, 1, 4)
    >>> bool(torch.dist(fused(x), norm(conv(x))) < 1e-5)
    True
    """
    check_evaluation(conv, bn)
    fused = deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """A linear layer that computes what `bn(linear(x))` is in evaluation.

    Raises:
        AssertionError: one of them is in training; their sizes differ.

    >>> layer, norm = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval()
    >>> x = torch.ones(1, 2)
    >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(layer, norm)(x), norm(layer(x)))
    True
    """
    check_evaluation(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise RequirementError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}",
            hint=f"torch.nn.BatchNorm1d({linear.out_features})",
        )
    fused = deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def check_evaluation(layer: Module, bn: Module) -> None:
    """Raise for layers in training."""
    if layer.training or bn.training:
        raise RequirementError("Fusion only for eval!", hint="layer.eval(), bn.eval()")
    if bn.running_mean is None or bn.running_var is None:
        raise RequirementError(
            "Expected batch norm running_mean and running_var to be set, got None",
            hint="track_running_stats=True for the batch norm",
        )


complete_module(globals(), "nn.utils.fusion")
