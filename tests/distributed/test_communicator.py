"""Communicators: what is sent arrives, by every collective, of every dtype and shape; results are NumPy's."""

import functools
import gc
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
from fxgrad.distributed import Communicator

from .ranks import ROOT, run_on_ranks

INTEGERS = [np.dtype(c) for c in "bBhHiIlLqQ"]
REALS = [np.dtype(c) for c in "efdg"]
COMPLEX = [np.dtype(c) for c in "FD"]
SMALL = [
    np.dtype(getattr(ml_dtypes, name))
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "int4", "uint4")
]
DTYPES = [np.dtype(bool), *INTEGERS, *REALS, *COMPLEX, *SMALL]
SHAPES = [(), (0,), (3,), (2, 0, 3), (3, 2), (9000,)]  # the last takes the way by blocks, where there is one
OPERATIONS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class Subclass(np.ndarray):
    """A class of arrays of the user's own."""


def data(rank, dtype, shape):
    """What a rank has: small numbers, whose sums and products are exact in every dtype."""
    rng = np.random.default_rng(rank)
    values = rng.integers(0, 2, shape)
    return np.asarray(values + (1j * rng.integers(0, 2, shape) if dtype.kind == "c" else 0)).astype(dtype)


def everything(world, dtype, shape):
    """What all ranks have, along a new first axis."""
    return np.stack([data(rank, dtype, shape) for rank in range(world.size)])


def reduced(rows, op):
    wide = np.int8 if rows.dtype.name in ("int4", "uint4") else rows.dtype
    return functools.reduce(OPERATIONS[op], rows.astype(wide)).astype(rows.dtype)


def operations(dtype):
    integral = dtype.kind in "biu" or "int" in dtype.name
    return ["sum", "prod", *["max", "min"] * (dtype.kind != "c"), *["and", "or", "xor"] * integral]


def assert_same(actual, expected):
    """Equal in type, dtype, shape and all entries."""
    assert type(actual) is np.ndarray and actual.dtype == expected.dtype, (actual, expected)
    assert actual.shape == np.shape(expected)
    np.testing.assert_array_equal(actual, expected)


def check_reductions(world):
    for dtype in DTYPES:
        for shape in SHAPES:
            x = data(world.rank, dtype, shape)
            entries = data(world.rank, dtype, (world.size, *shape))
            rows = everything(world, dtype, shape)
            all_entries = everything(world, dtype, (world.size, *shape))
            for op in operations(dtype):
                for deterministic in (False, True) if op == "sum" else (False,):
                    options = {"deterministic": deterministic}
                    assert_same(world.all_reduce(x, op, **options), reduced(rows, op))
                    result = world.reduce(x, op, world.size - 1, **options)
                    if world.rank == world.size - 1:
                        assert_same(result, reduced(rows, op))
                    else:
                        assert result is None
                    assert_same(
                        world.reduce_scatter(entries, op, **options), reduced(all_entries, op)[world.rank]
                    )


def check_moves(world):
    for dtype in DTYPES:
        for shape in SHAPES:
            x, rows = data(world.rank, dtype, shape), everything(world, dtype, shape)
            root = world.size - 1
            is_root = world.rank == root
            assert_same(world.all_gather(x), rows)
            assert_same(world.broadcast(x, root), rows[root])
            gathered = world.gather(x, root)
            assert (gathered is None) is not is_root
            if is_root:
                assert_same(gathered, rows)
            assert_same(world.scatter(rows if is_root else None, root), x)
            sent = data(world.rank, dtype, (world.size, *shape))
            expected = np.stack([data(r, dtype, sent.shape)[world.rank] for r in range(world.size)])
            assert_same(world.all_to_all(sent), expected)
            circle = [(r, (r + 1) % world.size) for r in range(world.size)]
            assert_same(world.permute(x, circle), rows[world.rank - 1])
            assert_same(
                world.permute(x, circle[:1]), rows[0] if world.rank == 1 % world.size else np.zeros_like(x)
            )


def check_rows(world):
    for dtype in (np.dtype(float), *SMALL):
        counts = [2 * (world.size - r) for r in range(world.size)]
        counts[0] = 0
        parts = [data(r, dtype, (n, 3)) for r, n in enumerate(counts)]
        joined = np.concatenate(parts)
        assert_same(world.all_gather_rows(parts[world.rank]), joined)
        gathered = world.gather_rows(parts[world.rank], 1 % world.size)
        if world.rank == 1 % world.size:
            assert_same(gathered, joined)
        else:
            assert gathered is None
        assert_same(world.scatter_rows(joined if world.rank == 0 else None, counts=counts), parts[world.rank])
        equal = np.array_split(joined, world.size)[world.rank]
        assert_same(world.scatter_rows(joined if world.rank == 0 else None), equal)
        mine = data(world.rank, dtype, (sum(range(world.size)), 3))
        sent = [
            np.split(data(r, dtype, mine.shape), np.cumsum(range(world.size))[:-1]) for r in range(world.size)
        ]
        assert_same(
            world.all_to_all_rows(mine, range(world.size)), np.concatenate([s[world.rank] for s in sent])
        )


def check_operands(world):
    """Views, read-only and foreign ones, and numbers: the result is an array of the machine's own."""
    base = np.arange(24.0).reshape(4, 6) * (world.rank + 1)
    total = np.arange(24.0).reshape(4, 6) * sum(range(1, world.size + 1))
    assert_same(world.all_reduce(base[::2, 1::2]), total[::2, 1::2])
    assert_same(world.all_reduce(base.T), total.T)
    assert_same(world.all_reduce(np.broadcast_to(base[:1], (3, 6))), np.broadcast_to(total[:1], (3, 6)))
    assert_same(world.all_reduce(base.astype(">f8")), total)
    frozen = base.copy()
    frozen.flags.writeable = False
    assert_same(world.all_reduce(frozen), total)
    assert_same(world.all_gather(frozen)[0], np.arange(24.0).reshape(4, 6))
    for number in (True, 1, 1.5, 2j, np.float32(3), [1, 2]):
        assert_same(world.all_reduce(number), reduced(np.stack([np.asarray(number)] * world.size), "sum"))
    assert_same(world.all_gather(world.rank), np.arange(world.size))
    assert_same(world.all_reduce(np.array([[1, 2]]).view(Subclass)), np.array([[1, 2]]) * world.size)


def check_results_in_place(world):
    for dtype in (np.dtype(float), np.dtype(np.float16)):
        for op in ("sum", "max", "mean"):
            for size in (5, 20_000):
                x = np.arange(size).astype(dtype) % 7 + world.rank
                expected = world.all_reduce(x, op)
                out = np.empty_like(x)
                assert world.all_reduce(x, op, out=out) is out
                assert_same(out, expected)
                assert world.all_reduce(x, op, out=x) is x
                assert_same(x, expected)
    parts = np.full((world.size, 2), world.rank + 1.0)
    assert_same(
        world.all_gather(parts[world.rank], out=parts), np.arange(1.0, world.size + 1)[:, None] * [1, 1]
    )
    parts = np.arange(2.0 * world.size).reshape(world.size, 2) + world.rank
    assert_same(world.all_to_all(parts, out=parts)[:, 0], 2.0 * world.rank + np.arange(world.size))
    x = np.full(3, float(world.rank))
    assert world.broadcast(x, world.size - 1, out=x) is x and x[0] == world.size - 1


def check_nan(world):
    """A maximum that NumPy takes of NaN and a number is NaN, whoever has it."""
    for dtype in (*REALS, SMALL[0]):
        for size in (3, 30_000):
            x = np.full(size, world.rank).astype(dtype)
            x[0] = np.nan if world.rank == world.size - 1 else 1
            x[1] = np.inf if world.rank == 0 else -np.inf
            for op in ("max", "min", "sum"):
                result = world.all_reduce(x, op).astype(float)
                assert np.isnan(result[0])
                alone = world.size == 1
                assert result[1] == np.inf if op == "max" or alone else not result[1] > 0
            assert world.all_reduce(x, "max")[2] == world.size - 1


def check_means(world):
    ranks = np.arange(world.size)
    for dtype in (*REALS, *COMPLEX, SMALL[0]):
        x = np.array([world.rank, 1.0]).astype(dtype)
        assert_same(world.all_reduce(x, "mean"), np.array([ranks.mean(), 1]).astype(dtype))
        assert_same(
            world.reduce_scatter(np.stack([x] * world.size), "mean"),
            np.array([ranks.mean(), 1]).astype(dtype),
        )


def check_half_precisions_round_once(world):
    """A sum of many numbers in bfloat16 is that in float32, rounded once."""
    for dtype in (np.dtype(np.float16), SMALL[0]):
        for shape in ((7,), (40_000,)):
            values = [np.random.default_rng(r).normal(size=shape).astype(dtype) for r in range(world.size)]
            expected = functools.reduce(np.add, (v.astype(np.float32) for v in values)).astype(dtype)
            assert_same(world.all_reduce(values[world.rank]), expected)


def check_order(world):
    """Deterministic sums are those of the members from first to last, to the bit, whichever way they take."""
    for dtype in (np.float32, np.float64, np.complex128):
        for size in (1, 1001, 50_003):
            values = [
                (np.random.default_rng(r).normal(size=size) * 10.0 ** (3 * (r % 3))).astype(dtype)
                for r in range(world.size)
            ]
            expected = functools.reduce(np.add, values)
            for result in (
                world.all_reduce(values[world.rank], deterministic=True),
                world.start_all_reduce(values[world.rank], deterministic=True).wait(),
            ):
                assert result.tobytes() == expected.tobytes()
            world.deterministic = True
            assert world.all_reduce(values[world.rank]).tobytes() == expected.tobytes()
            entries = np.stack([values[world.rank]] * world.size)
            assert world.reduce_scatter(entries).tobytes() == expected.tobytes()
            world.deterministic = False


def check_messages(world):
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    for dtype in DTYPES:
        sending = [world.start_send(data(world.rank, dtype, (4,)), right, tag) for tag in (3, 5)]
        out = np.empty(4, dtype)
        assert world.recv(out, left, 5) is out
        work = world.start_recv(np.empty(4, dtype), None, 3)
        assert_same(work.wait(), data(left, dtype, (4,)))
        assert work.source == left and work.test()
        assert [w.wait() for w in sending] == [None, None]
    partner = world.size - 1 - world.rank
    assert_same(world.exchange(np.array(world.rank), partner), np.array(partner))
    sending = world.start_send(np.arange(3.0), right)
    with pytest.raises(fx.ShapeError, match="24 bytes"):
        world.recv(np.empty(5), left)
    sending.wait()
    sending = world.start_send(np.arange(30.0), right)
    with pytest.raises(fx.ShapeError):
        world.recv(np.empty(5), left)
    sending.wait()


def check_objects(world):
    assert world.broadcast_object({"rank": world.rank}, world.size - 1) == {"rank": world.size - 1}
    assert world.gather_objects("x" * world.rank) == ["x" * r for r in range(world.size)]
    values = [[r, None] for r in range(world.size)]
    assert world.scatter_objects(values if world.rank == 0 else None) == [world.rank, None]
    if world.rank == 0:
        world.send_object("a" * 100_000, world.size - 1, tag=2)
    if world.rank == world.size - 1:
        assert world.recv_object(tag=2) == "a" * 100_000


def check_objects_that_cannot_be_pickled(world):
    """They are an error on all ranks, which go on."""
    if world.size > 1:  # alone nothing is pickled
        for send in (world.broadcast_object, world.gather_objects):
            with pytest.raises(fx.DTypeError, match="generator cannot be pickled"):
                send((x for x in ()) if world.rank == 0 else None)
        assert world.gather_objects(world.rank) == [*range(world.size)]


def check_work_in_any_order(world):
    """Works may be awaited in an order of each rank's own, those of one step and of several."""
    x = np.arange(10_000.0) + world.rank
    other = world.split(0, -world.rank)
    begun = {
        "sum": world.start_all_reduce(x),
        "max": world.start_all_reduce(x, "max"),
        "in order": other.start_all_reduce(x, deterministic=True),
        "gathered": world.start_all_gather(x),
        "barrier": world.start_barrier(),
        "scattered": world.start_scatter(np.arange(world.size) if world.rank == 0 else None),
        "min": world.start_all_reduce(x, "min"),
    }
    names = list(begun)
    results = {name: begun[name].wait() for name in (names if world.rank % 2 else names[::-1])}
    ranks = np.arange(world.size)
    assert_same(results["sum"], np.arange(10_000.0) * world.size + ranks.sum())
    assert_same(results["max"], np.arange(10_000.0) + world.size - 1)
    assert_same(results["min"], np.arange(10_000.0))
    assert_same(results["in order"], results["sum"])
    assert_same(results["gathered"], np.arange(10_000.0) + ranks[:, None])
    assert results["scattered"] == world.rank
    assert all(work.test() for work in begun.values())


def check_work_that_nobody_awaits(world):
    for _ in range(150):
        world.start_all_reduce(np.ones(1000))
        world.start_all_reduce(np.ones(1000), "max")
    gc.collect()
    assert world.all_reduce(1) == world.size
    world.barrier()


def check_groups(world):
    pairs = world.split(world.rank // 2, key=-world.rank)
    members = [r for r in range(world.size) if r // 2 == world.rank // 2][::-1]
    assert pairs.ranks == tuple(world.ranks[r] for r in members)
    assert pairs.size == len(members) and members[pairs.rank] == world.rank
    assert_same(pairs.all_gather(world.rank), np.array(members))
    first = world.split(0 if world.rank == 0 else None)
    assert (first is None) is (world.rank > 0)
    if first is not None:
        assert first.size == 1 and first.all_reduce(2.0) == 2.0
    pairs.free()


def check_mistakes(world):
    """What can be seen before anything is sent is an error on all ranks, and the group goes on."""
    with pytest.raises(fx.UnsupportedError, match="one of sum"):
        world.all_reduce(1.0, "median")
    with pytest.raises(fx.DTypeError, match="complex"):
        world.all_reduce(1j, "max")
    with pytest.raises(fx.DTypeError, match="float64"):
        world.all_reduce(1.0, "xor")
    with pytest.raises(fx.DTypeError, match="mean"):
        world.all_reduce(1, "mean")
    for x in ("text", np.array([None]), np.zeros(2, [("a", float)]), np.array("2020", "M8[D]")):
        with pytest.raises(fx.DTypeError, match="broadcast_object"):
            world.all_gather(x)
    if np.clongdouble != np.complex128:
        with pytest.raises(fx.DTypeError, match="imag"):
            world.all_gather(np.ones(2, np.clongdouble))
    for call in (world.reduce_scatter, world.all_to_all):
        with pytest.raises(fx.ShapeError, match="an entry for each"):
            call(np.zeros((world.size + 1, 2)))
    with pytest.raises(fx.IndexingError, match="root"):
        world.broadcast(1.0, world.size)
    for perm in ([(0, 0), (0, 0)], [(0, world.size)]):
        with pytest.raises(fx.IndexingError, match="permute"):
            world.permute(1.0, perm)
    with pytest.raises(fx.ShapeError, match="counts"):
        world.all_to_all_rows(np.zeros((3, 1)), [4] * world.size)
    with pytest.raises(fx.ShapeError, match="no rows"):
        world.all_gather_rows(1.0)
    for out in (np.empty(3), np.empty((), np.float32), None.__class__):
        with pytest.raises(fx.ShapeError, match="out is"):
            world.all_reduce(1.0, out=out)
    with pytest.raises(fx.ShapeError, match="contiguous"):
        world.all_reduce(np.zeros(2), out=np.empty(4)[::2])
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(fx.ImmutableError):
        world.all_reduce(np.zeros(2), out=frozen)
    with pytest.raises(fx.ArrayConversionError):
        fx.grad(lambda x: world.all_reduce(x).sum())(1.0)
    assert world.all_reduce(1) == world.size


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]


def on_ranks_all(world):
    for check in CHECKS:
        check(world)


def on_ranks_ten_thousand_collectives(world):
    """A process that communicates for long does not grow."""
    resource = pytest.importorskip("resource")
    if world.size != 4:
        return  # one size is enough
    x = np.ones(100)

    def run(times):
        for _ in range(times):
            world.all_reduce(x)
            world.all_reduce(x, "max")
            world.start_all_gather(x)
            world.broadcast_object("text")
            world.permute(x, [(0, world.size - 1)])

    run(400)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(2000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4000


@pytest.mark.parametrize("count", [4, 3])
def test_on_ranks(count):
    run_on_ranks(__name__, count)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_process_alone_behaves_as_a_group_does(check):
    check(Communicator())


def test_a_group_of_one_refuses_to_await_what_nobody_sends():
    with pytest.raises(fx.CollectiveMismatchError, match="tag 3"):
        Communicator().recv(np.empty(2), 0, tag=3)
    with pytest.raises(fx.CollectiveMismatchError):
        Communicator().recv_object()


def run_without_mpi(**environment):
    source = "import sys; sys.modules['mpi4py'] = None\nimport fxgrad as fx; print(fx.distributed.world())"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI", "SLURM"))}
    return subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, env={**clean, **environment}, capture_output=True, text=True
    )


def test_without_mpi_the_world_is_one_process():
    assert run_without_mpi().stdout == "<Communicator: rank 0 of 1>\n"


@pytest.mark.parametrize("name", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_one_process_of_several_needs_mpi4py(name):
    result = run_without_mpi(**{name: "2"})
    assert (
        result.returncode != 0 and "MissingLibraryError" in result.stderr and "fxgrad[mpi]" in result.stderr
    )
