"""Machine code on disk, in the directory that the environment variable FXGRAD_CACHE_DIR names.

The name of a file is a hash of everything that determines its content: the text, the processor, the versions of LLVM
and llvmlite. A file begins with a checksum of its name and content. A damaged file would make LLVM end the process, so
a file that does not match, or is not an object file, is compiled and written again. Code that another user could have
written is not run: directory and file must belong to the user, and nobody else may have write permission.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MAGIC = b"fxgrad machine code 2\n"
OBJECTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa")  # ELF, Mach-O, COFF for x86 and Arm


def keep(text: str, identity: str, compile_text: Callable[[str], bytes]) -> bytes:
    """Return the machine code of a text for a processor, from disk if it is there, otherwise compiled, and stored if
    there is a directory."""
    folder = find_folder()
    if folder is None:
        return compile_text(text)
    path = folder / (hashlib.sha256(f"{identity}\n{text}".encode()).hexdigest() + ".o")
    code = read(path)
    if code is None:
        code = compile_text(text)
        write(path, code)
    return code


def find_folder() -> Path | None:
    """Return the directory for machine code, or None if nothing is kept."""
    directory = os.environ.get("FXGRAD_CACHE_DIR")
    if not directory:
        return None
    try:
        folder = Path(directory).expanduser()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_ours(folder.stat()) else None
    except (OSError, RuntimeError):  # of a home directory that is not known
        return None


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or directory belongs to the user and is not writable for others."""
    if not hasattr(os, "getuid"):
        return True  # where directories of users are theirs
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read(path: Path) -> bytes | None:
    """Return the machine code in a file, or None if there is none to trust."""
    try:
        # A pipe would wait for somebody to write.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            data = file.read() if stat.S_ISREG(status.st_mode) and is_ours(status) else b""
    except OSError:
        return None
    head, code = data[: len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    return code if head == heading(path, code) and is_object(code) else None


def heading(path: Path, code: bytes) -> bytes:
    """Return the header of a file of this name."""
    return MAGIC + hashlib.sha256(path.name.encode() + code).digest()


def is_object(code: bytes) -> bool:
    """Whether bytes look like an object file; for ELF its table of sections is checked."""
    if not code.startswith(OBJECTS):
        return False
    if not code.startswith(OBJECTS[0]):
        return len(code) > 64
    kind, table = int.from_bytes(code[16:18], "little"), int.from_bytes(code[40:48], "little")
    size, count = (int.from_bytes(code[i : i + 2], "little") for i in (58, 60))
    return kind == 1 and size == 64 and 64 <= table <= len(code) - size * count


def write(path: Path, code: bytes) -> None:
    """Write a file as a whole or not at all."""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(heading(path, code) + code)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
