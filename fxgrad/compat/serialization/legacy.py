"""The format of torch before 1.6: a sequence of pickles, followed by the bytes of the storages.

Source of the format: https://github.com/pytorch/pytorch/blob/v1.5.0/torch/serialization.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.meta import is_meta
from .._core.storage import UntypedStorage
from .._make.devices import device_of, move_array
from ..errors import TensorError, TruncatedError
from .archive import fill
from .errors import refuse
from .machine import Global, Machine, named_globals
from .source import Source
from .storages import (
    MapLocation,
    SavedStorages,
    StorageType,
    ensure_truth_values,
    is_native,
    parse_storage_id,
    restore_storage,
    storage_of_bytes,
    swap_bytes,
)
from .writer import Writer

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001
SYSTEM = {
    "protocol_version": VERSION,
    "little_endian": True,  # whatever the machine's order is
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def save_legacy(thing: object, open_file: Callable[[], Any]) -> None:
    """Write an object in the old format into an open file."""
    storages = SavedStorages()
    pickles = [Writer(storages, is_legacy=True).finish(x) for x in (MAGIC, VERSION, SYSTEM, thing)]
    found = sorted(storages, key=lambda saved: saved.key)
    with open_file() as file:
        for part in (*pickles, Writer(storages).finish([saved.key for saved in found])):
            file.write(part)
        for saved in found:
            file.write(struct.pack("<q", saved.size))
            file.write(saved.to_bytes())
        file.flush()


def legacy_globals(source: Source) -> set[tuple[str, str]]:
    """Return the modules and names to which a file in the old format refers."""
    return {path for _ in range(4) for path in named_globals(source)}


class LegacyReader:
    """A file in the old format, read from its present position.

    The storages come last, so that Tensors are built on memory that is filled afterwards. It is allocated only as far
    as the file has bytes for it.
    """

    def __init__(
        self,
        file: Any,
        left: int,
        map_location: MapLocation,
        encoding: str,
        find_global: Callable[[str, str], Global],
    ):
        self.source, self.map_location, self.encoding = Source(file, left), map_location, encoding
        self.find_global = find_global
        self.arrays: dict[Any, np.ndarray] = {}  # on the CPU, by keys
        self.storages: dict[Any, UntypedStorage] = {}
        self.room = left
        self.deferred: list[Callable[[], Any]] = []

    def read(self) -> Any:
        """Read the object.

        Raises:
            UnpicklingError: it is broken, or builds what is not allowed.
            EOFError: it ends too early.
            RuntimeError: it is no file of torch's, or broken.
        """
        if self.run() != MAGIC:
            raise TensorError(
                "Invalid magic number; corrupt file?",
                hint="a file that torch.save wrote; pickle.load and numpy.load read others",
            )
        version = self.run()
        if version != VERSION:
            raise TensorError(
                f"Invalid protocol version: {version}",
                hint="torch.save(torch.load(path), path) under the torch that wrote it",
            )
        self.run()
        made = self.run()
        keys = self.run()
        if type(keys) is not list or not all(type(key) in (str, int) for key in keys):
            raise refuse("The list of storages is none")
        if set(keys) != set(self.arrays) or len(set(keys)) != len(keys):
            raise refuse("The file has other storages than its Tensors have")
        for key in keys:
            self.fill_storage(self.arrays[key], self.storages[key])
        for act in self.deferred:
            act()
        return made

    def run(self) -> Any:
        """Run the next pickle."""
        machine = Machine(self.source, self.find_global, self.load_storage, self.encoding)
        made = machine.run()
        self.deferred += machine.deferred
        return made

    def fill_storage(self, array: np.ndarray, storage: UntypedStorage) -> None:
        """Read the entries of a storage into its memory."""
        (count,) = struct.unpack("<q", self.source.take(8))
        if count != array.size:
            raise TensorError(
                f"The file has {count} elements of a storage of {array.size}",
                hint="it is broken: save it again",
            )
        if array.nbytes > self.source.left:
            raise TruncatedError(
                "unexpected EOF. The file might be corrupted.",
                hint="copy or save the file again: a part of it is missing",
            )
        fill(self.source.file, array)
        self.source.left -= array.nbytes
        if not is_native("little"):
            swap_bytes(array)
        values = ensure_truth_values(array)
        if values is not array:
            array[...] = values
        if storage._fx_owner is not array and not is_meta(storage._fx_owner):
            storage._fx_owner[...] = move_array(array, device_of(storage._fx_owner))

    def load_storage(self, saved_id: Any) -> Any:
        """Return the storage for its entry in the file, or the class of a module, which is followed by its source."""
        if type(saved_id) is tuple and saved_id[:1] == ("module",) and len(saved_id) == 4:
            return saved_id[1]
        kind, key, location, count = parse_storage_id(saved_id, 6)
        view = saved_id[5]
        root = self.storages.get(key)
        if root is None:
            root = self.storages[key] = self.allocate(kind, key, location, count)
        elif root._fx_owner.dtype != kind.dtype.numpy or root._fx_owner.size != count:
            raise refuse("A storage has two types or sizes")
        return root if view is None else self.view(kind, root, view)

    def allocate(self, kind: StorageType, key: Any, location: str, count: int) -> UntypedStorage:
        """Make the memory of a storage."""
        self.room -= count * kind.dtype.itemsize
        if self.room < 0:
            raise TruncatedError(
                "unexpected EOF. The file might be corrupted.", hint="storages are larger than the file"
            )
        array = self.arrays[key] = np.zeros(count, kind.dtype.numpy)
        return restore_storage(storage_of_bytes(kind, array), location, self.map_location)

    def view(self, kind: StorageType, root: UntypedStorage, view: Any) -> UntypedStorage:
        """Return the part of a storage that very old files store as a separate one: (key, offset, size)."""
        if type(view) is not tuple or len(view) != 3 or any(type(n) is not int or n < 0 for n in view[1:]):
            raise refuse("A part of a storage has no place")
        key, offset, size = view
        if type(key) not in (str, int):
            raise refuse("A part of a storage has no key")
        if offset + size > root._fx_owner.size:
            raise TensorError(
                "A part of a storage is outside of it", hint="the file is broken: save it again"
            )
        if key not in self.storages:
            self.storages[key] = storage_of_bytes(kind, root._fx_owner[offset : offset + size])
        return self.storages[key]
