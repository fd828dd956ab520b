"""Conversion of Tensors to other dtypes, devices and named types."""

from __future__ import annotations

from typing import Any

from ...extend import aval_of
from .._core.dtypes import as_numpy_dtype, dtype_hint, from_name, get_default_dtype, is_dtype, short_name
from .._core.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    is_contiguous_in,
    layout_array,
    preserve_format,
)
from .._core.tensor import Tensor, as_subclass
from .._declare.spaces import expose
from .._make.devices import as_device, device_of, to_device, with_index
from .._make.tensor_types import TENSOR_TYPES, TensorType
from ..errors import ArgumentError, ArgumentValueError
from ..ops.casting import to_copy
from ..ops.slicing import alias


def convert_tensor(tensor: Tensor, dtype=None, target=None, copy: bool = False, order=None) -> Tensor:
    """Convert a Tensor to a dtype of NumPy's (None: any) and a device; return the Tensor itself if it has both."""
    aval = aval_of(tensor._fx_value)
    made = tensor
    if target is not None:
        target = with_index(target)
        if device_of(tensor._fx_value) != target:
            made = to_device(made, target)
    if dtype is not None and aval.dtype != dtype:
        made = to_copy(made, dtype)
    made = to_memory_format(made, order)
    return made.clone() if copy and made is tensor else made


def to_memory_format(tensor: Tensor, order) -> Tensor:
    """Return the Tensor in the given memory format, without a copy if it has that already. What has no format at all is
    contiguous enough for torch."""
    if order is None or order is preserve_format:
        return tensor
    here = layout_array(tensor)
    known = (f for f in (channels_last, channels_last_3d) if is_contiguous_in(here, f.order))
    own = contiguous_format if is_contiguous_in(here) else next(known, contiguous_format)
    return tensor if order is own else tensor.contiguous(memory_format=order)


@expose("method")
def to(
    self: Tensor,
    *args,
    dtype=None,
    device=None,
    other=None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format=None,
) -> Tensor:
    """The Tensor in another dtype and on another device: to(dtype), to(device), to(device, dtype), to(other). It is the
    Tensor itself where nothing changes and `copy` is not set. Differentiable. `non_blocking` changes nothing.

    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    switches = []
    for given in args:
        if isinstance(given, bool):
            switches.append(given)
        elif isinstance(given, Tensor):
            other = given
        elif is_dtype(given):
            if dtype is not None:
                raise ArgumentError(
                    "to() received an invalid combination of arguments", hint="to(device, dtype)"
                )
            dtype = given
        elif given is not None:
            device = given
    copy = switches[1] if len(switches) > 1 else copy  # after non_blocking
    if other is not None:
        dtype, device = other.dtype, device_of(other._fx_value)
    return convert_tensor(
        self,
        None if dtype is None else as_numpy_dtype(dtype),
        None if device is None else as_device(device),
        copy,
        memory_format,
    )


# method → dtype
DTYPE_METHODS = {
    **{name: name for name in ("float", "double", "half", "bfloat16", "cfloat", "cdouble")},
    **{name: name for name in ("long", "int", "short", "bool")},
    "byte": "uint8",
    "char": "int8",
}


def declare_conversion(method: str, name: str) -> None:
    """Declare a method such as `x.float()`."""

    def convert(self: Tensor, memory_format=None) -> Tensor:
        return convert_tensor(self, from_name(name).numpy, order=memory_format)

    convert.__name__ = method
    convert.__doc__ = f"The Tensor in the dtype `torch.{name}`; itself where it has it."
    expose("method")(convert)


for method, name in DTYPE_METHODS.items():
    declare_conversion(method, name)


@expose("method")
def cpu(self: Tensor, memory_format=preserve_format) -> Tensor:
    """The Tensor in NumPy's memory; itself where it is there."""
    return convert_tensor(self, target=as_device("cpu"), order=memory_format)


@expose("method")
def cuda(self: Tensor, device=None, non_blocking: bool = False, memory_format=preserve_format) -> Tensor:
    """The Tensor in the memory of a CUDA device; itself where it is there."""
    return convert_tensor(self, target=as_device("cuda" if device is None else device), order=memory_format)


@expose("method")
def to_dense(self: Tensor, dtype=None, *, masked_grad: bool | None = None) -> Tensor:
    """The Tensor itself, or a copy in the dtype, if one is given: all Tensors are dense, also the gradients that torch
    keeps sparse. `masked_grad` changes nothing."""
    return convert_tensor(self, None if dtype is None else as_numpy_dtype(dtype))


def tensor_type_name(tensor: Tensor) -> str:
    """The name of the Tensor's type: 'torch.FloatTensor'."""
    place = "sparse." if tensor.is_sparse else "cuda." if device_of(tensor._fx_value).type == "cuda" else ""
    return f"torch.{place}{short_name(tensor.dtype)}Tensor"


@expose("method", "type")
def as_type(self: Tensor, dtype=None, non_blocking: bool = False) -> Any:
    """The name of the Tensor's type, such as 'torch.FloatTensor'; with a dtype or type, the Tensor converted to it."""
    if dtype is None:
        return tensor_type_name(self)
    target = None
    if isinstance(dtype, str):
        place, _, name = dtype.removeprefix("torch.").rpartition(".")
        kind = Tensor if name == "Tensor" else TENSOR_TYPES.get(name)
        if kind is None or not dtype.startswith("torch."):
            raise ArgumentValueError(
                f"invalid type: {dtype!r}",
                hint='"torch.FloatTensor", "torch.DoubleTensor", "torch.LongTensor", or a dtype: torch.float32',
            )
        dtype, target = kind, as_device("cuda" if place == "cuda" else "cpu")
    if dtype is Tensor:
        dtype = get_default_dtype()
    if isinstance(dtype, TensorType):
        dtype, target = dtype.dtype, as_device("cuda") if dtype.is_cuda else target
    if not is_dtype(dtype):
        raise ArgumentValueError(
            f"invalid type: {getattr(dtype, '__name__', dtype)!r}", hint=dtype_hint(dtype)
        )
    return convert_tensor(self, as_numpy_dtype(dtype), target)


@expose("method")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The Tensor in the dtype and on the device of another."""
    return to(self, other)


@expose("method", "as_subclass")
def as_instance(self: Tensor, cls: type) -> Tensor:
    """Return the same Tensor as an instance of a subclass of Tensor; its operations return such instances too."""
    return as_subclass(alias(self) if self.is_leaf and self.requires_grad else self, cls)


@expose("method", "_make_subclass")
@staticmethod
def make_instance(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """Make a leaf of a subclass of Tensor on the memory of another Tensor.

    >>> class Point(torch.Tensor):
    ...     pass
    >>> type(torch.Tensor._make_subclass(Point, torch.ones(2)) + 1).__name__
    'Point'
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise ArgumentError(
            f"_make_subclass(): a subclass of Tensor is needed, not {cls!r}",
            hint="class MyTensor(torch.Tensor): …",
        )
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)
