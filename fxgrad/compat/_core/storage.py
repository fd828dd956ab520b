"""The memory of Tensors, in the form of torch's storages."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...extend import devices, is_on_cuda
from ..errors import DimensionError, TensorError
from .bits import memory_array
from .dtypes import dtype as torch_dtype
from .dtypes import float32
from .memory import copy_array, is_array, memory_address, memory_owner, strided_view, write_array
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
    """Bytes that Tensors share.

    `UntypedStorage(8)` has eight new ones, which are zero, `UntypedStorage([1, 2])` those given. A slice shares them.

    Args:
        owner: the number of elements, the elements, or another storage.

    >>> x = torch.zeros(2, dtype=torch.int16)
    >>> x.untyped_storage()[2:].fill_(1).tolist(), x
    ([1, 1], tensor([  0, 257], dtype=torch.int16))
    """

    is_sparse = is_sparse_csr = is_hpu = False
    filename: str | None = None  # of the file that writes go to
    _fx_is_mapped = False

    def __init__(self, owner: Any = 0):
        if not hasattr(owner, "nbytes"):  # an array, or an array of another library
            owner = np.zeros(owner, np.uint8) if isinstance(owner, int) else np.array(list(owner), np.uint8)
        self._fx_owner = owner

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Map the first bytes of a file, which are read when they are first looked at.

        Args:
            filename: its path.
            shared: whether what is written into the storage goes to the file, which is made, and made longer, where
                that is needed; otherwise it stays in memory.
            nbytes: how many bytes.

        Raises:
            TensorError: there is no such file; it has fewer bytes, and is not shared.
        """
        import mmap

        path = os.fspath(filename)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY)
        except OSError as error:
            mode = "read-write" if shared else "read-only"
            raise TensorError(
                f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})",
                hint="a path that exists, or shared=True in a directory that may be written to, which makes the file",
            ) from error
        with os.fdopen(descriptor, "r+b" if shared else "rb") as file:
            size = os.fstat(descriptor).st_size
            if size < nbytes and not shared:
                raise TensorError(
                    f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>",
                    hint=f"nbytes={size}, or shared=True, which makes the file longer",
                )
            if size < nbytes:
                file.truncate(nbytes)
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            memory: Any = mmap.mmap(descriptor, nbytes, access=access) if nbytes else b""
        made = cls(np.frombuffer(memory, np.uint8))
        made.filename, made._fx_is_mapped = path if shared else None, True
        return made

    @property
    def device(self) -> str:
        """The name of the device: "cpu", "cuda:0"."""
        return f"cuda:{self._fx_owner.device.id}" if self.is_cuda else "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is that of a CUDA device."""
        return is_on_cuda(self._fx_owner)

    @property
    def _fx_entries(self) -> Any:
        """The bytes, as an array that shares them."""
        start = memory_address(self._fx_owner) - memory_address(memory_owner(self._fx_owner))
        return strided_view(self._fx_owner, (self._fx_owner.nbytes,), (1,), start, np.dtype(np.uint8))

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return memory_address(self._fx_owner)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._fx_owner.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """The bytes of an element."""
        return 1

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self if type(self) is UntypedStorage else UntypedStorage(self._fx_owner)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._fx_owner is self._fx_owner

    def __hash__(self) -> int:
        return id(self._fx_owner)

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return self._fx_entries.tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, place: Any) -> Any:
        """An element, or the storage of a slice of them, which shares their memory."""
        if not isinstance(place, slice):
            return self._fx_entries[self._fx_find(place)].item()
        if place.step not in (None, 1):
            raise TensorError(
                f"Trying to slice with a step of {place.step}, but only a step of 1 is supported",
                hint="torch.asarray(storage, dtype=…)[…]",
            )
        return UntypedStorage(self._fx_entries[place])

    def __setitem__(self, place: Any, value: Any) -> None:
        """Write a number to one place, or to each of a slice."""
        at = place if isinstance(place, slice) else slice(n := self._fx_find(place), n + 1)
        write_array(self._fx_entries[at], value)

    def _fx_find(self, place: int) -> int:
        """The place of an element, counted from the beginning."""
        count = len(self)
        if not -count <= place < count:
            raise DimensionError(
                f"index {place} out of range for storage of size {count}",
                hint=f"storage[{count - 1}] or storage[-1] is the last element"
                if count
                else "UntypedStorage(n)",
            )
        return place % count

    def fill_(self, value: Any) -> Any:
        """Write a number to all places."""
        write_array(self._fx_entries, value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> Any:
        """Write the elements of another storage of this size.

        Args:
            source: the other storage.
            non_blocking: accepted and without effect.

        Raises:
            RuntimeError: the sizes differ.
        """
        if len(source) != len(self):
            raise TensorError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes",
                hint=f"torch.UntypedStorage({source.nbytes()}) as what is written into",
            )
        write_array(self._fx_entries, source._fx_entries)
        return self

    def clone(self) -> Any:
        """A copy."""
        made = copy.copy(self)
        made._fx_owner, made.filename, made._fx_is_mapped = copy_array(self._fx_owner), None, False
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = self.clone()
        return made

    def cpu(self) -> Any:
        """The storage itself where it is on the CPU; a copy there of one on a device."""
        return self._fx_moved_to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """A copy of the storage on a CUDA device; itself where it is there.

        Args:
            device: the device; None: the current one.
            non_blocking: accepted and without effect.
        """
        return self._fx_moved_to(
            "cuda" if device is None else device if isinstance(device, str) else f"cuda:{device}"
        )

    def _fx_moved_to(self, device: str) -> Any:
        """Return a copy on a device; the storage itself where it is there."""
        owner = devices.put_array(self._fx_owner, devices.as_device(device))
        if owner is self._fx_owner:
            return self
        made = copy.copy(self)
        made._fx_owner, made.filename, made._fx_is_mapped = owner, None, False
        return made

    def is_shared(self) -> bool:
        """Whether other processes may see the memory: that of a file."""
        return self._fx_is_mapped

    def is_pinned(self) -> bool:
        """Whether the memory is pinned, as a GPU needs it: never."""
        return False

    def __repr__(self) -> str:
        label = f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        return "".join(f" {b}\n" for b in self.tolist()) + label


class TypedStorage(UntypedStorage):
    """Elements of one dtype that Tensors share.

    Args:
        owner: the number of elements, the elements, or another storage.
        wrap_storage: bytes that are shared.

    >>> storage = torch.TypedStorage(2, dtype=torch.float32)
    >>> len(storage)
    2
    """

    def __init__(
        self, owner: Any = 0, dtype: torch_dtype = float32, wrap_storage: UntypedStorage | None = None
    ):
        if wrap_storage is not None:
            owner = wrap_storage._fx_owner
        elif not hasattr(owner, "nbytes"):
            owner = np.zeros(owner, dtype.numpy) if isinstance(owner, int) else np.array(owner, dtype.numpy)
        super().__init__(owner)
        self.dtype = dtype

    @property
    def _fx_entries(self) -> np.ndarray:
        """The elements, as an array that shares their memory."""
        item = self.dtype.itemsize
        return super()._fx_entries[: self.size() * item].view(self.dtype.numpy)

    _untyped_storage = property(UntypedStorage.untyped)

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __getitem__(self, place: Any) -> Any:
        """An element."""
        if isinstance(place, slice):
            raise TensorError(
                "slices are only supported in UntypedStorage.__getitem__", hint="storage.untyped()[…]"
            )
        return super().__getitem__(place)

    def __repr__(self) -> str:
        label = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"
        )
        return "".join(f" {x}\n" for x in self.tolist()) + label
