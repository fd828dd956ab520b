"""Stores: keys and values that several processes, or threads, share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import RLock
from typing import Any

from ..errors import ArgumentError, DistStoreError, QueueEmptyError, TensorError

POLL = 0.01  # seconds between two looks for a key


def to_bytes(value: Any) -> bytes:
    """Return a value as stores have it."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise ArgumentError(
        f"a store has values of str or bytes, not {type(value).__name__}",
        hint="str(value), or pickle.dumps(value)",
    )


class Store:
    """Keys and values; `open` gives all of them as a dict, for as long as nobody else changes them.

    >>> store = dist.HashStore()
    >>> store.set("epoch", "3")
    >>> store.get("epoch"), store.add("steps", 2), store.add("steps", 5)
    (b'3', 2, 7)
    """

    timeout = timedelta(seconds=300)

    @contextmanager
    def _fx_open(self) -> Iterator[dict[str, bytes]]:
        """Open the stored values for reading and writing."""
        raise NotImplementedError
        yield

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value.

        Args:
            key: its name.
            value: text or bytes.

        Raises:
            TypeError: a value is neither text nor bytes.
        """
        with self._fx_open() as items:
            items[key] = to_bytes(value)

    def get(self, key: str) -> bytes:
        """Return a value, waiting until somebody stores it.

        Raises:
            DistStoreError: nobody has, within `timeout`.
        """
        self.wait([key])
        with self._fx_open() as items:
            return items[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which is 0 at first, and return the sum.

        Args:
            key: the name of the number.
            amount: an integer.
        """
        with self._fx_open() as items:
            total = int(items.get(key, b"0")) + amount
            items[key] = str(total).encode()
        return total

    def append(self, key: str, value: str | bytes) -> None:
        """Append to a value, which is empty at first.

        Args:
            key: the name of the value.
            value: text or bytes.

        Raises:
            TypeError: a value is neither text nor bytes.
        """
        with self._fx_open() as items:
            items[key] = items.get(key, b"") + to_bytes(value)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Store a value if the present one is as expected, or none is there and none expected; return what is stored
        then, or what was expected if there is nothing.

        Args:
            key: the name of the value.
            expected_value: what the present one has to be; empty: none.
            desired_value: what is stored.

        Raises:
            TypeError: a value is neither text nor bytes.
        """
        expected, desired = to_bytes(expected_value), to_bytes(desired_value)
        with self._fx_open() as items:
            if items.get(key, b"") == expected:
                items[key] = desired
            return items.get(key, expected)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of the keys are there."""
        with self._fx_open() as items:
            return all(key in items for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all of the keys are there.

        Args:
            keys: names of values.
            timeout: how long it waits at most; None: as long as the store does.

        Raises:
            DistStoreError: they are not, within the time.
        """
        limit = self.timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                milliseconds = round(limit.total_seconds() * 1000)
                raise DistStoreError(
                    f"wait timeout after {milliseconds}ms, keys: {', '.join(keys)}",
                    hint="store.set(key, value) by a process; store.set_timeout(timedelta(minutes=5)) waits longer",
                )
            time.sleep(POLL)

    def delete_key(self, key: str) -> bool:
        """Delete a key; return whether it was there."""
        with self._fx_open() as items:
            return items.pop(key, None) is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        with self._fx_open() as items:
            return len(items)

    def list_keys(self) -> list[str]:
        """The keys."""
        with self._fx_open() as items:
            return list(items)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return several values, waiting for all."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values.

        Args:
            keys: their names.
            values: texts or bytes, as many.
        """
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Append a value to a queue.

        Args:
            key: the name of the queue.
            value: text or bytes.

        Raises:
            TypeError: a value is neither text nor bytes.
        """
        with self._fx_open() as items:
            queue = json.loads(items.get(key, b"[]"))
            items[key] = json.dumps([*queue, to_bytes(value).hex()]).encode()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value out of a queue; wait for one unless `block` is False.

        Args:
            key: the name of the queue.

        Raises:
            QueueEmptyError: there is none, and `block` is False.
            DistStoreError: none comes in time.
        """
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            with self._fx_open() as items:
                queue = json.loads(items.get(key, b"[]"))
                if queue:
                    items[key] = json.dumps(queue[1:]).encode()
                    return bytes.fromhex(queue[0])
            if not block:
                raise QueueEmptyError(f"the queue {key} is empty", hint="block=True waits for what is pushed")
            if time.monotonic() > end:
                raise DistStoreError(
                    f"wait timeout, queue: {key}",
                    hint="store.queue_push(key, value) by a process; store.set_timeout(timedelta(minutes=5)) waits "
                    "longer",
                )
            time.sleep(POLL)

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        with self._fx_open() as items:
            return len(json.loads(items.get(key, b"[]")))

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self.timeout = timeout

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`: always."""
        return True


class HashStore(Store):
    """A store of this process, which its threads share.

    >>> store = dist.HashStore()
    >>> store.set("epoch", "3")
    >>> store.get("epoch")
    b'3'
    """

    def __init__(self) -> None:
        self._fx_items: dict[str, bytes] = {}
        self._fx_lock = RLock()

    @contextmanager
    def _fx_open(self) -> Iterator[dict[str, bytes]]:
        """Open the stored values for reading and writing."""
        with self._fx_lock:
            yield self._fx_items


class FileStore(Store):
    """A store in a file, which processes of one machine, or of one file system, share.

    Args:
        file_name: the file, which is made if it is not there.
        world_size: accepted.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = dist.FileStore(os.path.join(folder, "store"))
    ...     store.set("epoch", "3")
    ...     store.get("epoch")
    b'3'
    """

    def __init__(self, file_name: str, world_size: int = -1):
        self.path = os.fspath(file_name)
        with self._fx_open():
            pass

    @contextmanager
    def _fx_open(self) -> Iterator[dict[str, bytes]]:
        """Open the stored values for reading and writing."""
        import fcntl  # which Windows has not

        with open(os.open(self.path, os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = file.read()
            items = {key: bytes.fromhex(value) for key, value in json.loads(text or "{}").items()}
            before = dict(items)
            yield items
            if items != before:
                file.seek(0)
                json.dump({key: value.hex() for key, value in items.items()}, file)
                file.truncate()


class PrefixStore(Store):
    """A part of a store: the keys with a prefix, which stands before a slash.

    >>> store = dist.HashStore()
    >>> dist.PrefixStore("a", store).set("epoch", "3")
    >>> dist.PrefixStore("a", store).get("epoch")
    b'3'
    """

    def __init__(self, prefix: str, store: Store):
        self._fx_prefix, self.underlying_store = prefix, store
        self.timeout = store.timeout

    @contextmanager
    def _fx_open(self) -> Iterator[dict[str, bytes]]:
        """Open the stored values for reading and writing."""
        start = f"{self._fx_prefix}/"
        with self.underlying_store._fx_open() as items:
            part = {key.removeprefix(start): value for key, value in items.items() if key.startswith(start)}
            gone = set(part)
            yield part
            for key in gone - set(part):
                del items[start + key]
            items.update({start + key: value for key, value in part.items()})


class TCPStore(HashStore):
    """A store of this process alone, under the name of torch's that listens on the network: processes find each other
    by MPI here.

    Args:
        host_name: the machine that has the store.
        port: its port; 0: one that is free.
        world_size: the number of processes that wait for one another.
        is_master: whether this process has the store.
        timeout: how long to wait; None: as long as the group says.
        wait_for_workers: whether to wait until all processes are there.
        multi_tenant: accepted and without effect.
        master_listen_fd: accepted and without effect.
        use_libuv: accepted and without effect.

    Raises:
        TensorError: several processes are to share it.

    >>> store = dist.TCPStore("localhost", 0, is_master=True)
    >>> store.set("epoch", "3")
    >>> store.get("epoch")
    b'3'
    """

    def __init__(
        self,
        host_name: str,
        port: int = 0,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = Store.timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ):
        if (world_size or 1) > 1 or not is_master:
            raise TensorError(
                "TCPStore: nothing listens on the network here; processes find each other by MPI",
                hint="FileStore(path), which processes can share, or broadcast_object_list",
            )
        super().__init__()
        self.host, self.port, self.timeout = host_name, port, timeout


__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
