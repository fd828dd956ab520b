"""Arrays on a GPU go by NCCL: on CuPy's stand-in, with an NCCL that carries memory by MPI; on GPUs where there are
some."""

import ctypes
import os
from types import SimpleNamespace

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.distributed.nccl import OPERATIONS, TYPES
from tests import cupy_stand_in

from .ranks import run_on_ranks
from .test_communicator import assert_same, data, everything, operations, reduced

DTYPES = [np.dtype(name) for name in ("?", "b", "i", "l", "Q", "e", "f", "d", "F", "D")]
SHAPES = [(), (0,), (3, 2)]


def memory(pointer, count, kind):
    """The numbers at an address."""
    dtype = np.dtype(list(TYPES)[kind])
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(pointer) if count else bytearray()
    return np.frombuffer(raw, dtype)


class Members:
    """NcclCommunicator, as CuPy has it."""

    def __init__(self, size, name, rank):
        from mpi4py import MPI

        assert name == ("a name", size)
        self.operations = [getattr(MPI, op) for op in ("SUM", "PROD", "MAX", "MIN")]
        self.comm, self.waitall = MPI.COMM_WORLD.Dup(), MPI.Request.Waitall
        self.requests = []

    def allReduce(self, source, target, count, kind, op, stream):
        self.comm.Allreduce(
            memory(source, count, kind).copy(), memory(target, count, kind), self.operations[op]
        )

    def reduce(self, source, target, count, kind, op, root, stream):
        self.comm.Reduce(memory(source, count, kind), memory(target, count, kind), self.operations[op], root)

    def reduceScatter(self, source, target, count, kind, op, stream):
        entries = memory(source, count * self.comm.size, kind)
        self.comm.Reduce_scatter_block(entries, memory(target, count, kind), self.operations[op])

    def allGather(self, source, target, count, kind, stream):
        self.comm.Allgather(memory(source, count, kind), memory(target, count * self.comm.size, kind))

    def broadcast(self, source, target, count, kind, root, stream):
        self.comm.Bcast(memory(target, count, kind), root)

    def send(self, source, count, kind, rank, stream):
        self.requests.append(self.comm.Isend(memory(source, count, kind), rank))

    def recv(self, target, count, kind, rank, stream):
        self.requests.append(self.comm.Irecv(memory(target, count, kind), rank))


def library(size):
    """CuPy's module nccl, as far as it is used."""
    made = []

    def make(*args):
        made.append(Members(*args))
        return made[-1]

    def end_group():
        for members in made:
            members.waitall(members.requests)
            members.requests.clear()

    constants = {f"NCCL_{name}": number for number, name in enumerate(TYPES.values())}
    names = dict.fromkeys(OPERATIONS.values())
    assert list(names) == ["SUM", "PROD", "MAX", "MIN"]
    constants |= {f"NCCL_{name}": number for number, name in enumerate(names)}
    return SimpleNamespace(
        available=True,
        get_unique_id=lambda: ("a name", size),
        NcclCommunicator=make,
        groupStart=lambda: None,
        groupEnd=end_group,
        **constants,
    )


def check_collectives(world, xp):
    """As tests/distributed/test_communicator.py has it, on arrays of a GPU."""

    def same(actual, expected):
        assert type(actual) is xp.ndarray
        assert_same(np.asarray(xp.asnumpy(actual)), expected)

    root, is_root = world.size - 1, world.rank == world.size - 1
    for dtype in DTYPES:
        for shape in SHAPES:
            x, rows = xp.asarray(data(world.rank, dtype, shape)), everything(world, dtype, shape)
            entries = xp.asarray(data(world.rank, dtype, (world.size, *shape)))
            all_entries = everything(world, dtype, (world.size, *shape))
            for op in operations(dtype):
                same(world.all_reduce(x, op), reduced(rows, op))
                same(world.reduce_scatter(entries, op), reduced(all_entries, op)[world.rank])
                result = world.reduce(x, op, root)
                assert (result is None) is not is_root
                if is_root:
                    same(result, reduced(rows, op))
            same(world.all_gather(x), rows)
            same(world.broadcast(x, root), rows[root])
            gathered = world.gather(x, root)
            if is_root:
                same(gathered, rows)
            sent = [data(r, dtype, entries.shape)[world.rank] for r in range(world.size)]
            same(world.all_to_all(entries), np.stack(sent))
            circle = [(r, (r + 1) % world.size) for r in range(world.size)]
            same(world.permute(x, circle), rows[world.rank - 1])
    x = xp.asarray(np.random.default_rng(world.rank).normal(size=1001))
    values = [np.random.default_rng(r).normal(size=1001) for r in range(world.size)]
    same(world.all_reduce(x, deterministic=True), sum(values[1:], values[0]))
    same(world.all_reduce(x, "mean", deterministic=True), sum(values[1:], values[0]) / world.size)
    x = xp.asarray([np.nan if world.rank == 0 else 1.0, world.rank])
    same(world.all_reduce(x, "max"), np.array([np.nan, world.size - 1]))
    assert world.all_reduce(x, out=x) is x and xp.asnumpy(x)[1] == sum(range(world.size))
    work = world.start_all_reduce(x, "mean")
    assert work.wait() is work.wait() and work.test()
    with pytest.raises(fx.UnsupportedError, match="on a GPU"):
        world.all_gather_rows(x)
    with pytest.raises(fx.ShapeError, match="out is"):
        world.all_reduce(x, out=np.empty(2))


def on_ranks_of_the_stand_in(world):
    with cupy_stand_in.install() as cupy:
        with pytest.raises(fx.UnsupportedError, match="NCCL"):
            world.all_reduce(cupy.ones(3))
        cupy.cuda.nccl = library(world.size)
        try:
            with cupy_stand_in.recording() as record:
                world.all_reduce(cupy.ones(3))
            assert not record.to_host
            check_collectives(world, cupy)
        finally:
            del cupy.cuda.nccl
            world.on_devices = None


def on_ranks_with_gpus(world):
    if "FXGRAD_TEST_GPUS" in os.environ:
        import cupy

        cupy.cuda.Device(world.rank).use()
        check_collectives(world, cupy)


def test_on_ranks():
    run_on_ranks(__name__, 2)


def test_on_gpus():
    cupy = pytest.importorskip("cupy", reason="needs two GPUs and CuPy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two GPUs and CuPy")
    run_on_ranks(__name__, 2, FXGRAD_TEST_GPUS="1")
