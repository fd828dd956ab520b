"""Collectives of arrays on a GPU, by CuPy's NCCL, without transfers through host memory.

Each group has an NCCL communicator beside that of MPI, created when the first array on a GPU arrives; each process
computes on a device of its own. Collectives run on a separate stream, after the work submitted to the current stream.
Waiting for a collective makes the current stream wait, while the host continues.

NCCL adds real numbers. Other reductions (half precision rounded once, NaN in a maximum, products of complex numbers,
bits), and sums in the order of the members, are gathered and reduced by each process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import UnsupportedError, describe
from .communicator import Communicator, Done, Work
from .reductions import OF_BOOLEANS, reduce_rows, working_dtype

if TYPE_CHECKING:
    from .group import MPIGroup

OPERATIONS = {"sum": "SUM", "mean": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}
TYPES = {"int8": "INT8", "uint8": "UINT8", "int32": "INT32", "uint32": "UINT32", "int64": "INT64",
         "uint64": "UINT64", "float32": "FLOAT32", "float64": "FLOAT64"}  # fmt: skip


class Queued(Work):
    """A collective that a stream carries out."""

    def __init__(self, xp: Any, event: Any, buffers: Any, result: Any):
        self.xp, self.event, self.buffers, self.result = xp, event, buffers, result

    def wait(self) -> Any:
        self.xp.cuda.get_current_stream().wait_event(self.event)
        return self.result

    def test(self) -> bool:
        return self.event.done


class NCCLCommunicator(Communicator):
    """The members of a group, as far as arrays on their GPUs are concerned."""

    def __init__(self, group: MPIGroup, xp: Any):
        super().__init__()
        self.xp = xp
        self.nccl: Any = getattr(getattr(xp, "cuda", None), "nccl", None)
        if self.nccl is None or not getattr(self.nccl, "available", True):
            raise UnsupportedError(
                "collectives of arrays on a GPU need NCCL, which this CuPy does not have",
                hint="pip install nvidia-nccl-cu12, or send the array's copy on the host: cupy.asnumpy(x)",
            )
        self.group, self.rank, self.size, self.ranks = group, group.rank, group.size, group.ranks
        name = group.broadcast_object(self.nccl.get_unique_id() if self.rank == 0 else None)
        self.members = self.nccl.NcclCommunicator(self.size, name, self.rank)
        self.stream = xp.cuda.Stream(non_blocking=True)
        self.unfinished: list[Queued] = []  # which keep what the stream reads and writes

    def start(self, launch: Callable[[int], Any], buffers: Any, result: Any) -> Work:
        """Give the stream a collective, after all that the current one has been given."""
        ready = self.xp.cuda.get_current_stream().record()
        self.stream.wait_event(ready)
        with self.stream:
            launch(self.stream.ptr)
            event = self.stream.record()
        work = Queued(self.xp, event, buffers, result)
        self.unfinished = [*(other for other in self.unfinished if not other.test()), work]
        return work

    def apart(self, x: Any, out: Any) -> Any:
        """Return x, or a copy of it where `out` shares its memory."""
        return x.copy() if self.xp.may_share_memory(x, out) else x

    def constant(self, name: str) -> int:
        return getattr(self.nccl, f"NCCL_{name}")

    # -- reductions ---------------------------------------------------------------------------------------------
    def theirs(self, op: str, dtype: np.dtype, in_order: bool) -> int | None:
        """Return NCCL's operation for a reduction, or None where the processes have to carry it out."""
        if dtype.kind == "b":
            op = {"or": "max", "and": "min"}.get(OF_BOOLEANS[op], "none")
        inexact = dtype.kind not in "biu"
        if (
            op not in OPERATIONS
            or carried(dtype) not in TYPES
            or working_dtype(dtype) != dtype
            or (inexact and (in_order or op in ("max", "min")))
            or (dtype.kind == "c" and op == "prod")
        ):
            return None
        return self.constant(OPERATIONS[op])

    def parts(self, x: Any) -> tuple[int, int]:
        """Return how many numbers of NCCL an array has, and of which type they are."""
        name = carried(x.dtype)
        if name not in TYPES:
            return x.nbytes, self.constant("UINT8")
        return x.nbytes // np.dtype(name).itemsize, self.constant(TYPES[name])

    def _all_reduce(self, x: Any, op: str, out: Any, in_order: bool) -> Work:
        self.group.begin("all_reduce", x, op)
        theirs = self.theirs(op, x.dtype, in_order)
        if theirs is None:
            return self.reduce_here(x, op, out)
        count, kind = self.parts(x)
        work = self.start(
            lambda stream: self.members.allReduce(x.data.ptr, out.data.ptr, count, kind, theirs, stream),
            (x, out),
            out,
        )
        return self.divided(work, op, out)

    def _reduce(self, x: Any, op: str, root: int, out: Any, in_order: bool) -> Work:
        self.group.begin("reduce", x, f"{op}, root={root}", rooted=True)
        theirs = self.theirs(op, x.dtype, in_order)
        target = self.xp.empty_like(x) if out is None else out
        if theirs is None:
            self.reduce_here(x, op, target)
            return Done(out)
        count, kind = self.parts(x)
        work = self.start(
            lambda stream: self.members.reduce(
                x.data.ptr, target.data.ptr, count, kind, theirs, root, stream
            ),
            (x, target),
            out,
        )
        return self.divided(work, op, out)

    def _reduce_scatter(self, x: Any, op: str, out: Any, in_order: bool) -> Work:
        self.group.begin("reduce_scatter", x, op)
        theirs = self.theirs(op, x.dtype, in_order)
        if theirs is None:
            arriving = self.exchange_entries(x, self.xp.empty_like(x)).wait()
            reduce_rows(arriving.reshape(self.size, -1), op, out.reshape(-1))
            return Done(out)
        x = self.apart(x, out)
        count, kind = self.parts(out)
        work = self.start(
            lambda stream: self.members.reduceScatter(x.data.ptr, out.data.ptr, count, kind, theirs, stream),
            (x, out),
            out,
        )
        return self.divided(work, op, out)

    def reduce_here(self, x: Any, op: str, out: Any) -> Work:
        """Gather what all have, and reduce it in the order of the members."""
        arriving = self.xp.empty((self.size, x.size), x.dtype)
        reduce_rows(self.gather_entries(x, arriving).wait(), op, out.reshape(-1))
        return Done(out)

    def divided(self, work: Work, op: str, out: Any) -> Work:
        """What a mean has left to do, on the current stream."""
        if op == "mean" and out is not None:
            work.wait()
            np.divide(out, self.size, out=out)
            return Done(out)
        return work

    # -- arrays of equal shapes ---------------------------------------------------------------------------------
    def gather_entries(self, x: Any, out: Any) -> Work:
        x = self.apart(x, out)
        count, kind = self.parts(x)
        return self.start(
            lambda stream: self.members.allGather(x.data.ptr, out.data.ptr, count, kind, stream),
            (x, out),
            out,
        )

    def _all_gather(self, x: Any, out: Any) -> Work:
        self.group.begin("all_gather", x)
        return self.gather_entries(x, out)

    def _broadcast(self, out: Any, root: int) -> Work:
        self.group.begin("broadcast", out, f"root={root}", rooted=True)
        count, kind = self.parts(out)
        return self.start(
            lambda stream: self.members.broadcast(out.data.ptr, out.data.ptr, count, kind, root, stream),
            out,
            out,
        )

    def send_and_receive(
        self, sent: list[tuple[Any, int]], awaited: list[tuple[Any, int]], result: Any
    ) -> Work:
        """Send arrays to members and receive others, all at once."""

        def launch(stream: int) -> None:
            self.nccl.groupStart()
            for x, rank in sent:
                self.members.send(x.data.ptr, *self.parts(x), rank, stream)
            for x, rank in awaited:
                self.members.recv(x.data.ptr, *self.parts(x), rank, stream)
            self.nccl.groupEnd()

        return self.start(launch, (sent, awaited), result)

    def exchange_entries(self, x: Any, out: Any) -> Work:
        ranks = range(self.size)
        return self.send_and_receive(
            [(x[r : r + 1], r) for r in ranks], [(out[r : r + 1], r) for r in ranks], out
        )

    def _all_to_all(self, x: Any, out: Any) -> Work:
        self.group.begin("all_to_all", x)
        return self.exchange_entries(self.apart(x, out), out)

    def _gather(self, x: Any, root: int, out: Any) -> Work:
        self.group.begin("gather", x, f"root={root}", rooted=True)
        if out is None:
            return self.send_and_receive([(x, root)], [], None)
        awaited = [(out[r : r + 1], r) for r in range(self.size)]
        return self.send_and_receive([(self.apart(x, out), root)], awaited, out)

    def _permute(self, x: Any, perm: Sequence[tuple[int, int]], out: Any) -> Work:
        self.group.begin("permute", x, str(perm))
        sent = [(x, target) for source, target in perm if source == self.rank]
        return self.send_and_receive(
            sent, [(out, source) for source, target in perm if target == self.rank], out
        )

    def _send(self, x: Any, target: int, tag: int) -> Work:
        self.group.begin_sending(x, target, tag)
        return self.send_and_receive([(x, target)], [], None)

    def _recv(self, out: Any, source: int | None, tag: int) -> Work:
        if source is None:
            raise UnsupportedError(
                "recv: NCCL needs to know whose array it is", hint="source=0, for instance"
            )
        self.group.begin_receiving("recv", source, tag)
        return self.send_and_receive([], [(out, source)], out)

    # -- what only the host sends -------------------------------------------------------------------------------
    def refuse(self, operation: str, x: Any) -> Any:
        raise UnsupportedError(
            f"{operation}: {describe(x)} is on a GPU, between which NCCL sends arrays of equal shapes",
            hint="all_gather or all_to_all of padded arrays, or the array's copy on the host: cupy.asnumpy(x)",
        )

    def _scatter(self, x: Any, root: int) -> Work:
        return self.refuse("scatter", x)

    def _all_gather_rows(self, x: Any) -> Any:
        return self.refuse("all_gather_rows", x)

    def _gather_rows(self, x: Any, root: int) -> Any:
        return self.refuse("gather_rows", x)

    def _scatter_rows(self, x: Any, root: int, counts: Sequence[int]) -> Any:
        return self.refuse("scatter_rows", x)

    def _all_to_all_rows(self, x: Any, counts: Sequence[int]) -> Any:
        return self.refuse("all_to_all_rows", x)


def carried(dtype: np.dtype) -> str:
    """Return the dtype of the numbers that an entry is made of, to NCCL."""
    return {"bool": "uint8", "complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
