"""Parameters and buffers: Tensors that a Module takes note of."""

from __future__ import annotations

from typing import Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.bits import has_bit
from .._core.tensor import TENSOR_CLASSES, Tensor, as_subclass, make_tensor, refresh
from .._core.views import mark_inference
from .._make.creation import empty
from .._read.printing import tensor_text
from .._read.python_protocols import copy_leaf


def as_member(data: Tensor | None, cls: type) -> Any:
    """Make a leaf of another class on the memory of a Tensor."""
    source = refresh(empty(0) if data is None else data)
    meta = source.view_meta.without_base() if has_bit(source) else None
    made = as_subclass(make_tensor(source.tape, source.value, meta=meta), cls)
    if source.is_inference_tensor:
        mark_inference(made)
    return made


class Parameter(Tensor):
    """A Tensor that is a Module's parameter as soon as it is one of its attributes. It shares the memory of `data`.

    >>> import fxgrad.compat as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        made = as_member(data, cls)
        if requires_grad:
            made.requires_grad_()
        return made

    def __repr__(self, *, tensor_contents=None) -> str:
        return f"Parameter containing:\n{tensor_text(self)}"

    def __deepcopy__(self, memo: dict) -> Parameter:
        """A copy without the gradient: that belongs to the original."""
        return memo[id(self)] if id(self) in memo else copy_leaf(self, memo)  # type: ignore[return-value]


class Buffer(Tensor):
    """A Tensor that is a Module's buffer as soon as it is one of its attributes; in its `state_dict` if persistent."""

    persistent = True

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        made = as_member(data, cls)
        made.persistent = persistent
        return made


TENSOR_CLASSES.update({Parameter, Buffer})


def create_parameters(module, device, dtype, **sizes) -> None:
    """Register parameters of these sizes by their names, None for those without a size, and draw their entries."""
    for name, size in sizes.items():
        made = None if size is None else Parameter(empty(size, device=device, dtype=dtype))
        module.register_parameter(name, made)
    module.reset_parameters()


__all__ = ["Buffer", "Parameter"]
