"""Machine code on disk, if the environment variable FXGRAD_CACHE_DIR names a directory for it.

A file is named by what decides about its content: the text, the processor, the versions of LLVM and llvmlite. It begins
with the checksum of the rest; what does not agree is compiled again and written anew. Code that somebody else could
have written is not run: directory and file must belong to the user, and nobody else may write to them.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAGIC = b"fxgrad machine code 1\n"


def keep(text: str, identity: str, compile_text: Callable[[str], bytes]) -> bytes:
    """Return the machine code of a text for a processor: that which is on disk, or else compile it, and put it there if
    there is a place for it."""
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
    """Return the directory for machine code, or None where nothing is kept."""
    directory = os.environ.get("FXGRAD_CACHE_DIR")
    if not directory:
        return None
    folder = Path(directory).expanduser()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_ours(folder) else None
    except OSError:
        return None


def is_ours(path: Path) -> bool:
    """Whether a file or directory belongs to the user, and nobody else may write to it."""
    if not hasattr(os, "getuid"):
        return True  # where directories of users are theirs
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read(path: Path) -> bytes | None:
    """Return the machine code in a file, or None where there is none that can be trusted."""
    try:
        if not is_ours(path):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    head, code = data[: len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    return code if head == MAGIC + hashlib.sha256(code).digest() else None


def write(path: Path, code: bytes) -> None:
    """Write a file as a whole or not at all."""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
