"""Memory on the devices, counted by its pools as CuPy's are, and pinned memory on the host."""

from __future__ import annotations

import threading

import numpy as np

TOTAL = 8 << 30  # bytes on each device
POOLS: dict[int, MemoryPool] = {}  # device → its pool
LOCK = threading.RLock()


class OutOfMemoryError(MemoryError):
    """A device has no more memory, or the pool's limit is reached."""


class MemoryPool:
    """The bytes in use on a device, and those of freed memory that the pool keeps."""

    def __init__(self):
        self.used = self.kept = self.limit = 0

    def malloc(self, size: int) -> None:
        raise NotImplementedError("memory is NumPy's")

    def used_bytes(self) -> int:
        return self.used

    def free_bytes(self) -> int:
        return self.kept

    def total_bytes(self) -> int:
        return self.used + self.kept

    def n_free_blocks(self) -> int:
        return int(self.kept > 0)

    def free_all_blocks(self, stream=None) -> None:
        self.kept = 0

    def free_all_free(self) -> None:
        self.kept = 0

    def get_limit(self) -> int:
        return self.limit

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self.limit = int(size or 0) if fraction is None else int(fraction * TOTAL)

    def take(self, nbytes: int) -> None:
        with LOCK:
            if self.used + nbytes > (self.limit or TOTAL):
                raise OutOfMemoryError(
                    f"Out of memory allocating {nbytes:,} bytes (allocated so far: {self.used:,} bytes)."
                )
            self.used += nbytes
            self.kept = max(self.kept - nbytes, 0)

    def give_back(self, nbytes: int) -> None:
        with LOCK:
            self.used -= nbytes
            self.kept += nbytes


def pool_of(device: int) -> MemoryPool:
    return POOLS.setdefault(device, MemoryPool())


class MemoryHook:
    """What is called for every block that a thread gets from a pool, while it is entered."""

    name = "MemoryHook"
    of_thread = threading.local()

    def __enter__(self) -> MemoryHook:
        hooks = vars(self.of_thread).setdefault("hooks", {})
        if self.name in hooks:
            raise KeyError(f"memory hook {self.name} already exists")
        hooks[self.name] = self
        return self

    def __exit__(self, *exc) -> None:
        del self.of_thread.hooks[self.name]

    def malloc_postprocess(self, **what) -> None:
        pass


class Memory:
    """A block of a device, which goes back to the pool with the last array that is in it. `size` is in whole 512 bytes,
    as CuPy's are."""

    def __init__(self, owner: np.ndarray, device: int):
        self.owner, self.device_id, self.size = owner, device, -(-owner.nbytes // 512) * 512
        self.taken = 0
        pool_of(device).take(self.size)
        self.taken = self.size
        for hook in list(vars(MemoryHook.of_thread).get("hooks", {}).values()):
            hook.malloc_postprocess(
                device_id=device, size=owner.nbytes, mem_size=self.size, mem_ptr=self.ptr, pmem_id=id(self)
            )

    def __del__(self):
        if self.taken:
            pool_of(self.device_id).give_back(self.taken)

    @property
    def ptr(self) -> int:
        return self.owner.__array_interface__["data"][0]


class MemoryPointer:
    """A place in a block."""

    def __init__(self, mem: Memory, ptr: int):
        self.mem, self.ptr, self.device_id = mem, ptr, mem.device_id

    @property
    def device(self):
        from .cuda import Device

        return Device(self.device_id)


class PinnedMemoryPointer(bytearray):
    """Pinned memory, which is read and written as a buffer."""

    @property
    def ptr(self) -> int:
        return np.frombuffer(self, np.uint8).__array_interface__["data"][0]

    @property
    def mem(self) -> PinnedMemoryPointer:
        return self

    def size(self) -> int:
        return len(self)


class PinnedMemoryPool:
    """The pool of pinned memory, which keeps nothing."""

    def malloc(self, size: int) -> PinnedMemoryPointer:
        return PinnedMemoryPointer(size)

    def free_all_blocks(self) -> None:
        pass

    def n_free_blocks(self) -> int:
        return 0
