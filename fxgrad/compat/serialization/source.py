"""The bytes of a pickle, and the formats of the arguments of its instructions."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

from ..errors import TruncatedError

NAME_LENGTH = 1000  # of a module or class


class Source:
    """The bytes of a pickle, in a file with `left` bytes to read."""

    def __init__(self, file: BinaryIO, left: int):
        self.file, self.left = file, left

    def take(self, count: int) -> bytes:
        """Read exactly so many bytes."""
        if not 0 <= count <= self.left:
            raise TruncatedError("Ran out of input", hint="the file is not complete: copy or save it again")
        self.left -= count
        found = self.file.read(count)
        if len(found) != count:
            raise TruncatedError("Ran out of input", hint="the file is not complete: copy or save it again")
        return found

    def take_line(self) -> str:
        """Read a line without its end."""
        line = self.file.readline(min(NAME_LENGTH, self.left))
        self.left -= len(line)
        if not line.endswith(b"\n"):
            raise TruncatedError("Ran out of input", hint="a name in the file does not end")
        return line[:-1].decode("utf-8")


# -- arguments of instructions ------------------------------------------
def take_number(form: str, source: Source) -> Any:
    """Read a number in a form of `struct`."""
    return struct.unpack(form, source.take(struct.calcsize(form)))[0]


def take_counted(form: str, source: Source) -> bytes:
    """Read bytes after their number."""
    return source.take(take_number(form, source))


def take_text(form: str, source: Source) -> str:
    """Read a text after the number of its bytes."""
    return take_counted(form, source).decode("utf-8", "surrogatepass")


def take_integer(form: str, source: Source) -> int:
    """Read an integer of any size after the number of its bytes."""
    return int.from_bytes(take_counted(form, source), "little", signed=True)


def take_name(source: Source) -> tuple[str, str]:
    """Read the names of a module and of an object in it."""
    return source.take_line(), source.take_line()
