"""The memory of CUDA devices, managed by CuPy's pool."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .._declare.packages import complete_module
from .._make.devices import device_count, import_cupy
from .streams import place_of

PEAKS: dict[int, int] = {}  # device → the greatest number of bytes in use since it was reset
HOOKS: list[Any] = []  # that of CuPy by which they are counted, once somebody asks


def ask_pool(device: Any, question: Callable[[Any], int]) -> int:
    """Ask the pool of a device, if there is one; 0 otherwise."""
    if not device_count():
        return 0
    library = import_cupy()
    with library.cuda.Device(place_of(device).index):
        return question(library.get_default_memory_pool())


def memory_allocated(device: Any = None) -> int:
    """How many bytes Tensors have on a device: 0 without one.

    >>> torch.cuda.memory_allocated() >= 0
    True
    """
    return ask_pool(device, lambda pool: pool.used_bytes())


def memory_reserved(device: Any = None) -> int:
    """How many bytes CuPy's pool has on a device: 0 without one.

    >>> torch.cuda.memory_reserved() >= 0
    True
    """
    return ask_pool(device, lambda pool: pool.total_bytes())


def max_memory_allocated(device: Any = None) -> int:
    """The greatest number of bytes that Tensors had on a device since `reset_peak_memory_stats`, or since this was
    first asked: CuPy counts them for the thread that asks.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.max_memory_allocated()
    """
    return ask_pool(device, lambda pool: max(pool.used_bytes(), watch_peaks().get(place_of(device).index, 0)))


def max_memory_reserved(device: Any = None) -> int:
    """The bytes of CuPy's pool, which shrinks only by `empty_cache`.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.max_memory_reserved()
    """
    return memory_reserved(device)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def watch_peaks() -> dict[int, int]:
    """Return the peak numbers of bytes; the first call starts counting."""
    library = import_cupy()
    if not HOOKS or not isinstance(HOOKS[0], library.cuda.MemoryHook):

        class PeakHook(library.cuda.MemoryHook):
            name = "fxgrad peaks"

            def malloc_postprocess(self, **what: Any) -> None:
                place = what["device_id"]
                PEAKS[place] = max(PEAKS.get(place, 0), library.get_default_memory_pool().used_bytes())

        HOOKS[:] = [PeakHook()]
        ExitStack().enter_context(HOOKS[0])
    return PEAKS


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the greatest number of bytes on a device anew.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_peak_memory_stats()
    """
    if device_count():
        watch_peaks()[place_of(device).index] = memory_allocated(device)


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = (
    reset_peak_memory_stats
)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The pair (free bytes, all bytes) of a device.

    Returns:
        A tuple of two ints.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.mem_get_info()
    """
    return import_cupy().cuda.Device(place_of(device).index).mem_info


def empty_cache() -> None:
    """Give the memory that CuPy's pool holds back to the device.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.empty_cache()
    """
    if device_count():
        import_cupy().get_default_memory_pool().free_all_blocks()


def memory_stats(device: Any = None) -> dict[str, int]:
    """The statistics of the memory pool, under torch's names; empty without a device.

    Returns:
        A dict.

    >>> type(torch.cuda.memory_stats()).__name__ in ("dict", "OrderedDict")
    True
    """
    if not device_count():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
        "reserved_bytes.all.peak": max_memory_reserved(device),
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The bytes of Tensors and of the pool, as a text.

    Args:
        abbreviated: accepted and without effect.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.memory_summary()
    """
    return f"allocated {memory_allocated(device)} bytes, reserved {memory_reserved(device)} bytes"


def ipc_collect() -> None:
    """Free what other processes have shared: nothing.

    >>> torch.cuda.ipc_collect()
    """


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Bound the memory of CuPy's pool on a device.

    Args:
        fraction: the part of the memory, from 0 to 1.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.set_per_process_memory_fraction(0.5)
    """
    library = import_cupy()
    with library.cuda.Device(place_of(device).index):
        library.get_default_memory_pool().set_limit(fraction=fraction)


__all__ = [
    "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip


complete_module(globals(), "cuda")
