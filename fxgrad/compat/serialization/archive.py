"""torch's archives: zip files with uncompressed entries, each a record of a checkpoint.

Source of the format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, and of the names of the records
https://docs.pytorch.org/docs/stable/notes/serialization.html.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from ..errors import TensorError

MAGIC = b"PK\x03\x04"
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
ENTRY = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
LONG_END = struct.Struct("<4sQ2H2I4Q")
LONG_END_PLACE = struct.Struct("<4sIQI")
ALIGNMENT = 64  # of the contents of a record, so that they can be mapped
DATE = 0x21  # the first of January 1980
LIMIT32, LIMIT16 = 0xFFFFFFFF, 0xFFFF
ENCRYPTED, UTF8 = 0x1, 0x800  # flags of an entry: its contents, its name
# What the reader of zip files raises where one is broken.
BROKEN = (BadZipFile, NotImplementedError, OSError, ValueError, struct.error, OverflowError, EOFError)
VERSION, LONG_VERSION = 20, 45  # of the format, without and with sizes of 64 bits


def broken(text: str) -> TensorError:
    """Return the error for a file that is no archive of torch's."""
    return TensorError(f"PytorchStreamReader failed {text}", hint="the file is broken: copy or save it again")


class ArchiveWriter:
    """An archive that is written from beginning to end, into a file that needs only `write`."""

    def __init__(self, file: BinaryIO, name: str):
        self.file, self.name, self.place = file, name, 0
        self.entries: list[bytes] = []

    def write(self, data: bytes | memoryview) -> None:
        """Write bytes."""
        self.file.write(data)
        self.place += len(data)

    def write_record(self, name: str, data: bytes | memoryview) -> None:
        """Write a record."""
        path, size, start = f"{self.name}/{name}".encode(), len(data), self.place
        checksum = zlib.crc32(data)
        long = size >= LIMIT32
        extra = struct.pack("<2H2Q", 1, 16, size, size) if long else b""
        filler = -(start + LOCAL_HEADER.size + len(path) + len(extra) + 4) % ALIGNMENT
        extra += struct.pack("<2sH", b"FB", filler) + b"Z" * filler
        sizes = (LIMIT32, LIMIT32) if long else (size, size)
        version = LONG_VERSION if long else VERSION
        self.write(
            LOCAL_HEADER.pack(MAGIC, version, UTF8, 0, 0, DATE, checksum, *sizes, len(path), len(extra))
            + path
            + extra
        )
        self.write(data)
        wide = [n for n in (size, size, start) if n >= LIMIT32]
        extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        version = LONG_VERSION if wide else VERSION
        self.entries.append(
            ENTRY.pack(
                b"PK\x01\x02", version, version, UTF8, 0, 0, DATE, checksum, *sizes, len(path), len(extra), 0, 0, 0, 0,
                min(start, LIMIT32),
            ) + path + extra
        )  # fmt: skip

    def finish(self) -> None:
        """Write the end of the archive: the list of its records."""
        start, count = self.place, len(self.entries)
        for entry in self.entries:
            self.write(entry)
        size, end = self.place - start, self.place
        if start >= LIMIT32 or count >= LIMIT16:
            self.write(
                LONG_END.pack(
                    b"PK\x06\x06",
                    LONG_END.size - 12,
                    LONG_VERSION,
                    LONG_VERSION,
                    0,
                    0,
                    count,
                    count,
                    size,
                    start,
                )
            )
            self.write(LONG_END_PLACE.pack(b"PK\x06\x07", 0, end, 1))
        counts = (min(count, LIMIT16),) * 2
        self.write(END.pack(b"PK\x05\x06", 0, 0, *counts, min(size, LIMIT32), min(start, LIMIT32), 0))
        self.file.flush()


class Archive:
    """An archive that is read. All its records together are shorter than the file: none is compressed, and no two share
    bytes.

    Raises:
        RuntimeError: it is broken, or has compressed or encrypted entries.
    """

    def __init__(self, file: Any):
        self.file = file
        try:
            entries = ZipFile(file).infolist()
        except BROKEN as error:
            raise broken(f"reading zip archive: failed finding central directory ({error})") from None
        if not entries:
            raise broken("reading zip archive: archive is empty")
        self.name = entries[0].filename.partition("/")[0]
        self.records: dict[str, ZipInfo] = {}
        self.starts: dict[str, int] = {}
        end = 0
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            name = entry.filename.removeprefix(f"{self.name}/")
            if name == entry.filename or name in self.records:
                raise broken(
                    f"reading zip archive: {entry.filename!r} is outside of {self.name!r}, or there twice"
                )
            is_stored = entry.compress_type == ZIP_STORED and entry.compress_size == entry.file_size
            if not is_stored or entry.flag_bits & ENCRYPTED:
                raise broken(f"reading file {name}: it is compressed or encrypted, as torch's never are")
            if entry.header_offset < end:
                raise broken(f"reading file {name}: it overlaps another one")
            self.records[name], self.starts[name] = entry, self.find_contents(entry)
            end = self.starts[name] + entry.file_size
        self.end = file.seek(0, 2)
        if end > self.end:
            raise broken("reading zip archive: it is longer than the file")

    def find_contents(self, entry: ZipInfo) -> int:
        """Find the offset of the contents of an entry, which follow the entry's own header and name."""
        self.file.seek(entry.header_offset)
        header = self.file.read(LOCAL_HEADER.size)
        if len(header) != LOCAL_HEADER.size or header[:4] != MAGIC:
            raise broken(f"reading file {entry.filename}: it has no header")
        *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
        encoding = "utf-8" if entry.flag_bits & UTF8 else "cp437"
        if self.file.read(name_length) != entry.orig_filename.encode(encoding):
            raise broken(f"reading file {entry.filename}: its header has another name")
        return entry.header_offset + LOCAL_HEADER.size + name_length + extra_length

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self.records

    def find_record(self, name: str) -> tuple[ZipInfo, int]:
        """Return the entry of a record and the place of its contents.

        Raises:
            RuntimeError: there is none.
        """
        if name not in self.records:
            raise broken(f"locating file {name}: file not found")
        return self.records[name], self.starts[name]

    def read_record(self, name: str) -> bytes:
        """Return the contents of a record.

        Raises:
            RuntimeError: there is no such record, or its checksum differs.
        """
        made = np.empty(self.find_record(name)[0].file_size, np.uint8)
        self.read_into(name, made)
        return made.tobytes()

    def read_into(self, name: str, target: np.ndarray) -> None:
        """Read the contents of a record into the memory of an array of the same number of bytes.

        Raises:
            RuntimeError: there is no such record, or its size or checksum differs.
        """
        entry, start = self.find_record(name)
        self.check_size(name, target.nbytes)
        self.file.seek(start)
        fill(self.file, target)
        if zlib.crc32(memory_bytes(target)) != entry.CRC:
            raise broken(f"reading file {name}: its checksum is another one (CRC-32)")

    def map_record(self, name: str, path: str, dtype: np.dtype, mode: Any) -> np.ndarray:
        """Map a record as an array: its memory is read from the file on access."""
        entry, start = self.find_record(name)
        if not entry.file_size:
            return np.empty(0, dtype)
        mapped = np.memmap(path, dtype, mode, start, (entry.file_size // dtype.itemsize,))
        return mapped.view(np.ndarray)

    def check_size(self, name: str, size: int) -> None:
        """Raise if a record has another number of bytes."""
        found = self.find_record(name)[0].file_size
        if found != size:
            raise broken(f"reading file {name}: it holds {found} bytes, not {size}")


def memory_bytes(array: np.ndarray) -> memoryview:
    """Return the bytes of a contiguous array."""
    return memoryview(array.view(np.uint8))  # type: ignore[arg-type]


def fill(file: Any, target: np.ndarray) -> None:
    """Read as many bytes from a file as an array has, into its memory.

    Raises:
        RuntimeError: the file ends before.
    """
    left = memory_bytes(target)
    while left:
        count = file.readinto(left) if hasattr(file, "readinto") else copy_part(file, left)
        if not count:
            raise broken(f"reading file: unexpected EOF, {len(left)} bytes are missing")
        left = left[count:]


def copy_part(file: Any, target: memoryview) -> int:
    """Read some bytes from a file that cannot write into memory itself; return how many."""
    data = file.read(min(len(target), 1 << 24))
    target[: len(data)] = data
    return len(data)
