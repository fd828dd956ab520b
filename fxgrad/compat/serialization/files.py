"""`save` and `load`: objects in files that torch can also read and write."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...extend import Aval
from .._core.meta import MetaTracer
from .._core.storage import UntypedStorage
from .._make.devices import device
from ..errors import ArgumentError, ArgumentValueError, NotSupportedError, TensorError
from .allowed import find_global, lookup
from .archive import MAGIC as ARCHIVE_MAGIC
from .archive import Archive, ArchiveWriter
from .errors import refuse
from .legacy import LegacyReader, legacy_globals, save_legacy
from .machine import Machine, named_globals
from .modules import find_global_or_module
from .safetensors import load_file
from .settings import MAP_SHARED, LoadEndianness, get_default_load_endianness, get_default_mmap_options
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

if TYPE_CHECKING:
    from types import ModuleType
    from typing import BinaryIO

    FileLike = str | os.PathLike[str] | BinaryIO

PROTOCOLS = range(-1, 6)
PICKLE_MODULES = ("pickle", "_pickle")


# -- files ------------------------------------------
def open_file(f: FileLike, mode: str) -> Any:
    """Open a file by its path; a file that is open already is not closed afterwards."""
    return open(f, mode) if isinstance(f, str | os.PathLike) else nullcontext(f)


def is_path(f: object) -> bool:
    """Whether a file is given by its path."""
    return isinstance(f, str | os.PathLike)


def check_pickle_module(pickle_module: ModuleType | None) -> None:
    """Raise for a module that would pickle otherwise than Python's does."""
    name = getattr(pickle_module, "__name__", None)
    if pickle_module is not None and name not in PICKLE_MODULES:
        raise NotSupportedError(
            f"pickle_module={name or pickle_module!r}: files are written and read by this library's own code",
            hint="leave it out",
        )


# -- out ------------------------------------------
def save(
    obj: object,
    f: FileLike,
    pickle_module: ModuleType | None = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a file, which torch can load as well: Tensors, containers, numbers and text, and whatever
    Python can take to pieces. Tensors that share memory share it again when they are loaded.

    Args:
        obj: the object: a `state_dict`, most of the time. What is no Tensor, container, number or text has to be
            allowed when the file is loaded.
        f: the path of the file, or a file that is open for writing bytes.
        pickle_module: None, or Python's own; files are written by this library.
        pickle_protocol: the highest that may be used, up to 5; the file has 2, as torch's.
        _use_new_zipfile_serialization: False: the format of torch before 1.6.
        _disable_byteorder_record: leave out what says in which order the bytes of numbers are.

    Raises:
        AttributeError: `f` is neither path nor file.
        ValueError: there is no such protocol.
        PicklingError, TypeError: the object has parts that cannot be saved: functions without a name, open files.
        RuntimeError: a Tensor is traced, or several see the same memory as different types.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    check_pickle_module(pickle_module)
    if not isinstance(pickle_protocol, int):
        raise ArgumentError(
            f"pickle_protocol must be an int, not {type(pickle_protocol).__name__}",
            hint="pickle_protocol=2, which is torch's",
        )
    if pickle_protocol not in PROTOCOLS:
        raise ArgumentValueError("pickle protocol must be <= 5", hint=f"not {pickle_protocol}; 2 is torch's")
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if not _use_new_zipfile_serialization:
        save_legacy(obj, partial(open_file, f, "wb"))
        return
    storages = SavedStorages()
    pickled = Writer(storages).finish(obj)  # all that can fail comes before the file is opened
    name = Path(os.fspath(f)).stem if is_path(f) else "archive"  # type: ignore[arg-type]
    with open_file(f, "wb") as file:
        archive = ArchiveWriter(file, name or "archive")
        archive.write_record("data.pkl", pickled)
        if not _disable_byteorder_record:
            archive.write_record("byteorder", sys.byteorder.encode())
        for saved in storages:
            archive.write_record(f"data/{saved.key}", saved.to_bytes())
        archive.write_record("version", b"3\n")
        archive.finish()


# -- in ------------------------------------------
class ArchiveReader:
    """The storages of an archive, each read once, on first request."""

    def __init__(self, archive: Archive, map_location: MapLocation, mapped_path: str | None):
        self.archive, self.map_location, self.mapped_path = archive, map_location, mapped_path
        self.storages: dict[str, tuple[StorageType, int, UntypedStorage]] = {}
        # Nothing is read for this device.
        self.is_meta = isinstance(map_location, str | device) and str(map_location) == "meta"
        self.is_native = is_native(self.byte_order())

    def byte_order(self) -> str:
        """The order of the bytes of numbers: as the archive says, or else as was chosen for archives that do not.

        Raises:
            ValueError: there is no such order.
        """
        if not self.archive.has_record("byteorder"):
            chosen = get_default_load_endianness() or LoadEndianness.LITTLE
            return sys.byteorder if chosen is LoadEndianness.NATIVE else chosen.name.lower()
        found = self.archive.read_record("byteorder")
        if found not in (b"little", b"big"):
            raise ArgumentValueError(
                f"Unknown endianness type: {found.decode('latin-1')}",
                hint="torch.serialization.set_default_load_endianness is for files without one; this one is broken",
            )
        return found.decode()

    def load_storage(self, saved_id: Any) -> UntypedStorage:
        """Return the storage for its entry in the pickle: ("storage", type, key, location, size)."""
        kind, key, location, count = parse_storage_id(saved_id, 5)
        if type(key) is not str:
            raise refuse("The key of a storage is no text")
        found = self.storages.get(key)
        if found is None:
            storage = self.read_storage(kind, key, count)
            if not self.is_meta:
                storage = restore_storage(storage, location, self.map_location)
            self.storages[key] = kind, count, storage
            return storage
        if found[:2] != (kind, count):
            raise refuse("A storage has two types or sizes")
        return found[2]

    def read_storage(self, kind: StorageType, key: str, count: int) -> UntypedStorage:
        """Read a storage into its own memory, or map it so that it is read on access."""
        name, dtype = f"data/{key}", kind.dtype.numpy
        self.archive.check_size(name, count * dtype.itemsize)
        if self.is_meta:
            return storage_of_bytes(kind, MetaTracer(Aval((count,), dtype)))
        if self.mapped_path is None:
            array = np.empty(count, dtype)
            self.archive.read_into(name, array)
        else:
            mode = "r+" if get_default_mmap_options() == MAP_SHARED else "c"
            array = self.archive.map_record(name, self.mapped_path, dtype, mode)
        if not self.is_native:
            swap_bytes(array)
        return storage_of_bytes(kind, ensure_truth_values(array))


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load an object from a file that `save` or torch wrote, in torch's archives or in the format before 1.6.

    A file can build Tensors, containers, numbers, text, NumPy's arrays of these, what `serialization.add_safe_globals`
    has allowed, and modules of torch.nn if `weights_only` is False. Nothing else: no code is run that the file names.

    Args:
        f: the path of the file, or a file that is open for reading bytes, and can be positioned. Of a path that ends in
            ".safetensors" the Tensors are read by the package of that name.
        map_location: where storages are put: a device, a dict of the devices in the file and ours, or a function
            (storage, the device in the file) → a storage or None. None: where they were.
        pickle_module: None, or Python's own; files are read by this library.
        weights_only: False: whole modules, as `torch.save(model)` writes them, are built as well: of classes of
            torch.nn, and of those that are allowed.
        mmap: have memory read from the file when it is looked at; `f` is a path then. Writing into it does not change
            the file, unless `serialization.set_default_mmap_options` has chosen so.
        pickle_load_args: `encoding`, of text that Python 2 wrote, "utf-8" unless given; "bytes": it stays bytes.

    Returns:
        The object, with Tensors of the dtypes, strides and sharing with which they were saved.

    Raises:
        UnpicklingError: the file would build something else, which is named; or its pickle is broken.
        RuntimeError: the file is broken otherwise, or no file of torch's; or there is no such device.
        EOFError: it ends too early.
        AttributeError: `f` is neither a path nor a file that can be read and sought.
        ValueError: `mmap` without a path.
        TypeError: there is no such option.

    >>> import io
    >>> file, x = io.BytesIO(), torch.arange(3)
    >>> torch.save([x, x[1:]], file)
    >>> _ = file.seek(0)
    >>> a, b = torch.load(file)
    >>> b[0] = 7
    >>> a
    tensor([0, 7, 2])

    >>> file = io.BytesIO()
    >>> torch.save(torch.nn.Linear(2, 3), file)
    >>> _ = file.seek(0)
    >>> torch.load(file, weights_only=False)
    Linear(in_features=2, out_features=3, bias=True)
    """
    check_pickle_module(pickle_module)
    if weights_only and pickle_module is not None:
        raise TensorError(
            "Can not safely load weights when explicit pickle_module is specified",
            hint="torch.load(f), which needs no pickle_module",
        )
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise ArgumentError(
            f"load() got an unexpected keyword argument '{next(iter(pickle_load_args))}'",
            hint="map_location=, weights_only=, mmap= and encoding= are those that it has",
        )
    if is_path(f) and os.fspath(f).endswith(".safetensors"):  # type: ignore[arg-type]
        return load_file(f, check_device(map_location))  # type: ignore[arg-type]
    find = find_global if weights_only is not False else find_global_or_module
    with open_file(f, "rb") as file:
        left = check_seekable(file)
        if not is_archive(file):
            if mmap:
                raise TensorError(
                    "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), "
                    "please torch.save your checkpoint with this option in order to use mmap.",
                    hint="mmap=False",
                )
            return LegacyReader(file, left, map_location, encoding, find).read()
        archive = Archive(file)
        if archive.has_record("constants.pkl"):
            raise TensorError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``.",
                hint="torch.save(model.state_dict(), path) under torch, from torch.jit.load(path)",
            )
        if mmap and not is_path(f):
            raise ArgumentValueError(
                "f must be a file path in order to use the mmap argument",
                hint="torch.load(path, mmap=True), or mmap=False",
            )
        reader = ArchiveReader(archive, map_location, os.fspath(f) if mmap else None)  # type: ignore[arg-type]
        machine = Machine(pickle_source(archive), find, reader.load_storage, encoding)
        made = machine.run()
        for act in machine.deferred:
            act()
        return made


def is_archive(file: BinaryIO) -> bool:
    """Whether an archive begins where a file stands."""
    place = file.tell()
    start = file.read(len(ARCHIVE_MAGIC))
    file.seek(place)
    return start == ARCHIVE_MAGIC


def check_seekable(file: Any) -> int:
    """Return the number of bytes from the file's position to its end.

    Raises:
        AttributeError: it cannot be positioned or read.
    """
    try:
        place = file.tell()
        end = file.seek(0, os.SEEK_END)
        file.seek(place)
        if not (hasattr(file, "read") and hasattr(file, "readline")):
            raise AttributeError(f"{type(file).__name__!r} object has no attribute 'read' or 'readline'")
    except (AttributeError, OSError) as error:
        raise AttributeError(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None
    return end - place


def check_device(map_location: MapLocation) -> Any:
    """Return the device for a file that says nothing about devices.

    Raises:
        RuntimeError: it depends on what the file says.
    """
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise TensorError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device "
            "instead.",
            hint='map_location="cpu"',
        )
    return "cpu" if map_location is None else map_location


def pickle_source(archive: Archive) -> Source:
    """Return the pickle of an archive."""
    data = archive.read_record("data.pkl")
    return Source(BytesIO(data), len(data))


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """List the names in a file that have to be allowed before it can be loaded.

    Args:
        f: the file.

    Raises:
        UnpicklingError, RuntimeError, EOFError: it is broken, or no file of torch's.
        AttributeError: `f` is neither a path nor a file that can be read and sought.

    >>> import io, datetime
    >>> file = io.BytesIO()
    >>> torch.save(datetime.date(2020, 2, 29), file)
    >>> _ = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['datetime.date']
    """
    with open_file(f, "rb") as file:
        left = check_seekable(file)
        if is_archive(file):
            names = set(named_globals(pickle_source(Archive(file))))
        else:
            names = legacy_globals(Source(file, left))
    return sorted(f"{module}.{name}" for module, name in names if lookup(module, name) is None)
