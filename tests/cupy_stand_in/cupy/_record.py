"""What happens on the devices: copies between them and the host, and the operations that run there."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Transfer:
    """A copy: `kind` is "host→device", "device→host" or "device→device". `by` is CuPy's function; where that reads no
    more than what it needs on the host (the number of nonzero entries) `nbytes` are those."""

    kind: str
    by: str
    nbytes: int
    device: int


@dataclass(frozen=True)
class Launch:
    """An operation that runs on a device, in the stream of this pointer."""

    name: str
    device: int
    stream: int


@dataclass
class Record:
    """What happened while the record was open."""

    transfers: list[Transfer] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)

    @property
    def to_host(self) -> list[Transfer]:
        """What came from the devices."""
        return [t for t in self.transfers if t.kind == "device→host"]

    @property
    def to_device(self) -> list[Transfer]:
        """What came from the host."""
        return [t for t in self.transfers if t.kind == "host→device"]


OPEN: list[Record] = []
LOCK = threading.Lock()


@contextmanager
def recording():
    """Open a `Record` of all threads."""
    record = Record()
    with LOCK:
        OPEN.append(record)
    try:
        yield record
    finally:
        with LOCK:
            OPEN[:] = [other for other in OPEN if other is not record]


def note_transfer(kind: str, by: str, nbytes: int, device: int) -> None:
    for record in OPEN:
        record.transfers.append(Transfer(kind, by, nbytes, device))


def note_launch(name: str, device: int, stream: int) -> None:
    for record in OPEN:
        record.launches.append(Launch(name, device, stream))
