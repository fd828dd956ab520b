"""Parameters and buffers: Tensors that a Module registers."""

from __future__ import annotations

from typing import Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.bits import has_bit
from .._core.overriding import ORDINARY_CLASSES, call_plainly
from .._core.tensor import TENSOR_CLASSES, Tensor, as_subclass, make_tensor, refresh
from .._core.views import mark_inference
from .._make.creation import empty
from .._read.printing import classified_text
from .._read.python_protocols import copy_leaf
from ..errors import TensorError


def as_member(data: Tensor | None, cls: type) -> Any:
    """Make a leaf of another class on the memory of a Tensor."""
    source = refresh(empty(0) if data is None else data)
    meta = source._fx_view_meta.without_base() if has_bit(source) else None
    made = as_subclass(make_tensor(source._fx_tape, source._fx_value, meta=meta), cls)
    if source._fx_is_inference_tensor:
        mark_inference(made)
    return made


class Parameter(Tensor):
    """A Tensor that is a Module's parameter as soon as it is one of its attributes. It shares the memory of `data`.

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
        return f"Parameter containing:\n{classified_text(self)}"

    def __deepcopy__(self, memo: dict) -> Parameter:
        """A copy without the gradient: that belongs to the original."""
        return memo[id(self)] if id(self) in memo else copy_leaf(self, memo)  # type: ignore[return-value]


class Buffer(Tensor):
    """A Tensor that is a Module's buffer as soon as it is one of its attributes; in its `state_dict` if persistent.

    Args:
        data: a Tensor.
        persistent: whether it is in the `state_dict`.

    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.tensor([1.0]))
    >>> list(module.state_dict())
    ['mean']
    """

    persistent = True

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        made = as_member(data, cls)
        made.persistent = persistent
        return made


TENSOR_CLASSES.update({Parameter, Buffer})
ORDINARY_CLASSES.update({Parameter, Buffer})
for _member in (Parameter, Buffer):  # operations on their subclasses give Tensors
    _member._fx_attach(__torch_function__=classmethod(call_plainly), _fx_gives_its_class=False)


class UninitializedTensorMixin:
    """The mixin of parameters and buffers that have no shape yet; `cls_to_become` is their class once they have one.

    >>> issubclass(torch.nn.UninitializedParameter, torch.nn.parameter.UninitializedTensorMixin)
    True
    """

    cls_to_become: type

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Give it a shape, with arbitrary entries.

        Args:
            shape: the shape.
            device, dtype: those it was made with, where none are given.
        """
        tensor: Any = self
        held = tensor.data
        made = empty(shape, device=held.device if device is None else device, dtype=dtype or held.dtype)
        tensor.data = made
        tensor.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """There is no shape as yet: RuntimeError."""
        raise TensorError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes.",
            hint="module(batch), once: the first call gives it a shape; module.load_state_dict(…, assign=True)",
        )

    def share_memory_(self) -> Any:
        """Raise RuntimeError, because the parameter has no memory yet."""
        raise TensorError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`.",
            hint="module(batch), once: the first call gives it a shape",
        )

    def __repr__(self, *, tensor_contents=None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol) -> Any:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict) -> Any:
        tensor: Any = self
        if id(self) not in memo:
            memo[id(self)] = type(self)(tensor.requires_grad, tensor.data.device, tensor.data.dtype)  # type: ignore
        return memo[id(self)]


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet: `materialize` makes it a Parameter.

    Args:
        requires_grad: whether it will require a gradient.
        device, dtype: those that it will have.

    >>> p = torch.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device=None, dtype=None) -> Any:
        return super().__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet: `materialize` makes it a Tensor.

    Args:
        requires_grad: whether it will require a gradient.
        device, dtype: those that it will have.
        persistent: whether it is in the `state_dict` of its module.

    >>> buffer = torch.nn.parameter.UninitializedBuffer()
    >>> buffer.materialize((2, 3))
    >>> buffer.shape
    torch.Size([2, 3])
    """

    cls_to_become = Tensor
    persistent: bool

    def __new__(cls, requires_grad: bool = False, device=None, dtype=None, persistent: bool = True) -> Any:
        made = as_member(empty(0, device=device, dtype=dtype), cls)
        made.persistent = persistent
        return made.requires_grad_() if requires_grad else made


def is_lazy(param: Any) -> bool:
    """Whether this is a parameter or buffer whose shape is not known yet.

    Args:
        param: a Tensor.

    Returns:
        A bool.

    >>> torch.nn.parameter.is_lazy(torch.nn.UninitializedParameter())
    True
    """
    return isinstance(param, UninitializedTensorMixin)


def create_parameters(module, device, dtype, **sizes) -> None:
    """Register parameters of the given sizes by name, None where the size is None, and draw their entries."""
    register_parameters(module, device, dtype, **sizes)
    module.reset_parameters()


def register_parameters(module, device, dtype, **sizes) -> None:
    """Register parameters of the given sizes by name, None where the size is None."""
    for name, size in sizes.items():
        made = None if size is None else Parameter(empty(size, device=device, dtype=dtype))
        module.register_parameter(name, made)


__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]
