"""Operations on memory: copies, writes into a Tensor, strides and storage."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...extend import SCALARS, aval_of, kind_of, ops, source_info, use_device_of
from .._core import inference, strides, views
from .._core.bits import memory_array
from .._core.dtypes import cast_number
from .._core.dtypes import dtype as torch_dtype
from .._core.error_messages import not_a_tensor_error
from .._core.inplace import assign, ensure_modifiable, fill_number
from .._core.layout import (
    FORMATS,
    batch_levels,
    contiguous_format,
    contiguous_strides,
    element_strides,
    is_contiguous_in,
    layout_array,
    memory_format,
    preserve_format,
)
from .._core.memory import (
    VERSIONS,
    array_library,
    is_array,
    is_same_view,
    memory_address,
    memory_owner,
    restride,
    strided_view,
)
from .._core.modes import current_modes
from .._core.storage import TypedStorage, UntypedStorage, tensor_memory
from .._core.tape import LEAF
from .._core.tensor import Tensor, refresh
from .._core.views import replace_memory
from .._declare.composite import Composite
from .._declare.gate import writable_array
from .._declare.operation import operation
from .._declare.plain import copy_directly
from .._declare.rearrangement import Rearrangement
from .._declare.spaces import expose
from .._make.devices import META, device_of, move_array, to_device
from ..errors import ArgumentError, NotSupportedError, TensorError
from .arguments import add_variadic_method, as_sizes, normalize_dim
from .slicing import entry_offset


# -- copies ------------------------------------------
def format_order(ndim: int, format: memory_format) -> tuple[int, ...]:
    """The dimensions by decreasing stride in a memory format."""
    order = format.order
    if order is not None and len(order) != ndim:
        raise TensorError(
            f"required rank {len(order)} tensor to use {format.name} format",
            hint="memory_format=torch.contiguous_format"
            if ndim not in (4, 5)
            else f"memory_format=torch.channels_last{'_3d' * (ndim == 5)}",
        )
    return order or ()


@operation("input", out=False, composite=Rearrangement)
def clone(input, *, memory_format=None) -> Any:
    """A copy that has the same history; in the order of the operand in memory, unless a format is given."""
    if memory_format is None or memory_format is preserve_format:
        return strides.clone, (input,), {"order": None}
    return strides.clone, (input,), {"order": format_order(input.ndim, memory_format)}


@expose("method")
def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """The Tensor itself if its entries lie one after the other in memory, or a contiguous copy."""
    ensure_known_format(self, memory_format)
    if memory_format is preserve_format:
        raise TensorError(
            "preserve memory format is unsupported by the contiguous operator",
            hint="contiguous(); clone() keeps the order of the dimensions",
        )
    here = layout_array(self)
    order = format_order(here.ndim, memory_format)
    return self if is_contiguous_in(here, order or None) else clone(self, memory_format=memory_format)


def ensure_known_format(tensor: Tensor, memory_format: memory_format) -> None:
    """Raise if a Tensor is an entry of a batch whose memory format is not known."""
    if memory_format is not contiguous_format and batch_levels(tensor._fx_value):
        raise TensorError(
            "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format",
            hint="clone(memory_format=…)",
        )


# -- what is written into a Tensor ------------------------------------------
def fit_value(src, shape, dtype) -> Any:
    """Broadcast a value to a shape, and convert it to a dtype."""
    if aval_of(src).dtype != dtype:
        src = ops.convert(
            ops.real(src) if kind_of(src.dtype) == "c" and kind_of(dtype) != "c" else src, dtype=dtype
        )
    return src if src.shape == shape else ops.broadcast_to(src, shape=shape)


class Transfer(Composite):
    """An operation whose result is written into other memory at once, and so may be its operand, or a view of it."""

    in_single = False

    shares = True


copy_values = operation(
    "src", spaces="", name="copy", node="torch::autograd::CopyBackwards", out=False, composite=Transfer
)(fit_value)
fill_values = operation("src", spaces="", name="fill", out=False, composite=Transfer)(fit_value)


@expose("method")
def copy_(self: Tensor, other, non_blocking: bool = False) -> Tensor:
    """Write another Tensor, broadcast and converted, or a number into this one.

    >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    if type(other) in SCALARS:
        return fill_(self, other)
    if not isinstance(other, Tensor):
        raise not_a_tensor_error("copy_", "other", 1, other)
    memory = writable_array(self)
    if memory is not None and copy_directly(other, memory, memory):
        return self
    ensure_modifiable(self, (other,))
    here, there = device_of(other._fx_value), device_of(self._fx_value)
    if here != there and META not in (here, there):
        other = to_device(other, there)
    shape = tuple(self.shape)
    check_broadcast(tuple(other.shape), shape)
    assign(self, copy_values(other, shape, self.dtype.numpy), "copy_", overwrites=True)
    return self


def check_broadcast(have: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise unless `have` is broadcast to `shape`."""
    for i in range(1, len(have) + 1):
        n, m = have[-i], shape[-i] if i <= len(shape) else 1
        if n not in (1, m):
            raise TensorError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                f"{len(shape) - i}"
                if len(have) <= len(shape)
                else f"output with shape {list(shape)} doesn't match the broadcast shape {list(have)}",
                hint=f"x.copy_(source) has room for {list(shape)}: reshape the source, or x = source.clone()",
            )


@expose("method")
def fill_(input: Tensor, value) -> Tensor:
    """Write a number, or a Tensor without dimensions, into every entry."""
    if not isinstance(value, Tensor):
        fill_number(input, value, "fill_")
        return input
    if value.shape:
        raise TensorError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions.",
            hint="x.copy_(value), which broadcasts",
        )
    ensure_modifiable(input, (value,), overlap=True)
    here = input._fx_value
    assign(input, fill_values(value, tuple(here.shape), here.dtype), "fill_", overwrites=True)
    return input


expose("function")(fill_)


@expose()
def fill(input: Tensor, value) -> Tensor:
    """A Tensor of the same shape and dtype with one number, or a Tensor without dimensions, in every entry."""
    return fill_(clone(input), value)


@operation("input", in_range="fill_value", spaces="", inplace=True, out=False)
def fill_diagonal(input, fill_value, wrap: bool = False) -> Any:
    """The Tensor with a number on its diagonal, which with `wrap` begins again below the end of a tall matrix."""
    shape = aval_of(input).shape
    if len(shape) < 2:
        raise TensorError("dimensions must larger than 1", hint="x.fill_(value)")
    if len(shape) > 2 and len({*shape}) > 1:
        raise TensorError(
            "all dimensions of input must be of equal length",
            hint="torch.diagonal(x, 0, dim1, dim2).fill_(value), of two dimensions",
        )
    mask = np.zeros(shape, bool)
    np.fill_diagonal(mask, True, wrap)
    return ops.where(mask, cast_number(fill_value, aval_of(input).dtype), input)


@expose("function method")
def zero_(input: Tensor) -> Tensor:
    """Write zeros."""
    fill_number(input, 0, "zero_")
    return input


def resize_(self: Tensor, size, *, memory_format: memory_format = contiguous_format) -> Tensor:
    """Change the shape, with the same memory as far as it suffices; new entries are undefined (here zero)."""
    inference.ensure_writable(self)
    if self.requires_grad and not current_modes().inference:
        raise TensorError(
            "cannot resize variables that require grad",
            hint="x.detach().resize_(size), or x.reshape(size), which has a gradient",
        )
    shape, here = as_sizes(size), memory_array(refresh(self))
    if not is_array(here):
        raise TensorError("resize_: a traced Tensor has no memory", hint="use reshape or narrow")
    if shape == here.shape:
        return self
    owner, item = memory_owner(here), here.itemsize
    start = memory_address(here) - memory_address(owner) if here.size else 0
    if start + prod(shape) * item > owner.nbytes:
        with use_device_of([here], "resize_"):
            memory = array_library(here).zeros(start // item + prod(shape), here.dtype)
            memory.view(np.uint8)[: owner.nbytes] = strided_view(
                owner, (owner.nbytes,), (1,), 0, np.dtype(np.uint8)
            )
            here = memory[start // item :]
    steps = contiguous_strides(shape, memory_format.order)
    replace_memory(self, restride(here, shape, [s * item for s in steps]))
    VERSIONS.record_change(memory_array(self), "resize_", source_info.user_frame())
    return self


add_variadic_method(resize_)


@expose("method")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format=None) -> Tensor:
    """`resize_` to the shape of another Tensor."""
    return resize_(input, tuple(the_template.shape), memory_format=memory_format or contiguous_format)


@expose("method")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The new value of a parameter when `Module.load_state_dict` loads another's entries: a copy into its own memory,
    or with `assign` the other itself."""
    return other.detach() if assign else self.copy_(other).detach()


@expose("method")
def set_(self: Tensor, source=None, storage_offset: int = 0, size=None, stride=None) -> Tensor:
    """Take the memory, shape and strides of another Tensor, or the memory of a storage; without an argument, become
    empty. A leaf becomes a new leaf: recorded graphs no longer lead to it.

    Raises:
        RuntimeError: it is a leaf that requires a gradient, outside no_grad; the dtypes differ.
        NotImplementedError: one of the Tensors has a history, outside no_grad, which would be lost.
        TypeError: the source is neither a Tensor nor a storage.
    """
    if current_modes().grad:
        if self._fx_node is LEAF:
            raise TensorError(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                hint="with torch.no_grad(): x.set_(source), or x.data = source",
            )
        if self.requires_grad or (isinstance(source, Tensor) and source.requires_grad):
            raise NotSupportedError("derivative for aten::set_ is not implemented", hint="under no_grad")
    inference.ensure_writable(self)
    made = take_storage(source, self.dtype, storage_offset, size, stride)
    replace_memory(self, move_array(made, device_of(self._fx_value)) if source is None else made)
    self._fx_accumulator = None
    VERSIONS.record_change(memory_array(self), "set_", source_info.user_frame())
    return self


def take_storage(source, to: torch_dtype, storage_offset: int, size, stride) -> Any:
    """The array that `set_` takes from a Tensor or a storage."""
    dtype = to.numpy
    if source is None:
        return np.empty(0, dtype)
    if isinstance(source, Tensor):
        if source.dtype is not to:
            raise TensorError(
                f"Could not set tensor of type {source.dtype} to a tensor of type {to}",
                hint=f"source.to({to})",
            )
        here = memory_array(refresh(source))
        owner = memory_owner(here) if size is not None else here
    elif isinstance(source, UntypedStorage):
        here = owner = source.untyped()._fx_entries
    else:
        raise ArgumentError("set_() received an invalid combination of arguments", hint="x.set_(y)")
    if isinstance(source, Tensor) and size is None:
        return here
    shape = as_sizes(size) if size is not None else (owner.nbytes // dtype.itemsize - storage_offset,)
    steps = contiguous_strides(shape) if stride is None else as_sizes(stride)
    item = dtype.itemsize
    if isinstance(source, UntypedStorage):
        flat = owner[: owner.size // item * item].view(dtype)
    elif owner.dtype == dtype:
        flat = strided_view(owner, (owner.nbytes // item,), (item,), 0)
    else:
        flat = owner.view(dtype)
    return restride(flat, shape, [s * item for s in steps], storage_offset * item)


# -- strides and storage ------------------------------------------
@expose("method")
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The distance in memory, in entries, of neighbours along each dimension, or along one."""
    found = element_strides(layout_array(self))
    return found if dim is None else found[normalize_dim(dim, len(found))]


@expose("method")
def storage_offset(self: Tensor) -> int:
    """The place of the first entry in the memory, in entries."""
    return entry_offset(layout_array(self))


@expose("method")
def is_contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the entries lie one after the other in memory."""
    ensure_known_format(self, memory_format)
    return is_contiguous_in(layout_array(self), memory_format.order)


@expose("method")
def data_ptr(self: Tensor) -> int:
    """The address of the first entry; 0 if there are no entries."""
    tensor_memory(self)
    return memory_address(memory_array(self)) if self._fx_value.size else 0


expose("method", "const_data_ptr")(data_ptr)


@expose("method")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory as bytes."""
    return UntypedStorage(tensor_memory(self))


@expose("method")
def storage(self: Tensor) -> TypedStorage:
    """The memory as elements of the Tensor's dtype."""
    return TypedStorage(tensor_memory(self), self.dtype)


@expose("function method")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return input.shape == other.shape


@expose("method")
def is_shared(self: Tensor) -> bool:
    """Whether other processes see the memory: never."""
    return False


@expose("method")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same entries of one memory."""
    same = tensor_memory(self) is tensor_memory(tensor)
    return same and is_same_view(memory_array(self), memory_array(tensor))


@expose("method")
def share_memory_(self: Tensor) -> Tensor:
    """The Tensor itself: memory is shared by all threads."""
    return self


for format in FORMATS:
    expose("function", format.name)(format)
expose("function")(memory_format)
expose("method", "_version")(property(inference.tracked_version))
expose("method", "_is_view")(views.is_view)
expose("method", "_base")(property(lambda self: self._fx_view_meta.base if views.is_view(self) else None))
