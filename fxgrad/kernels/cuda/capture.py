"""CUDA graphs of functions of CuPy arrays: the launches of a call are captured once, and replayed as one launch.

    inputs  → copied to where they were when it was captured
    graph   → the same kernels, in the same memory
    results → copied from where they are

The memory of a graph is in a pool of its own, so that nothing else allocates it. Calls from several threads and streams
take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from ...core.aval import SCALARS
from ...core.errors import ConcretizationError, DTypeError
from .group import common_device


class CapturedFunction:
    """A function of CuPy arrays of fixed shapes and dtypes, code: positional arrays → results, as a CUDA graph on each
    device. The first call on a device runs it as it is, which compiles its kernels; the second one captures it.

    Raises:
        DTypeError: an operand is a Python number, whose value the graph would keep.
        ConcretizationError: the function asks for values on the host, which a graph cannot do.
    """

    def __init__(self, code: Callable[..., Any], cupy: Any):
        self.code, self.cupy = code, cupy
        self.graphs: dict[int, StaticGraph | None] = {}  # by device; None after the first call
        self.lock = Lock()

    def __call__(self, *operands: Any) -> list[Any]:
        if any(type(x) in SCALARS for x in operands):
            raise DTypeError(
                "jit: with cuda_graph=True every argument is an array: a Python number would be kept as it is now",
                hint="make it an array on the device, fx.device_put(np.float32(lr), 'cuda'), or a static argument",
            )
        with self.lock, common_device(operands) as device:
            if device.id not in self.graphs:
                results = self.code(*operands)
                self.graphs[device.id] = None
                return results
            graph = self.graphs[device.id]
            if graph is None:
                graph = self.graphs[device.id] = StaticGraph(self.code, operands, self.cupy)
            return graph.launch(operands, self.cupy.cuda.get_current_stream())


class StaticGraph:
    """A CUDA graph with the memory of its operands and results."""

    def __init__(self, code: Callable[..., Any], operands: Sequence[Any], cupy: Any):
        stream, here = cupy.cuda.Stream(non_blocking=True), cupy.cuda.get_current_stream()
        self.pool = cupy.cuda.MemoryPool()
        self.operands = [x.copy() for x in operands]
        here.synchronize()
        with stream, cupy.cuda.using_allocator(self.pool.malloc):
            code(*self.operands)  # so that the pool has the memory, which must not be asked for in between
            stream.synchronize()
            with capturing(cupy, stream) as captured:
                self.results = list(code(*self.operands))
        [self.graph] = captured
        self.is_array = [isinstance(x, cupy.ndarray) for x in self.results]
        self.done = cupy.cuda.Event(disable_timing=True)
        self.done.record(here)

    def launch(self, operands: Sequence[Any], stream: Any) -> list[Any]:
        """Run the graph on new operands in a stream, after its last call; return copies of the results."""
        stream.wait_event(self.done)
        for mine, x in zip(self.operands, operands):
            mine[...] = x
        self.graph.launch(stream)
        results = [x.copy() if is_array else x for x, is_array in zip(self.results, self.is_array)]
        self.done.record(stream)
        return results


@contextmanager
def capturing(cupy: Any, stream: Any) -> Iterator[list[Any]]:
    """Context manager that captures the launches in a stream, and appends the graph to the list that it yields.

    Host data is refused: the graph would copy it again from pinned memory that then belongs to somebody else.
    """
    captured: list[Any] = []
    pinned = cupy.get_default_pinned_memory_pool()
    cupy.cuda.set_pinned_memory_allocator(refuse_host_data)
    stream.begin_capture()
    try:
        yield captured
    except BaseException as error:
        with suppress(RuntimeError):  # CUDA complains once more of a capture that has failed
            stream.end_capture()
        if not isinstance(error, RuntimeError):
            raise
        raise ConcretizationError(
            f"jit: what a CUDA graph cannot hold, since it takes the host: {error}",
            hint="give what is on the host as an argument, which is on the device; or leave out cuda_graph=True",
        ) from error
    else:
        captured.append(stream.end_capture())
    finally:
        cupy.cuda.set_pinned_memory_allocator(pinned.malloc)


def refuse_host_data(size: int) -> Any:
    """Stand for the allocator of pinned memory, through which host data goes to the device."""
    raise RuntimeError(f"{size} bytes of the host would be copied at each launch")
