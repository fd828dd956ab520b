"""Communicators over MPI, by mpi4py.

Every message is non-blocking to MPI (`group` waits for it). What MPI cannot reduce (half precisions; NaN in a maximum),
and sums in the order of the members, are exchanged in blocks, reduced by NumPy and gathered: as many bytes as MPI's own
sums take.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.costs import ONE_STEP_BYTES
from ..core.errors import DTypeError
from .checks import Call
from .communicator import Communicator, Work, namespace
from .group import MPIGroup
from .nccl import NCCLCommunicator
from .reductions import BITWISE, OF_BOOLEANS, reduce_rows, working_dtype
from .requests import Message, Request, Steps, Together, load_mpi

PERMUTE_TAG = 5  # on the second communicator, as the tags of `checks` and `faults`


class MPICommunicator(MPIGroup):
    """A group of processes that send each other messages by MPI."""

    on_devices: Communicator | None = None  # who carries arrays on a GPU

    def _engine(self, x: Any) -> Communicator:
        if type(x) is np.ndarray:
            return self
        if self.on_devices is None:
            self.on_devices = NCCLCommunicator(self, namespace(x))
        return self.on_devices

    # -- reductions ---------------------------------------------------------------------------------------------
    def _all_reduce(self, x: Any, op: str, out: Any, in_order: bool) -> Work:
        call = self.begin_combining("all_reduce", x, op)
        theirs = mpi_operation(op, x.dtype, in_order)
        if theirs is None:
            return self.reduce_by_blocks(call, x, op, out)
        sent = self.sent(x, out)
        request = self.comm.Iallreduce(sent, carrier(out), theirs)
        return Request(self, call, request, (sent, out), out, self.division(op, out))

    def _reduce(self, x: Any, op: str, root: int, out: Any, in_order: bool) -> Work:
        call = self.begin_combining("reduce", x, f"{op}, root={root}", rooted=True)
        theirs = mpi_operation(op, x.dtype, in_order)
        if theirs is None:
            return self.reduce_by_blocks(call, x, op, out, root)
        sent = carrier(x) if out is None else self.sent(x, out)
        request = self.comm.Ireduce(sent, None if out is None else carrier(out), theirs, root)
        return Request(self, call, request, (sent, out), out, self.division(op, out))

    def _reduce_scatter(self, x: Any, op: str, out: Any, in_order: bool) -> Work:
        call = self.begin_combining("reduce_scatter", x, op)
        theirs = mpi_operation(op, x.dtype, in_order)
        if theirs is None:
            arriving = np.empty((self.size, out.size), x.dtype)
            request = self.comm.Ialltoall(carrier(x), carrier(arriving))
            return Request(
                self, call, request, (x, arriving), out, lambda: reduce_rows(arriving, op, out.reshape(-1))
            )
        x = apart(x, out)
        request = self.comm.Ireduce_scatter_block(carrier(x), carrier(out), theirs)
        return Request(self, call, request, (x, out), out, self.division(op, out))

    def reduce_by_blocks(self, call: Call, x: Any, op: str, out: Any, root: int | None = None) -> Work:
        """Reduce in the order of the members, each of which does so for a part of the entries if there are many."""
        if x.nbytes * self.size > ONE_STEP_BYTES:
            return Steps(self, call, self.blocks(x, op, out, root))
        is_here = root is None or root == self.rank
        arriving = np.empty((self.size, x.size), x.dtype) if is_here else None
        if root is None:
            request = self.comm.Iallgather(carrier(x), carrier(arriving))
        else:
            request = self.comm.Igather(carrier(x), carrier(arriving) if is_here else None, root)
        finish = (lambda: reduce_rows(arriving, op, out.reshape(-1))) if is_here else None
        return Request(self, call, request, (x, arriving), out, finish)

    def blocks(self, x: Any, op: str, out: Any, root: int | None) -> Generator[Any, None, Any]:
        """The steps: exchange blocks of entries, reduce one's own, gather them."""
        starts = [x.size * rank // self.size for rank in range(self.size + 1)]
        counts = [end - start for start, end in pairwise(starts)]
        arriving = np.empty((self.size, counts[self.rank]), x.dtype)
        of_one = [counts[self.rank]] * self.size, [counts[self.rank] * rank for rank in range(self.size)]
        sent = carrier(x).reshape(-1)
        yield self.comm.Ialltoallv([sent, (counts, starts[:-1])], [carrier(arriving), of_one])
        block = np.empty(counts[self.rank], x.dtype)
        reduce_rows(arriving, op, block)
        if root is None:
            yield self.side.Iallgatherv(carrier(block), [carrier(out), (counts, starts[:-1])])
        else:
            parts = None if out is None else [carrier(out), (counts, starts[:-1])]
            yield self.side.Igatherv(carrier(block), parts, root)
        return out

    def division(self, op: str, out: Any) -> Callable[[], Any] | None:
        """What is left to do for a mean."""
        return (lambda: np.divide(out, self.size, out=out)) if op == "mean" and out is not None else None

    def sent(self, x: Any, out: Any) -> Any:
        """What MPI is to reduce: nothing but `out` if that is x."""
        if x is not out and not np.may_share_memory(x, out):
            return carrier(x)
        return load_mpi().IN_PLACE if x.ctypes.data == out.ctypes.data else carrier(x.copy())

    # -- arrays of equal shapes ---------------------------------------------------------------------------------
    def _all_gather(self, x: Any, out: Any) -> Work:
        call = self.begin_combining("all_gather", x)
        x = apart(x, out)
        return Request(self, call, self.comm.Iallgather(carrier(x), carrier(out)), (x, out), out)

    def _gather(self, x: Any, root: int, out: Any) -> Work:
        call = self.begin_combining("gather", x, f"root={root}", rooted=True)
        if out is None:
            return Request(self, call, self.comm.Igather(carrier(x), None, root), x, None)
        x = apart(x, out)
        return Request(self, call, self.comm.Igather(carrier(x), carrier(out), root), (x, out), out)

    def _scatter(self, x: Any, root: int) -> Work:
        call = self.begin("scatter", detail=f"root={root}", rooted=True)
        return Steps(self, call, self.scattering(x, root))

    def scattering(self, x: Any, root: int) -> Generator[Any, None, Any]:
        """The steps: tell shape and dtype, send."""
        shape, dtype = yield from self.broadcasting(None if x is None else (x.shape[1:], x.dtype), root)
        out = np.empty(shape, dtype)
        yield self.side.Iscatter(None if x is None else carrier(x), carrier(out), root)
        return out

    def _all_to_all(self, x: Any, out: Any) -> Work:
        call = self.begin_combining("all_to_all", x)
        x = apart(x, out)
        return Request(self, call, self.comm.Ialltoall(carrier(x), carrier(out)), (x, out), out)

    def _broadcast(self, out: Any, root: int) -> Work:
        call = self.begin("broadcast", out, f"root={root}", rooted=True)
        return Request(self, call, self.comm.Ibcast(carrier(out), root), out, out)

    def _permute(self, x: Any, perm: Sequence[tuple[int, int]], out: Any) -> Work:
        call = self.begin("permute", x, str(perm))
        arriving = [self.side.Irecv(carrier(out), s, PERMUTE_TAG) for s, t in perm if t == self.rank]
        sent = [self.side.Isend(carrier(x), t, PERMUTE_TAG) for s, t in perm if s == self.rank]
        return Request(self, call, Together(arriving + sent), (x, out), out)

    # -- rows ---------------------------------------------------------------------------------------------------
    def _all_gather_rows(self, x: Any) -> Any:
        call = self.begin("all_gather_rows", x, shape=(None, *x.shape[1:]))
        return Steps(self, call, self.gathering_rows(x, None)).wait()

    def _gather_rows(self, x: Any, root: int) -> Any:
        call = self.begin("gather_rows", x, f"root={root}", shape=(None, *x.shape[1:]), rooted=True)
        return Steps(self, call, self.gathering_rows(x, root)).wait()

    def gathering_rows(self, x: Any, root: int | None) -> Generator[Any, None, Any]:
        """The steps: tell the numbers of rows, send them."""
        counts = np.empty(self.size, np.int64)
        yield self.comm.Iallgather(np.array([len(x)]), counts)
        if root not in (None, self.rank):
            yield self.side.Igatherv(carrier(x), None, root)
            return None
        out = np.empty((int(counts.sum()), *x.shape[1:]), x.dtype)
        parts = [carrier(out), extents(counts, x.shape[1:])]
        yield (
            self.side.Iallgatherv(carrier(x), parts)
            if root is None
            else self.side.Igatherv(carrier(x), parts, root)
        )
        return out

    def _scatter_rows(self, x: Any, root: int, counts: Sequence[int]) -> Any:
        call = self.begin("scatter_rows", detail=f"root={root}", rooted=True)
        return Steps(self, call, self.scattering_rows(x, root, counts)).wait()

    def scattering_rows(self, x: Any, root: int, counts: Sequence[int]) -> Generator[Any, None, Any]:
        """The steps: tell shapes and dtype, send."""
        told = None if x is None else (x.shape[1:], x.dtype, [int(n) for n in counts])
        shape, dtype, counts = yield from self.broadcasting(told, root)
        out = np.empty((counts[self.rank], *shape), dtype)
        parts = None if x is None else [carrier(x), extents(counts, shape)]
        yield self.side.Iscatterv(parts, carrier(out), root)
        return out

    def _all_to_all_rows(self, x: Any, counts: Sequence[int]) -> Any:
        call = self.begin("all_to_all_rows", x, shape=(None, *x.shape[1:]))
        return Steps(self, call, self.exchanging_rows(x, counts)).wait()

    def exchanging_rows(self, x: Any, counts: Sequence[int]) -> Generator[Any, None, Any]:
        """The steps: tell the numbers of rows, send them."""
        arriving = np.empty(self.size, np.int64)
        yield self.comm.Ialltoall(np.array(counts, np.int64), arriving)
        out = np.empty((int(arriving.sum()), *x.shape[1:]), x.dtype)
        sent = [carrier(x), extents(counts, x.shape[1:])]
        yield self.side.Ialltoallv(sent, [carrier(out), extents(arriving, x.shape[1:])])
        return out

    # -- messages between two -----------------------------------------------------------------------------------
    def _send(self, x: Any, target: int, tag: int) -> Work:
        call = self.begin_sending(x, target, tag)
        return Request(self, call, self.comm.Isend(carrier(x), target, tag), x, None)

    def _recv(self, out: Any, source: int | None, tag: int) -> Work:
        call = self.begin_receiving("recv", source, tag)
        call.dtype, call.shape = out.dtype, out.shape
        sender = load_mpi().ANY_SOURCE if source is None else source
        return Message(self, call, self.comm.Irecv(carrier(out), sender, tag), out, out)

    def send_object(self, value: Any, target: int, tag: int = 0) -> None:
        self.start_send(pickled(value), target, tag).wait()

    def recv_object(self, source: int | None = None, tag: int = 0) -> Any:
        mpi, call = load_mpi(), self.begin_receiving("recv_object", source, tag)
        status = mpi.Status()
        sender = mpi.ANY_SOURCE if source is None else source
        self.wait_until(lambda: self.comm.Iprobe(sender, tag, status), call)
        out = np.empty(status.Get_count(mpi.BYTE), np.uint8)
        return unpickled(Message(self, call, self.comm.Irecv(out, status.Get_source(), tag), out, out).wait())

    # -- objects ------------------------------------------------------------------------------------------------
    def broadcast_object(self, value: Any = None, root: int = 0) -> Any:
        is_root = self._is_root("broadcast_object", root)
        call = self.begin("broadcast_object", detail=f"root={root}", rooted=True)
        return Steps(self, call, self.broadcasting(value if is_root else None, root)).wait()

    def broadcasting(self, value: Any, root: int) -> Generator[Any, None, Any]:
        """The steps: tell the length, send."""
        text = pickled(value) if root == self.rank else np.empty(0, np.uint8)
        length = np.array([text.size])
        yield self.comm.Ibcast(length, root)
        text = text if root == self.rank else np.empty(int(length[0]), np.uint8)
        yield self.side.Ibcast(text, root)
        return unpickled(text)

    def gather_objects(self, value: Any) -> list[Any]:
        call = self.begin("gather_objects")
        return Steps(self, call, self.gathering_objects(value)).wait()

    def gathering_objects(self, value: Any) -> Generator[Any, None, Any]:
        """The steps: tell the lengths, send."""
        text, lengths = pickled(value), np.empty(self.size, np.int64)
        yield self.comm.Iallgather(np.array([text.size]), lengths)
        texts = np.empty(int(lengths.sum()), np.uint8)
        yield self.side.Iallgatherv(text, [texts, extents(lengths, ())])
        return [unpickled(part) for part in np.split(texts, np.cumsum(lengths)[:-1])]

    def scatter_objects(self, values: Sequence[Any] | None = None, root: int = 0) -> Any:
        is_root = self._is_root("scatter_objects", root)
        if is_root:
            self._check_objects(values)
        texts = [pickled(value) for value in values or ()] if is_root else []
        joined = np.concatenate(texts) if is_root else None
        return unpickled(self.scatter_rows(joined, root, counts=[text.size for text in texts]))

    # -- groups -------------------------------------------------------------------------------------------------
    def start_barrier(self) -> Work:
        return Request(self, self.begin("barrier"), self.comm.Ibarrier(), None, None)

    def split(self, color: int | None, key: int = 0) -> Any:
        self.begin("split")
        self.splits += 1
        colors = self.gather_objects(color)
        found = sorted({c for c in colors if c is not None})
        here = load_mpi().UNDEFINED if color is None else found.index(color)
        comm = self.comm.Split(here, key)
        if color is None:
            return None
        group = MPICommunicator(comm, f"{self.name}/{self.splits}:{color}", self.watch)
        comm.Free()
        group.timeout, group.check, group.deterministic = self.timeout, self.check, self.deterministic
        return group

    def free(self) -> None:
        self.comm.Free()
        self.side.Free()


def carrier(x: Any) -> Any:
    """Return an array's memory in a dtype that MPI knows."""
    return x if x.dtype.num in KNOWN else x.view(f"u{x.dtype.itemsize}")


# By numbers: extension dtypes have characters of others, and a dtype that was pickled is not said to be built in.
KNOWN = {np.dtype(character).num for character in "bBhHiIlLqQfdgFD"}


def apart(x: Any, out: Any) -> Any:
    """Return x, or a copy of it where `out` shares its memory."""
    return x.copy() if np.may_share_memory(x, out) else x


@cache
def mpi_operation(op: str, dtype: np.dtype, in_order: bool) -> Any:
    """Return MPI's operation for a reduction, or None where NumPy has to carry it out."""
    inexact = dtype.kind not in "biu"
    if working_dtype(dtype) != dtype or (inexact and (in_order or op in ("max", "min"))):
        return None
    if dtype.kind == "b":
        op = OF_BOOLEANS[op]
    name = "SUM" if op == "mean" else f"B{op}".upper() if op in BITWISE else op.upper()
    return getattr(load_mpi(), name)


def extents(counts: Any, shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return how many entries each member has, and where they begin, of rows of a shape."""
    entries = [int(count) * int(np.prod(shape, dtype=np.int64)) for count in counts]
    return entries, [sum(entries[:rank]) for rank in range(len(entries))]


def pickled(value: Any) -> Any:
    """Return an object as bytes, or why it cannot be pickled: so that it is an error on all who await it."""
    try:
        text = load_mpi().pickle.dumps((value, None))
    except Exception as error:
        text = load_mpi().pickle.dumps((None, f"{type(value).__name__} cannot be pickled: {error}"))
    return np.frombuffer(text, np.uint8)


def unpickled(text: Any) -> Any:
    value, failure = load_mpi().pickle.loads(text.tobytes())
    if failure is not None:
        raise DTypeError(failure)
    return value
