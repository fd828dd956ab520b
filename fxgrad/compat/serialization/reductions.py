"""Reductions of torch's objects to parts, from which torch and this library rebuild them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from .._core.bits import CONJ, NEG, has_bit
from .._core.dtypes import LATE_UNSIGNED
from .._core.dtypes import dtype as torch_dtype
from .._core.meta import is_meta
from .._core.sparse_tensor import SparseTensor
from .._core.storage import TypedStorage, UntypedStorage
from .._core.tensor import Size, Tensor, warn_if_has_hooks
from .._make.attributes import MemoryLayout
from .._make.devices import device
from .._make.generators import Generator
from .._read.python_protocols import user_attributes
from ..nn.parameter import Buffer, Parameter
from ..sparse.construction import SparseLayout
from .sparse_tensors import reduce_sparse
from .storages import STORAGE_TYPES, SavedStorage, SavedStorages, StorageType


class Name(NamedTuple):
    """A name of torch's that stands in a file by itself."""

    module: str
    name: str


REBUILD_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
REBUILD_BYTES = Name("torch._utils", "_rebuild_tensor_v3")
REBUILD_SPARSE = Name("torch._utils", "_rebuild_sparse_tensor")
REBUILD_META = Name("torch._utils", "_rebuild_meta_tensor_no_storage")
REBUILD_PARAMETER = Name("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = Name("torch._utils", "_rebuild_parameter_with_state")
REBUILD_FROM_TYPE = Name("torch._tensor", "_rebuild_from_type_v2")


def storage_id(thing: object, storages: SavedStorages, is_legacy: bool) -> tuple[Any, ...] | None:
    """Return the entry of a file for a storage, or None for any other object."""
    if isinstance(thing, UntypedStorage):
        saved = storages.of(thing)
        kind = saved.type if isinstance(thing, TypedStorage) else STORAGE_TYPES["UntypedStorage"]
    elif isinstance(thing, SavedStorage):
        saved, kind = thing, thing.type
    else:
        return None
    found = ("storage", reduce_storage_type(kind), saved.key, saved.location, saved.size)
    return (*found, None) if is_legacy else found


def reduce_storage_type(kind: StorageType) -> Name:
    """Return the name of a type of storages."""
    return Name("torch.storage" if kind._fx_is_untyped else "torch", kind._fx_name)


def reduce_tensor_data(tensor: Tensor, storages: SavedStorages, requires_grad: bool) -> tuple[Any, tuple]:
    """Take a Tensor to pieces without its class and attributes: its storage, its place there, its bits."""
    if is_meta(tensor._fx_value):
        return REBUILD_META, (tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), requires_grad)
    saved, offset, stride = storages.of_tensor(tensor)
    args: tuple[Any, ...] = (saved, offset, tuple(tensor.shape), stride, requires_grad, OrderedDict())
    rebuild = REBUILD_TENSOR
    if saved.type._fx_is_untyped or tensor.dtype.name in LATE_UNSIGNED:
        rebuild, args = REBUILD_BYTES, (*args, tensor.dtype)
    bits = {name: True for name, bit in (("conj", CONJ), ("neg", NEG)) if has_bit(tensor, bit)}
    return rebuild, (*args, bits) if bits else args


def reduce_tensor(tensor: Tensor, storages: SavedStorages) -> tuple[Any, tuple]:
    """Reduce a Tensor: its memory, whether it requires a gradient, class and attributes. Its history and hooks are not
    saved."""
    warn_if_has_hooks(tensor)
    found = reduce_tensor_data(tensor, storages, tensor.requires_grad)
    state, cls = user_attributes(tensor), type(tensor)
    if cls is Buffer:
        state, cls = {"persistent": tensor.persistent, "_is_buffer": True}, Tensor
    if not state and cls is Tensor:
        return found
    return REBUILD_FROM_TYPE, (found[0], cls, found[1], state)


def reduce_parameter(parameter: Parameter, storages: SavedStorages) -> tuple[Any, tuple]:
    """Reduce a Parameter: a Tensor on its memory, whether it requires a gradient, the user's attributes."""
    warn_if_has_hooks(parameter)
    data = (parameter.data, parameter.requires_grad, OrderedDict())
    state = user_attributes(parameter)
    return (REBUILD_PARAMETER_WITH_STATE, (*data, state)) if state else (REBUILD_PARAMETER, data)


def reduce_subclass(thing: object, storages: SavedStorages) -> Any:
    """Reduce a Tensor of a user's class; None for any other object, and if the class defines its own reduction."""
    if not isinstance(thing, Tensor) or type(thing).__reduce_ex__ is not Tensor.__reduce_ex__:
        return None
    return reduce_tensor(thing, storages)


def reduce_generator(generator: Generator, storages: SavedStorages) -> tuple[Any, tuple, tuple]:
    """Take a Generator to pieces: its device, its seed and state."""
    state = (generator.initial_seed(), None, generator.get_state())
    return Name("torch._C", "Generator"), (generator.device,), state


def reduce_layout(layout: MemoryLayout, storages: SavedStorages) -> tuple[Any, tuple]:
    """Take a layout to pieces: its name."""
    return Name("torch.serialization", "_get_layout"), (str(layout),)


# By class: function(object, storages) → the pieces, as `__reduce_ex__` returns them; or the name itself.
REDUCTIONS: dict[type, Any] = {
    Tensor: reduce_tensor,
    Buffer: reduce_tensor,
    Parameter: reduce_parameter,
    Size: lambda size, storages: (Name("torch", "Size"), (tuple(size),)),
    torch_dtype: lambda dtype, storages: Name("torch", dtype.name),
    device: lambda place, storages: (
        Name("torch", "device"),
        (place.type,) if place.index is None else (place.type, place.index),
    ),
    MemoryLayout: reduce_layout,
    SparseLayout: reduce_layout,
    SparseTensor: lambda tensor, storages: (REBUILD_SPARSE, reduce_sparse(tensor, storages)),
    Generator: reduce_generator,
    StorageType: lambda kind, storages: reduce_storage_type(kind),
}
