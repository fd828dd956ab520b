"""Buckets: many arrays are summed over a group of processes in few messages, while further arrays are computed.

Each array is copied to its place in the flat memory of its bucket, and a full bucket starts its sum. All processes
start the sums in one order, whatever the order in which arrays become ready, so that matching collectives belong to the
same bucket. MPI advances a message only while a process is inside one of its calls, so every array that becomes ready
polls the earlier messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import kind_of
from ..core.errors import DTypeError, IndexingError, ShapeError, StructureError
from ..core.interpreter import api_boundary

if TYPE_CHECKING:
    from .communicator import Communicator, Work

BUCKET_BYTES = 25 << 20


def assign_buckets(
    shapes_and_dtypes: Sequence[tuple[tuple[int, ...], Any]], bucket_bytes: int
) -> list[list[int]]:
    """Return which arrays are in which bucket.

    Backward passes meet the parameters that are used last first, so the order is that of the arrays, reversed. A bucket
    has arrays of one dtype, and is closed when one more would make it larger than `bucket_bytes`.
    """
    closed: list[list[int]] = []
    filling: dict[Any, list[int]] = {}  # by dtype
    used: dict[Any, int] = {}  # bytes of these
    for index in reversed(range(len(shapes_and_dtypes))):
        shape, dtype = shapes_and_dtypes[index]
        size = prod(shape) * dtype.itemsize
        if dtype in filling and used[dtype] + size > bucket_bytes:
            closed.append(filling.pop(dtype))
        if dtype not in filling:
            filling[dtype], used[dtype] = [], 0
        filling[dtype].append(index)
        used[dtype] += size
    # Of those that are open, the one that has its last array first is full first.
    return [*closed, *sorted(filling.values(), key=lambda members: -members[-1])]


class Bucket:
    """Some of the arrays, one behind the other in one piece of memory, and the state of their sum."""

    __slots__ = ("dtype", "flat", "members", "missing", "places", "shapes", "size", "work")

    def __init__(self, members: Sequence[int], shapes: Sequence[tuple[int, ...]], dtype: Any):
        self.members, self.dtype = members, dtype
        self.shapes = {index: shapes[index] for index in members}
        self.places: dict[int, slice] = {}
        self.size = 0
        for index in members:
            start, self.size = self.size, self.size + prod(self.shapes[index])
            self.places[index] = slice(start, self.size)
        self.empty()

    def empty(self) -> None:
        """Return to the state before the first array."""
        self.flat: Any = None
        self.missing = set(self.members)
        self.work: Work | None = None

    def put(self, index: int, array: Any, xp: Any) -> None:
        """Copy an array to its place."""
        if self.flat is None:
            self.flat = xp.empty((self.size,), dtype=self.dtype)
        # An array of Fortran's order, say, is copied entry by entry: no second copy is made for it.
        self.flat[self.places[index]].reshape(self.shapes[index])[...] = array
        self.missing.discard(index)

    def start(self, comm: Communicator, op: str, xp: Any, filling: float = 0) -> None:
        """Start the reduction, in this memory. Arrays that are missing are filled with a number here."""
        if self.flat is None:
            self.flat = xp.empty((self.size,), dtype=self.dtype)
        for index in self.missing:
            self.flat[self.places[index]] = filling
        self.work = comm.start_all_reduce(self.flat, op, out=self.flat)

    def take(self) -> list[tuple[int, Any]]:
        """Wait for the reduction, and return the arrays, each with its index."""
        assert self.work is not None
        total = self.work.wait()
        arrays = [(index, total[self.places[index]].reshape(self.shapes[index])) for index in self.members]
        self.empty()
        return arrays


class Buckets:
    """Sums, or averages, of arrays over a group of processes.

    Args:
        comm: the group. Every member makes the same buckets.
        shapes_and_dtypes: what the arrays are, in the order in which a program uses them first.
        bucket_bytes: the size of a message. An array that is larger has a bucket of its own.
        average: sums are divided by the number of processes.
        xp: the namespace of the arrays.

    The arrays of one round are given by `ready`, in any order; `finish` returns the sums of them all, and the next
    round may begin. With a communicator of deterministic sums the results are the same bits whatever the buckets.

    Raises:
        DTypeError: an average of integers is asked for.
        StructureError: `bucket_bytes` is below one.

    >>> kinds = [((2,), np.dtype(float)), ((), np.dtype(float))]
    >>> buckets = fx.distributed.Buckets(fx.distributed.Communicator(), kinds)
    >>> buckets.ready(1, np.array(3.0))
    >>> buckets.ready(0, np.array([1.0, 2.0]))
    >>> buckets.finish()
    [array([1., 2.]), array(3.)]
    """

    comm: Communicator
    xp: Any
    buckets: list[Bucket]
    bucket_of: dict[int, Bucket]
    started: int
    done: int

    @api_boundary
    def __init__(
        self,
        comm: Communicator,
        shapes_and_dtypes: Sequence[tuple[tuple[int, ...], Any]],
        bucket_bytes: int = BUCKET_BYTES,
        average: bool = True,
        xp: Any = np,
    ):
        if bucket_bytes < 1:
            raise StructureError(
                f"buckets: bucket_bytes={bucket_bytes} is below one", hint="bucket_bytes=25 * 2**20, say"
            )
        kinds = tuple((tuple(shape), np.dtype(dtype)) for shape, dtype in shapes_and_dtypes)
        for index, (_, dtype) in enumerate(kinds):
            if average and kind_of(dtype) not in "fc":
                raise DTypeError(
                    f"buckets: array {index} has dtype {dtype}, of which there is no average",
                    hint="average=False, or convert it",
                )
        self.comm, self.xp, self.op = comm, xp, "mean" if average else "sum"
        self.kinds = kinds
        shapes = [shape for shape, _ in kinds]
        self.buckets = [Bucket(m, shapes, kinds[m[0]][1]) for m in assign_buckets(kinds, bucket_bytes)]
        self.bucket_of = {index: bucket for bucket in self.buckets for index in bucket.members}
        self.started = 0  # how many buckets are on their way: the first ones
        self.done = 0  # how many of them have arrived

    def ready(self, index: int, array: Any) -> None:
        """Give an array, which is copied; start the sums of the buckets that are full.

        Args:
            index: the number of the array.
            array: of the shape and dtype that were announced.

        Raises:
            IndexingError, ShapeError, DTypeError: there is no such array, or it is one of another shape or dtype.
            StructureError: it has been given in this round.
        """
        bucket = self.bucket_of.get(index)
        if bucket is None:
            raise IndexingError(
                f"buckets: there is no array {index} among {len(self.kinds)}",
                hint=f"an index from 0 to {len(self.kinds) - 1}, by the order of shapes_and_dtypes",
            )
        shape, dtype = self.kinds[index]
        if array.shape != shape:
            raise ShapeError(
                f"buckets: array {index} has the shape {array.shape}, expected {shape}",
                hint="the shapes with which the buckets were made, or new buckets",
            )
        if array.dtype != dtype:
            raise DTypeError(
                f"buckets: array {index} has dtype {array.dtype}, expected {dtype}",
                hint=f"array.astype({dtype.name!r}), or new buckets",
            )
        if index not in bucket.missing or bucket.work is not None:
            raise StructureError(f"buckets: array {index} is ready a second time", hint="call finish() first")
        bucket.put(index, array, self.xp)
        self.progress()
        while self.started < len(self.buckets) and not self.buckets[self.started].missing:
            self.start_next()

    def progress(self) -> None:
        """Let the messages that are on their way go on."""
        while self.done < self.started:
            work = self.buckets[self.done].work
            if work is None or not work.test():
                return
            self.done += 1

    def start_next(self, filling: float = 0) -> None:
        """Start the sum of the next bucket."""
        self.buckets[self.started].start(self.comm, self.op, self.xp, filling)
        self.started += 1

    def finish(self) -> list[Any]:
        """Return the sums, or averages, of all arrays, in their order; those that were not given count as zeros.

        Each has memory that nothing else has but the other arrays of its bucket: it may be written into.
        """
        while self.started < len(self.buckets):
            self.progress()
            self.start_next()
        found: list[Any] = [None] * len(self.kinds)
        for bucket in self.buckets:
            for index, array in bucket.take():
                found[index] = array
        self.started = self.done = 0
        return found

    def abandon(self) -> None:
        """Give up a round in which something has failed here. The other processes get NaN where they would wait for
        what is missing, and processes that go on after the failure meet in the next round."""
        while self.started < len(self.buckets):
            dtype = self.buckets[self.started].dtype
            self.start_next(nan if kind_of(dtype) in "fc" else 0)
        for bucket in self.buckets:
            bucket.empty()
        self.started = self.done = 0


__all__ = ["Buckets"]
