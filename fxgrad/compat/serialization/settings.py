"""Default settings for reading files."""

from __future__ import annotations

import mmap
from enum import Enum
from typing import Any

from ..errors import ArgumentError, ArgumentValueError

# Windows has no such flags; torch has none there either.
MAP_SHARED, MAP_PRIVATE = getattr(mmap, "MAP_SHARED", 1), getattr(mmap, "MAP_PRIVATE", 2)


class LoadEndianness(Enum):
    """The order of the bytes of numbers in archives that do not say it, which torch before 2.1 wrote.

    >>> torch.serialization.LoadEndianness.LITTLE.name
    'LITTLE'
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


SETTINGS: dict[str, Any] = {"endianness": None, "mmap": MAP_PRIVATE}


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes of archives that do not say theirs; None is that of little-endian machines.

    Returns:
        A LoadEndianness, or None.

    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    return SETTINGS["endianness"]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the order of bytes of archives that do not say theirs.

    Args:
        endianness: a LoadEndianness.

    Raises:
        TypeError: it is no LoadEndianness.

    >>> try:
    ...     torch.serialization.set_default_load_endianness("little")
    ... except TypeError:
    ...     print("it is no LoadEndianness")
    it is no LoadEndianness
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise ArgumentError(
            "Invalid argument type in function set_default_load_endianness",
            hint="torch.serialization.LoadEndianness.LITTLE, NATIVE or BIG",
        )
    SETTINGS["endianness"] = endianness


def get_default_mmap_options() -> int:
    """How `load` maps files: `mmap.MAP_PRIVATE`, or `mmap.MAP_SHARED`, with which writing into Tensors writes into the
    file.

    Returns:
        An int.

    >>> import mmap
    >>> torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return SETTINGS["mmap"]


class set_default_mmap_options:
    """Choose how `load` maps files, for good or, as a context manager, inside it.

    Args:
        flags: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`.

    Raises:
        ValueError: it is neither `mmap.MAP_PRIVATE` nor `mmap.MAP_SHARED`.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ArgumentValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}",
                hint="mmap.MAP_PRIVATE, which leaves the file as it is",
            )
        self._fx_before = SETTINGS["mmap"]
        SETTINGS["mmap"] = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        SETTINGS["mmap"] = self._fx_before
