"""Conversions of Tensors to Python and to other libraries: numbers, lists, arrays, DLPack, copies and pickles."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from ...extend import concretize
from .._core.bits import CONJ, NEG, has_bit
from .._core.memory import copy_array, is_array, memory_address, memory_owner, strided_view
from .._core.modes import current_modes
from .._core.tape import current_tape
from .._core.tensor import LEAF, TENSOR_CLASSES, Tensor, as_subclass, make_tensor, refresh, warn_if_has_hooks
from .._declare.spaces import expose
from .._make.devices import as_device, device_of, move_array
from ..errors import ArgumentError, TensorError

# Each bit, torch's word for it, and the name of what resolves it.
BITS = ((CONJ, "conjugate", "conj"), (NEG, "negative", "neg"))


# -- Python's ------------------------------------------
@expose("method")
def item(self: Tensor) -> Any:
    """The only element as a Python number.

    Raises:
        RuntimeError: there are none or several; or the Tensor stands for a batch.
    """
    value = concretize(refresh(self)._fx_value, "item()")
    if value.size != 1:
        raise TensorError(
            f"a Tensor with {value.size} elements cannot be converted to Scalar", hint="x.tolist()"
        )
    return value.item()


@expose("method")
def tolist(self: Tensor) -> Any:
    """The entries as nested lists of Python numbers; a number if there are no dimensions."""
    return concretize(refresh(self)._fx_value, "tolist()").tolist()


@expose("method", "__iter__")
def iterate_entries_along_0(self: Tensor) -> Iterator[Tensor]:
    """Iterate over the entries along the first dimension."""
    if not self.shape:
        raise ArgumentError(
            "iteration over a 0-d tensor",
            hint="x.item() is its number; x.reshape(1) has one entry to go through",
        )
    return iter(self.unbind(0))


@expose("method", "__format__")
def format_with_spec(self: Tensor, spec: str) -> str:
    """Format a Tensor without dimensions as the number that it holds; other Tensors take no specification."""
    if not self.shape:
        return item(self).__format__(spec)
    return object.__format__(self, spec)


# -- NumPy's and others' ------------------------------------------
@expose("method")
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The array that the Tensor is; with `force` a copy if there is none on the CPU, or where it has a history.

    Raises:
        RuntimeError: it requires a gradient, outside no_grad; or it has no memory, for it is traced.
        TypeError: it is on another device; or NumPy does not have its dtype.

    >>> x = torch.zeros(2)
    >>> x.numpy()[0] = 1
    >>> x
    tensor([1., 0.])
    """
    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    if current_modes().is_recording and self.requires_grad:
        raise TensorError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            hint="x.numpy(force=True) for an array of its own, whatever x is; with torch.no_grad(): … for many",
        )
    place = device_of(self._fx_value)
    if place.type != "cpu":
        raise ArgumentError(
            f"can't convert {place} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
            "first.",
            hint="x.numpy(force=True), or x.cpu()",
        )
    if self.dtype.name == "bfloat16":
        raise ArgumentError("Got unsupported ScalarType BFloat16", hint="x.float().numpy()")
    for bit, word, name in BITS:
        if has_bit(self, bit):
            raise TensorError(
                f"Can't call numpy() on Tensor that has {word} bit set. Use tensor.resolve_{name}().numpy() instead.",
                hint="x.numpy(force=True)",
            )
    if not is_array(self._fx_value):
        raise TensorError(
            "Cannot access data pointer of Tensor that doesn't have storage",
            hint="inside a transform its values are not known: compute with torch's functions or fxgrad.numpy",
        )
    return self._fx_value


@expose("method", "__array__")
def to_numpy_array(self: Tensor, dtype=None, copy: bool | None = None) -> np.ndarray:
    """The array that NumPy's functions see in place of the Tensor."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else array


@expose("method", "__array_wrap__")
def wrap_array(self: Tensor, array, context=None, return_scalar: bool = False) -> Tensor:
    """Wrap the result of one of NumPy's functions in a Tensor; bool becomes uint8, as in torch."""
    array = np.asarray(array)
    return make_tensor(current_tape(), array.astype(np.uint8) if array.dtype == bool else array)


@expose("method", "__dlpack__")
def to_dlpack(self: Tensor, **options) -> Any:
    """Export the memory by the DLPack protocol.

    Raises:
        BufferError: the Tensor requires a gradient, or it is traced.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    for bit, word, _ in BITS:
        if has_bit(self, bit):
            raise BufferError(f"Can't export tensors with the {word} bit set")
    if not is_array(self._fx_value):
        raise BufferError("Can't export a Tensor that is traced")
    return self._fx_value.__dlpack__(**options)


@expose("method", "__dlpack_device__")
def dlpack_device(self: Tensor) -> tuple[int, int]:
    """The device in the form of the DLPack protocol."""
    return self._fx_value.__dlpack_device__() if is_array(self._fx_value) else (1, 0)


# -- copies ------------------------------------------
def view_in_copy(array: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Return the array that has in the copied `memory` the layout of `array` in its own."""
    return strided_view(
        memory,
        array.shape,
        array.strides,
        memory_address(array) - memory_address(memory_owner(array)),
        array.dtype,
    )


@expose("method", "__deepcopy__")
def deepcopy_tensor(self: Tensor, memo: dict) -> Tensor:
    """Copy a leaf, with its memory and its gradient.

    Raises:
        RuntimeError: it is no leaf.
    """
    if id(self) in memo:
        return memo[id(self)]
    made = copy_leaf(self, memo)
    if self._grad is not None:
        made._grad = deepcopy(self._grad, memo)
    return made


def copy_leaf(self: Tensor, memo: dict) -> Tensor:
    """Copy a leaf with its memory: Tensors that are copied together share memory afterwards as they did before."""
    if not self.is_leaf:
        raise TensorError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see "
            "https://github.com/pytorch/pytorch/pull/103001",
            hint="x.detach().clone() copies the value, copy.deepcopy(module.state_dict()) what a module holds",
        )
    value = refresh(self)._fx_value
    if is_array(value):
        owner = memory_owner(value)
        memory = memo.get(id(owner))
        if memory is None:
            memory = memo[id(owner)] = copy_array(owner, "K")
        value = view_in_copy(value, memory)
    made = memo[id(self)] = as_subclass(
        make_tensor(self._fx_tape, value, LEAF if self.requires_grad else None), type(self)
    )
    for name, attribute in user_attributes(self).items():
        setattr(made, name, deepcopy(attribute, memo))
    return made


# In a Tensor's __dict__, but not the user's: that for which the class has a default.
INTERNAL_ATTRIBUTES = frozenset(
    {name for name, default in vars(Tensor).items() if default is None or isinstance(default, int)}
)


def user_attributes(tensor: Tensor) -> dict[str, Any]:
    """The attributes that the user has set on a Tensor."""
    return {name: value for name, value in tensor.__dict__.items() if name not in INTERNAL_ATTRIBUTES}


def rebuild_tensor(cls: Any, array: np.ndarray, device: str, requires_grad: bool, state: dict) -> Tensor:
    """Rebuild a Tensor from its pickle. Tensor and Parameter, which are in other modules while `compat.install()`
    holds, are given by name; None is Tensor as well."""
    own = {known.__name__: known for known in TENSOR_CLASSES}
    made = as_subclass(
        make_tensor(current_tape(), move_array(array, as_device(device)), LEAF if requires_grad else None),
        own.get(cls, cls) or Tensor,
    )
    for name, attribute in state.items():
        setattr(made, name, attribute)
    return made


@expose("method", "__reduce_ex__")
def reduce_tensor(self: Tensor, protocol) -> Any:
    """Reduce a Tensor for `pickle` and `copy`: its data, whether it requires a gradient, and the user's attributes; no
    history."""
    warn_if_has_hooks(self)
    array = concretize(self.detach().cpu()._fx_value, "pickle")
    return rebuild_tensor, (
        type(self).__name__ if type(self) in TENSOR_CLASSES else type(self),
        array,
        str(device_of(self._fx_value)),
        self.requires_grad,
        user_attributes(self),
    )
