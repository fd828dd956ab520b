"""Clipping of gradients by norm or by value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from ..._core.tensor import Tensor
from ..._declare.packages import complete_module
from ..._make.creation import tensor
from ...autograd.grad_mode import no_grad
from ...errors import TensorError
from ...ops.joining import stack
from ...ops.linalg import linalg_vector_norm


def gradients_of(parameters) -> list[Tensor]:
    """The gradients of the parameters that have one."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None
) -> Tensor:
    """The norm of all entries of all Tensors.

    Args:
        tensors: a Tensor, or several.

    Raises:
        TensorError: it is not finite, where `error_if_nonfinite`.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return tensor(0.0)
    order = float(norm_type)
    total = linalg_vector_norm(stack([linalg_vector_norm(x, order) for x in tensors]), order)
    if error_if_nonfinite and not total.isfinite():
        raise TensorError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`",
            hint="torch.autograd.set_detect_anomaly(True), under which backward says where NaN comes from",
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm: float, total_norm: Tensor, foreach=None) -> None:
    """Scale the gradients so that their norm is at most `max_norm`, where it is `total_norm` now.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_(x, 1.0, torch.tensor(5.0))
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients_of(parameters):
        gradient.mul_(factor)


def clip_grad_norm(
    parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None
) -> Tensor:
    """The older name of `clip_grad_norm_`.

    Returns:
        A Tensor without dimensions: the norm that they had.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm(x, 1.0)
    tensor(5.)
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_norm_(
    parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None
) -> Tensor:
    """Scale the gradients so that the norm of all their entries is at most `max_norm`; returns what it was.

    Raises:
        TensorError: it is not finite, where `error_if_nonfinite`.

    >>> w = torch.zeros(2, requires_grad=True)
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(gradients_of(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach=None) -> None:
    """Limit the entries of the gradients to [-clip_value, clip_value].

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, -4.0])
    >>> torch.nn.utils.clip_grad_value_(x, 1.0)
    >>> x.grad
    tensor([ 1., -1.])
    """
    for gradient in gradients_of(parameters):
        gradient.clamp_(-float(clip_value), float(clip_value))


complete_module(globals(), "nn.utils.clip_grad")
