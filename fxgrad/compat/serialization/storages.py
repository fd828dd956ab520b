"""Storages in files: their names and dtypes, their devices, and the memory of saved Tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.bits import memory_array
from .._core.dtypes import LATE_UNSIGNED, NAMES, from_name, from_numpy_dtype
from .._core.dtypes import dtype as torch_dtype
from .._core.memory import memory_address, memory_root, strided_view
from .._core.meta import MetaTracer
from .._core.storage import TypedStorage, UntypedStorage, tensor_memory
from .._core.tensor import Tensor, refresh
from .._make.devices import device, device_count, device_of, move_array
from ..errors import ArgumentError, DeviceError, TensorError
from .errors import refuse

# Those of late dtypes have no name of their own: torch saves their bytes.
STORAGE_NAMES = {f"{short}Storage": name for name, (short, _) in NAMES.items() if name not in LATE_UNSIGNED}


class StorageType:
    """The meaning of `torch.FloatStorage` in a file: the dtype of a storage's elements. The bytes of
    `torch.UntypedStorage` have the dtype uint8.

    Args:
        name: the name.

    >>> from fxgrad.compat.serialization.storages import StorageType
    >>> StorageType("FloatStorage").dtype
    torch.float32
    """

    def __init__(self, name: str):
        self._fx_name = name

    @property
    def dtype(self) -> torch_dtype:
        """The dtype of the elements."""
        return from_name(STORAGE_NAMES.get(self._fx_name, "uint8"))

    @property
    def _fx_is_untyped(self) -> bool:
        """Whether these are bytes of any dtype."""
        return self._fx_name not in STORAGE_NAMES

    def __repr__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


STORAGE_TYPES = {name: StorageType(name) for name in (*STORAGE_NAMES, "UntypedStorage")}


# -- where they are put ------------------------------------------
MapLocation = Callable[..., Any] | device | str | dict[str, str] | None


def location_tag(storage: UntypedStorage) -> str:
    """Return what a file says about where a storage was: "cpu", "cuda:0".

    >>> torch.serialization.location_tag(torch.zeros(2).untyped_storage())
    'cpu'
    """
    return str(device_of(storage._fx_owner))


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """Put a storage, which is on the CPU, where a file says that it was.

    Args:
        location: what the file says.

    Raises:
        RuntimeError: there is no such device.

    >>> storage = torch.zeros(2).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    target = device(location)
    if target.type == "cuda" and not device_count():
        raise DeviceError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU.",
            hint='map_location="cpu"',
        )
    if target.type == "cuda" and (target.index or 0) >= device_count():
        raise TensorError(
            f"Attempting to deserialize object on CUDA device {target.index} but torch.cuda.device_count() is "
            f"{device_count()}. Please use torch.load with map_location to map your storages to an existing device.",
            hint='map_location="cuda:0"',
        )
    storage._fx_owner = move_array(storage._fx_owner, target)
    return storage


def restore_storage(storage: UntypedStorage, location: str, map_location: MapLocation) -> UntypedStorage:
    """Put a storage where `map_location` says, or else where the file says.

    Raises:
        TypeError: `map_location` is none; or it is a function that returns no storage.
    """
    if isinstance(map_location, dict):
        location = str(map_location.get(location, location))
    elif isinstance(map_location, str | device):
        location = str(map_location)
    elif isinstance(map_location, bytes):
        location = map_location.decode("ascii")
    elif map_location is not None:
        if not callable(map_location):
            raise ArgumentError(
                f"map_location must be a function, a device, a string or a dict, not {type(map_location).__name__}",
                hint='map_location="cpu"',
            )
        found = map_location(storage, location)
        if found is not None:
            if not isinstance(found, UntypedStorage):
                raise ArgumentError(
                    f"map_location must return a storage or None, not {type(found).__name__}",
                    hint="lambda storage, location: storage",
                )
            return found
    return default_restore_location(storage, location)


def parse_storage_id(saved_id: Any, length: int) -> tuple[StorageType, Any, str, int]:
    """Return the type, key, location and size in a file's entry for a storage: ("storage", type, key, …).

    Raises:
        UnpicklingError: it is nothing like that.
    """
    if type(saved_id) is not tuple or len(saved_id) != length or saved_id[0] not in ("storage", b"storage"):
        raise refuse("Only persistent_load of storage is allowed")
    kind, key, location, count = saved_id[1:5]
    location = location.decode("ascii", "replace") if type(location) is bytes else location
    if not isinstance(kind, StorageType) or type(key) not in (str, int) or type(location) is not str:
        raise refuse("A storage has no type, key and location")
    if type(count) is not int or count < 0:
        raise refuse("A storage has no size")
    return kind, key, location, count


def storage_of_bytes(kind: StorageType, array: np.ndarray | MetaTracer) -> UntypedStorage:
    """Make the storage whose memory is an array; on the device "meta" it has none."""
    return UntypedStorage(array) if kind._fx_is_untyped else TypedStorage(array, kind.dtype)


def swap_bytes(array: np.ndarray) -> None:
    """Reverse the bytes of each number, for files from a machine with the other byte order."""
    if from_numpy_dtype(array.dtype).name == "bfloat16":
        array = array.view(np.uint16)
    array.byteswap(inplace=True)


def ensure_truth_values(array: np.ndarray) -> np.ndarray:
    """Return an array whose truth values are stored as 0 and 1: NumPy relies on it, and files may hold any bytes."""
    if array.dtype != bool or not array.size or array.view(np.uint8).max() <= 1:
        return array
    return array.view(np.uint8) != 0


def is_native(order: str) -> bool:
    """Whether a byte order is that of this machine."""
    return order == sys.byteorder


# -- what is saved ------------------------------------------
class SavedStorage:
    """Memory that Tensors share, as it is saved: its bytes under `key`, and the dtype of its first Tensor."""

    def __init__(self, key: str, owner: Any, dtype: torch_dtype):
        self.key, self.owner, self.dtype = key, owner, dtype

    @property
    def type(self) -> StorageType:
        """The type of the storage."""
        name = self.dtype.name
        return STORAGE_TYPES["UntypedStorage" if name in LATE_UNSIGNED else f"{NAMES[name][0]}Storage"]

    @property
    def location(self) -> str:
        """Where the memory is."""
        return str(device_of(self.owner))

    @property
    def size(self) -> int:
        """The number of elements of the storage's type."""
        return self.owner.nbytes // self.type.dtype.itemsize

    def to_bytes(self) -> memoryview:
        """Return the bytes of its elements."""
        owner = move_array(self.owner, device("cpu"))
        flat = strided_view(owner, (self.size * self.type.dtype.itemsize,), (1,), 0, np.dtype(np.uint8))
        return memoryview(flat)  # type: ignore[arg-type]


class SavedStorages:
    """All saved memory, each part once, in the order of first use."""

    def __init__(self) -> None:
        self.found: dict[int, SavedStorage] = {}

    def __iter__(self) -> Any:
        return iter(self.found.values())

    def of(self, storage: UntypedStorage) -> SavedStorage:
        """Return the entry for a storage that the user saves by itself."""
        dtype = storage.dtype if isinstance(storage, TypedStorage) else from_name("uint8")
        return self.enter(memory_root(storage._fx_owner), dtype)

    def of_tensor(self, tensor: Tensor) -> tuple[SavedStorage, int, tuple[int, ...]]:
        """Return the entry for the memory of a Tensor, the offset of the Tensor there, and its strides.

        Raises:
            RuntimeError: the Tensor is traced; or another one saw the same memory as numbers of another dtype.
        """
        tensor_memory(tensor)
        array = memory_array(refresh(tensor))
        owner, item = memory_root(array), array.itemsize
        shift = memory_address(array) - memory_address(owner)
        aligned = not (shift % item or any(s % item for s in array.strides))
        if not aligned or not is_whole_memory(owner):  # a field of a structured array, say
            array = owner = array.copy()
            shift = 0
        saved = self.enter(owner, tensor.dtype)
        return saved, shift // item if 0 <= shift <= owner.nbytes else 0, tuple(tensor.stride())

    def enter(self, owner, dtype: torch_dtype) -> SavedStorage:
        """Return the entry for the memory of an array."""
        found = self.found.setdefault(id(owner), SavedStorage(str(len(self.found)), owner, dtype))
        if found.dtype != dtype and owner.size:
            raise TensorError(
                "Cannot save multiple tensors or storages that view the same data as different types",
                hint=f"clone the one of {dtype} or the one of {found.dtype}",
            )
        return found


def is_whole_memory(owner) -> bool:
    """Whether an array that owns its memory has each entry of the memory exactly once."""
    if type(owner) is not np.ndarray:
        return bool(owner.flags.forc)
    if owner.dtype.kind == "V" and owner.dtype.name != "bfloat16":
        return False
    low, high = np.lib.array_utils.byte_bounds(owner)
    return not owner.size or (low == memory_address(owner) and high - low == owner.nbytes)
