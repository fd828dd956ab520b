"""`Variable` and `variable`, which are deprecated: Tensors have replaced them."""

from __future__ import annotations

import warnings
from typing import Any

from .._core.backward.queued import ExecutionEngine
from .._core.error_messages import tensor_hint
from .._core.tensor import Tensor
from .._make.creation import tensor
from ..errors import ArgumentError


class VariableMeta(type):
    """Every Tensor is a Variable."""

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """Deprecated: `Variable(t, requires_grad=True)` is `t.detach().requires_grad_()`.

    Args:
        data: a Tensor; None: one without entries.
        requires_grad: whether operations on it are recorded.
        volatile: of former versions of torch, without effect.

    Raises:
        TypeError: the data is no Tensor.

    >>> v = torch.autograd.Variable(torch.tensor([1.0]), requires_grad=True)
    >>> v, isinstance(torch.tensor(1), torch.autograd.Variable)
    (tensor([1.], requires_grad=True), True)
    """

    _execution_engine = ExecutionEngine()

    def __new__(cls, data=None, requires_grad: bool = False, volatile=None) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        if data is None:
            data = tensor([])
        if not isinstance(data, Tensor):
            raise ArgumentError(
                f"Variable data has to be a tensor, but got {type(data).__name__}", hint=tensor_hint(data)
            )
        return data.detach().requires_grad_(requires_grad)


def variable(*args, **kwargs) -> Tensor:
    """Deprecated: `torch.tensor`.

    Args:
        args: those of `torch.tensor`.
        kwargs: those of `torch.tensor`.

    Returns:
        A Tensor.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.autograd.variable([1.0])
    tensor([1.])
    """
    warnings.warn(
        "torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead", UserWarning, stacklevel=2
    )
    return tensor(*args, **kwargs)
