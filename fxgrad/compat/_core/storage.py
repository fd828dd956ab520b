"""The memory of Tensors, as torch shows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bits import memory_array
from .dtypes import dtype as torch_dtype
from .errors import TensorError
from .memory import is_array, memory_address, memory_owner
from .tensor import Tensor, refresh


def tensor_memory(tensor: Tensor) -> Any:
    """The array that owns the memory of a Tensor.

    Raises:
        RuntimeError: its value is traced.
    """
    value = memory_array(refresh(tensor))
    if not is_array(value):
        raise TensorError(
            "Cannot access data pointer of Tensor that doesn't have storage",
            hint="inside a transform values are traced: there is no memory that belongs to one",
        )
    return memory_owner(value)


class UntypedStorage:
    """Bytes that Tensors share."""

    device = "cpu"

    def __init__(self, owner):
        self.owner = owner

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return memory_address(self.owner)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self.owner.nbytes

    size = __len__ = nbytes

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.owner is self.owner

    def __hash__(self) -> int:
        return id(self.owner)

    def tolist(self) -> list[Any]:
        """The bytes as numbers."""
        return list(self.owner.tobytes("A"))

    def __repr__(self) -> str:
        label = f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        return "".join(f" {b}\n" for b in self.tolist()) + label


class TypedStorage(UntypedStorage):
    """Elements of one dtype that Tensors share."""

    def __init__(self, owner, dtype: torch_dtype):
        super().__init__(owner)
        self.dtype = dtype

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return np.frombuffer(self.owner.tobytes("A"), self.dtype.numpy).tolist()

    def __getitem__(self, place: int) -> Any:
        return self.tolist()[place]

    def __repr__(self) -> str:
        label = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"
        )
        return "".join(f" {x}\n" for x in self.tolist()) + label
