"""A writer of pickles of protocol 2, as torch writes them: the contents of containers, and the parts from which objects
are rebuilt.

Source of the format: https://github.com/python/cpython/blob/3.13/Lib/pickletools.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copyreg import __newobj__, __newobj_ex__, dispatch_table  # type: ignore[attr-defined]
from importlib import import_module
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ..errors import PicklingError
from .names import torch_name
from .reductions import REDUCTIONS, Name, reduce_subclass, storage_id
from .storages import SavedStorages

BATCH = 1000  # entries that are appended at once
INT32 = 1 << 31


class Writer:
    """A pickle that is written: `parts` are its bytes so far.

    Args:
        storages: where the memory of Tensors is noted, which is saved beside the pickle.
        is_legacy: whether storages are named as files of torch before 1.6 do.
    """

    def __init__(self, storages: SavedStorages, is_legacy: bool = False):
        self.storages, self.is_legacy = storages, is_legacy
        self.parts: list[bytes] = [b"\x80\x02"]
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []  # what is in the memo, by ids that nobody else may get
        self.names: dict[Name, Name] = {}  # one object for each

    def finish(self, thing: object) -> bytes:
        """Write an object, and return the pickle."""
        self.write(thing)
        self.parts.append(b".")
        return b"".join(self.parts)

    def remember(self, thing: object) -> None:
        """Record that an object was written, so that later occurrences refer to it."""
        place = self.memo[id(thing)] = len(self.memo)
        self.kept.append(thing)
        self.parts.append(struct.pack("<cB", b"q", place) if place < 256 else struct.pack("<cI", b"r", place))

    def recall(self, thing: object) -> bool:
        """Refer to an object if it was written before; return whether it was."""
        place = self.memo.get(id(thing))
        if place is not None:
            self.parts.append(
                struct.pack("<cB", b"h", place) if place < 256 else struct.pack("<cI", b"j", place)
            )
        return place is not None

    def write(self, thing: Any) -> None:
        """Write an object.

        Raises:
            PicklingError: it is a function or a class that would not be found again.
            TypeError: it cannot be taken to pieces.
        """
        cls = type(thing)
        plain = PLAIN.get(cls)
        if plain is not None:
            self.parts.append(plain(thing))
            return
        if self.recall(thing):
            return
        write_container = CONTAINERS.get(cls)
        if write_container is not None:
            write_container(self, thing)
            return
        named = storage_id(thing, self.storages, self.is_legacy)
        if named is not None:
            self.write(named)
            self.parts.append(b"Q")
            return
        self.write_reduced(thing, self.reduce(thing))

    def reduce(self, thing: Any) -> Any:
        """Take an object to pieces: (function, arguments, state, entries, items), or its name."""
        cls = type(thing)
        if cls in REDUCTIONS:
            return REDUCTIONS[cls](thing, self.storages)
        found = reduce_subclass(thing, self.storages)
        if found is not None:
            return found
        if cls in dispatch_table:
            return dispatch_table[cls](thing)
        if isinstance(thing, type) or cls in (FunctionType, BuiltinFunctionType):
            return thing.__qualname__
        return thing.__reduce_ex__(2)

    def write_reduced(self, thing: Any, found: Any) -> None:
        """Write the pieces of an object."""
        if isinstance(found, Name):
            self.write_name(found)
            return
        if isinstance(found, str):
            self.write_global(thing, found)
            return
        pieces: Any = (*found, *(None,) * (6 - len(found)))
        function, args, state, entries, items, setter = pieces
        if function is __newobj__:
            self.write(args[0])
            self.write(args[1:])
            self.parts.append(b"\x81")
        elif function is __newobj_ex__:
            for part in args:
                self.write(part)
            self.parts.append(b"\x92")
        else:
            self.write(function)
            self.write(args)
            self.parts.append(b"R")
        if not self.recall_rebuilt(thing):
            self.remember(thing)
        if entries is not None:
            self.write_batches(((x,) for x in entries), b"a", b"e")
        if items is not None:
            self.write_batches(items, b"s", b"u")
        if setter is not None:
            self.write(setter)
            self.write((thing, state))
            self.parts.append(b"R0")
        elif state is not None:
            self.write(state)
            self.parts.append(b"b")

    def recall_rebuilt(self, thing: object) -> bool:
        """Refer to an object that was written among its own arguments, and drop these."""
        if id(thing) not in self.memo:
            return False
        self.parts.append(b"0")
        return self.recall(thing)

    def write_global(self, thing: Any, name: str) -> None:
        """Write the name of a class, a function or a constant.

        Raises:
            PicklingError: it is not what the name stands for.
        """
        module = getattr(thing, "__module__", None) or "builtins"
        found: Any = None
        with suppress(ImportError):
            found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not thing:
            raise PicklingError(
                f"Can't pickle {thing!r}: it's not found as {module}.{name}",
                hint="define it at the top of a module; or save a state_dict()",
            )
        self.write_name(Name(*torch_name(module, name)))

    def write_name(self, name: Name) -> None:
        """Write a name, in full on its first occurrence."""
        name = self.names.setdefault(name, name)
        if not self.recall(name):
            module = "__builtin__" if name.module == "builtins" else name.module
            self.parts.append(b"c%s\n%s\n" % (module.encode(), name.name.encode()))
            self.remember(name)

    def write_tuple(self, thing: tuple[Any, ...]) -> None:
        """Write a tuple, which may contain itself at some depth."""
        if not thing:
            self.parts.append(b")")
            return
        if len(thing) > 3:
            self.parts.append(b"(")
        for part in thing:
            self.write(part)
        if id(thing) in self.memo:
            self.parts.append(b"0" * len(thing) if len(thing) <= 3 else b"1")
            self.recall(thing)
            return
        self.parts.append(b"t" if len(thing) > 3 else (b"\x85", b"\x86", b"\x87")[len(thing) - 1])
        self.remember(thing)

    def write_list(self, thing: list[Any]) -> None:
        """Write a list."""
        self.parts.append(b"]")
        self.remember(thing)
        self.write_batches(((x,) for x in thing), b"a", b"e")

    def write_dict(self, thing: dict[Any, Any]) -> None:
        """Write a dict."""
        self.parts.append(b"}")
        self.remember(thing)
        self.write_batches(iter(thing.items()), b"s", b"u")

    def write_set(self, thing: set[Any] | frozenset[Any]) -> None:
        """Write a set."""
        self.write_reduced(thing, (type(thing), (list(thing),)))

    def write_batches(self, entries: Iterable[tuple[Any, ...]], one: bytes, several: bytes) -> None:
        """Write entries of a list or items of a dict, many at once."""
        for batch in batches(iter(entries)):
            if len(batch) > 1:
                self.parts.append(b"(")
            for entry in batch:
                for part in entry:
                    self.write(part)
            self.parts.append(several if len(batch) > 1 else one)

    def write_text(self, thing: str) -> None:
        """Write a text."""
        data = thing.encode("utf-8", "surrogatepass")
        self.parts.append(struct.pack("<cI", b"X", len(data)) + data)
        self.remember(thing)

    def write_bytes(self, thing: bytes) -> None:
        """Write bytes, for which protocol 2 has no instruction."""
        self.write_encoded(thing, Name("_codecs", "encode"), "latin1")

    def write_bytearray(self, thing: bytearray) -> None:
        """Write a bytearray."""
        self.write_encoded(thing, Name("builtins", "bytearray"), "latin-1")

    def write_encoded(self, thing: bytes | bytearray, function: Name, encoding: str) -> None:
        """Write bytes as a call of a function with a text of one character for each, and the name of that encoding."""
        self.write_name(function)
        self.write((str(thing, "latin-1"), encoding))
        self.parts.append(b"R")
        self.remember(thing)


def batches(entries: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield some entries after the others, as lists."""
    while batch := list(islice(entries, BATCH)):
        yield batch


def integer_bytes(number: int) -> bytes:
    """The instruction for an integer."""
    if 0 <= number < 1 << 8:
        return struct.pack("<cB", b"K", number)
    if 0 <= number < 1 << 16:
        return struct.pack("<cH", b"M", number)
    if -INT32 <= number < INT32:
        return struct.pack("<ci", b"J", number)
    data = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    if len(data) < 256:
        return struct.pack("<cB", b"\x8a", len(data)) + data
    return struct.pack("<ci", b"\x8b", len(data)) + data


PLAIN: dict[type, Any] = {
    type(None): lambda x: b"N",
    bool: lambda x: b"\x88" if x else b"\x89",
    int: integer_bytes,
    float: lambda x: struct.pack(">cd", b"G", x),
}
CONTAINERS: dict[type, Any] = {
    str: Writer.write_text,
    bytes: Writer.write_bytes,
    bytearray: Writer.write_bytearray,
    tuple: Writer.write_tuple,
    list: Writer.write_list,
    dict: Writer.write_dict,
    set: Writer.write_set,
    frozenset: Writer.write_set,
    Name: Writer.write_name,
}
