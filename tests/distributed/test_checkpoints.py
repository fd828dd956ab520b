"""Checkpoints: what was saved comes back to the bit, or not at all."""

import atexit
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
from fxgrad.core.pytree import leaves
from fxgrad.distributed import Checkpoints, Communicator

from .ranks import ROOT, mpirun, run_on_ranks

ALONE = Communicator()


class Moments(NamedTuple):
    first: object
    second: object


def state(step=0.0):
    """A state with a leaf of each kind."""
    floats = np.arange(6.0).reshape(2, 3) + step
    return {
        "floats": floats,
        "fortran": np.asfortranarray(floats),
        "strided": np.arange(10)[::3] + int(step),
        "half": floats.astype(ml_dtypes.bfloat16),
        "complex": floats * 1j,
        "flags": floats > 2,
        "empty": np.zeros((0, 3), np.float32),
        "special": np.array([np.nan, -0.0, np.inf]),
        "scalar": np.float32(0.1),
        "moments": Moments([floats.astype(np.float16)], None),
        "key": fx.random.split(fx.random.key(3)),
        "numbers": (True, 10**30, 0.1 + step, float("-inf"), 1 - 0.0j, "text ü"),
    }


def assert_same(found, wanted):
    assert fx.tree.structure(found) == fx.tree.structure(wanted)
    for a, b in zip(leaves(found), leaves(wanted)):
        assert type(a) is type(b)
        if isinstance(b, np.ndarray | np.generic):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        else:
            assert repr(a) == repr(b)


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path / "run", ALONE)


def test_every_kind_of_leaf_comes_back_to_the_bit(checkpoints):
    assert checkpoints.load(state()) is None
    checkpoints.save(12, state(5.0))
    found = checkpoints.load(state())
    assert found.step == 12 and found.shards is None
    assert_same(found.state, state(5.0))
    for leaf in leaves(found.state):
        if isinstance(leaf, np.ndarray):
            leaf[...] = 0  # it is the caller's own


def test_the_last_are_kept(checkpoints):
    for step in (3, 1, 10, 7, 8):
        checkpoints.save(step, {"w": np.float64(step)})
    assert checkpoints.steps() == [7, 8, 10]
    checkpoints.save(2, {"w": np.float64(2)})  # of a run that began again from an earlier one
    assert checkpoints.steps() == [2, 7, 8]
    assert checkpoints.load({"w": np.float64(0)}, step=2).state["w"] == 2
    assert checkpoints.load({"w": np.float64(0)}).step == 8


def test_a_step_may_be_saved_again(checkpoints):
    for value in (1.0, 2.0):
        checkpoints.save(4, [value])
    assert checkpoints.steps() == [4] and checkpoints.load([0.0]).state == [2.0]


def test_an_optimizer_goes_on_as_if_it_had_not_stopped(checkpoints):
    optimizer = fx.optim.adam(0.1)

    def train(params, moments, steps):
        for _ in range(steps):
            gradient = fx.grad(lambda p: fx.numpy.sum(p["w"] ** 4))(params)
            updates, moments = optimizer.update(gradient, moments, params)
            params = fx.optim.apply_updates(params, updates)
        return params, moments

    params = {"w": np.arange(3.0)}
    start = params, optimizer.init(params)
    checkpoints.save(4, train(*start, 4))
    assert_same(train(*checkpoints.load(start).state, 3), train(*start, 7))


def test_what_is_expected_may_be_described_by_shapes(checkpoints):
    checkpoints.save(1, {"w": np.arange(3.0, dtype=np.float32)})
    like = fx.eval_shape(lambda: {"w": fx.numpy.zeros(3, np.float32)})
    assert checkpoints.load(like).state["w"].tolist() == [0, 1, 2]


def test_a_tensor_comes_back_as_one(checkpoints):
    import fxgrad.compat as torch

    checkpoints.save(1, {"w": torch.arange(3)})
    found = checkpoints.load({"w": torch.zeros(3, dtype=torch.int64)}).state["w"]
    assert isinstance(found, torch.Tensor) and found.tolist() == [0, 1, 2]


def test_an_array_comes_back_on_the_device_where_it_was(checkpoints, stand_in):
    checkpoints.save(1, {"w": stand_in.arange(3.0), "b": np.zeros(2)})
    found = checkpoints.load({"w": stand_in.zeros(3), "b": np.zeros(2)}).state
    assert isinstance(found["w"], stand_in.ndarray) and type(found["b"]) is np.ndarray
    assert found["w"].get().tolist() == [0, 1, 2]


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "missing":
        path.unlink()
        return
    if how == "cut off":
        del data[len(data) // 2 :]
    elif how == "emptied":
        data.clear()
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["missing", "cut off", "emptied", "a bit is wrong"])
@pytest.mark.parametrize("name", ["manifest.json", "state.bin", "shard-0.bin"])
def test_what_has_been_damaged_is_passed_over(checkpoints, name, how):
    for step in (1, 2):
        checkpoints.save(step, state(step), {"own": np.arange(100) + step})
    damage(checkpoints.path(2) / name, how)
    with pytest.warns(RuntimeWarning, match="step 2 cannot be read .*: going on from step 1"):
        found = checkpoints.load(state(), {"own": np.arange(100)})
    assert found.step == 1 and found.shards["own"][0] == 1
    assert_same(found.state, state(1))
    with pytest.raises(fx.CheckpointError, match="step 2 cannot be read"):
        checkpoints.load(state(), {"own": np.arange(100)}, step=2)


def test_where_all_are_damaged_training_does_not_begin_anew(checkpoints):
    checkpoints.save(1, state())
    damage(checkpoints.path(1) / "state.bin", "cut off")
    with pytest.raises(fx.CheckpointError, match=r"no checkpoint in .* is whole: step 1 cannot be read"):
        checkpoints.load(state())


def test_what_is_half_written_is_no_checkpoint_and_is_removed(checkpoints):
    checkpoints.save(1, state(1))
    left = checkpoints.folder / ".partial-2"
    left.mkdir()
    (left / "state.bin").write_bytes(b"half")
    assert checkpoints.steps() == [1] and checkpoints.load(state()).step == 1
    checkpoints.save(3, state(3))
    assert sorted(os.listdir(checkpoints.folder)) == ["step-000000000001", "step-000000000003"]


@pytest.mark.parametrize("call", range(1, 7))
def test_a_write_that_fails_leaves_what_there_was(checkpoints, monkeypatch, call):
    """The disk is full, say, at each of the places where files are made and named."""
    checkpoints.save(1, state(1), [1])
    calls = []

    def failing(function):
        def fail(*args):
            calls.append(function.__name__)
            if len(calls) == call:
                raise OSError(28, "No space left on device")
            return function(*args)

        return fail

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(os.fsync))
        patch.setattr(os, "rename", failing(os.rename))
        with pytest.raises(fx.CheckpointError, match=r"rank 0: .*No space left on device"):
            checkpoints.save(2, state(2), [2])
    assert checkpoints.load(state(), [0]).step == (1 if call < 6 else 2)
    checkpoints.save(2, state(2), [2])
    assert_same(checkpoints.load(state(), [0]).state, state(2))


def test_trees_that_are_not_alike_are_refused(checkpoints):
    checkpoints.save(1, {"w": np.ones(3), "n": 2})
    with pytest.raises(fx.StructureError, match=r"there is no \['b'\]"):
        checkpoints.load({"w": np.ones(3), "n": 2, "b": 1.0})
    with pytest.raises(fx.StructureError, match=r"\['n'\] is left over"):
        checkpoints.load({"w": np.ones(3)})
    with pytest.raises(fx.ShapeError, match=r"state\['w'\] was saved with shape \(3,\), expected \(4,\)"):
        checkpoints.load({"w": np.ones(4), "n": 2})
    with pytest.raises(fx.DTypeError, match=r"state\['w'\] was saved with dtype float64, expected float32"):
        checkpoints.load({"w": np.ones(3, np.float32), "n": 2})
    with pytest.raises(fx.DTypeError, match=r"state\['n'\] was saved as int, and is a float here"):
        checkpoints.load({"w": np.ones(3), "n": 2.0})
    with pytest.raises(fx.DTypeError, match=r"state\['w'\] was saved as float64\[3\], and is a int here"):
        checkpoints.load({"w": 1, "n": 2})
    with pytest.raises(fx.StructureError, match="shards of step 1 were saved by nobody"):
        checkpoints.load({"w": np.ones(3), "n": 2}, [1])


def test_what_cannot_be_saved_is_refused(checkpoints):
    with pytest.raises(fx.DTypeError, match=r"state\['f'\]"):
        checkpoints.save(1, {"f": print})
    with pytest.raises(fx.DTypeError, match="masked array"):
        checkpoints.save(1, [np.ma.array([1.0, 2.0], mask=[True, False])])
    with pytest.raises(fx.DTypeError, match="has no value yet"):
        fx.jit(lambda x: checkpoints.save(1, [x]))(1.0)
    with pytest.raises(fx.StructureError, match="the step -1"):
        checkpoints.save(-1, [])
    with pytest.raises(fx.StructureError, match="keep=0"):
        Checkpoints("run", ALONE, keep=0)
    mesh = fx.distributed.Mesh(ALONE, {"data": 1})
    with pytest.raises(fx.StructureError, match="divided among the processes"):
        checkpoints.save(1, fx.distributed.shard([np.ones(2)], mesh, fx.distributed.P("data")))
    assert checkpoints.steps() == []


# -- on several processes ------------------------------------------------------------------------------------------
def folder_of(world):
    folder = world.broadcast_object(tempfile.mkdtemp() if world.rank == 0 else None)
    if world.rank == 0:
        atexit.register(shutil.rmtree, folder)
    return Path(folder)


def on_ranks_all_load_the_state_and_each_its_shards(world):
    checkpoints = Checkpoints(folder_of(world))
    checkpoints.save(5, state(1), {"own": np.full(world.rank, world.rank)})
    found = checkpoints.load(state(), {"own": np.zeros(world.rank, int)})
    assert_same(found.state, state(1))
    assert found.shards["own"].tolist() == [world.rank] * world.rank


def on_ranks_a_damaged_shard_of_one_is_passed_over_by_all(world):
    checkpoints = Checkpoints(folder_of(world))
    for step in (1, 2):
        checkpoints.save(step, [1.0], [np.full(9, step)])
    world.barrier()
    if world.rank == world.size - 1:
        damage(checkpoints.path(2) / f"shard-{world.rank}.bin", "a bit is wrong")
    world.barrier()
    with pytest.warns(
        RuntimeWarning, match=f"rank {world.size - 1}: shard-{world.size - 1}.bin has been damaged"
    ):
        found = checkpoints.load([0.0], [np.zeros(9, int)])
    assert found.step == 1 and found.shards[0][0] == 1


def on_ranks_a_state_that_differs_is_not_lost_silently(world):
    checkpoints = Checkpoints(folder_of(world))
    for value in (float(world.rank), np.full(2, world.rank)):
        with pytest.raises(
            fx.StructureError, match=r"the state of rank 1 is not that of rank 0, in state\['x'\]"
        ):
            checkpoints.save(1, {"a": np.ones(2), "x": value})
    assert checkpoints.steps() == []


def on_ranks_all_raise_where_one_cannot_write(world):
    checkpoints = Checkpoints(folder_of(world))
    sync = os.fsync

    def fail(handle):
        raise OSError(28, "No space left on device")

    os.fsync = fail if world.rank == 1 else sync
    try:
        with pytest.raises(fx.CheckpointError, match=r"rank 1: .*No space left on device"):
            checkpoints.save(1, [1.0], [world.rank])
    finally:
        os.fsync = sync
    assert checkpoints.steps() == []
    checkpoints.save(1, [1.0], [world.rank])
    assert checkpoints.load([0.0], [0]).shards == [world.rank]


def on_ranks_a_state_is_for_any_number_of_processes_and_shards_are_for_theirs(world):
    checkpoints = Checkpoints(folder_of(world))
    checkpoints.save(1, state(1), [world.rank])
    if world.rank == 0:
        alone = Checkpoints(checkpoints.folder, ALONE)
        assert_same(alone.load(state()).state, state(1))
        with pytest.raises(fx.StructureError, match=f"saved by {world.size} processes, and are wanted by 1"):
            alone.load(state(), [0])


@pytest.mark.parametrize("count", [2, 3])
def test_on_ranks(count):
    run_on_ranks(__name__, count)


# -- a run that is killed --------------------------------------------------------------------------------------------
def run_training(folder, count, *arguments):
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "FXGRAD_NUM_THREADS"), "1")
    return subprocess.run(
        [mpirun(), "-n", str(count), sys.executable, "-m", "tests.distributed.training_run", folder,
         *map(str, arguments)],
        cwd=ROOT, env={**os.environ, **threads}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("count", [2])
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path, count):
    """One process or all are killed, in the middle of steps and of checkpoints, at random."""
    pytest.importorskip("mpi4py", reason="needs mpi4py (fxgrad[mpi])")
    if mpirun() is None:
        pytest.skip("needs mpirun, of the package mpich for instance")
    steps, draw = 13, random.Random(0)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    result = run_training(whole, count, steps)
    assert result.returncode == 0, result.stdout + result.stderr
    deaths = [*sorted(draw.sample(range(1, steps), 3)), steps - 1]
    for last in deaths:
        assert run_training(killed, count, steps, draw.choice([-1, *range(count)]), last).returncode != 0
        assert not (killed / "result.npz").exists()
    result = run_training(killed, count, steps)
    assert result.returncode == 0, result.stdout + result.stderr
    for name in ["result.npz", *(f"losses-{rank}.npy" for rank in range(count))]:
        wanted, found = np.load(whole / name), np.load(killed / name)
        pairs = [(found[k], wanted[k]) for k in wanted] if name.endswith("z") else [(found, wanted)]
        for a, b in pairs:
            assert a.tobytes() == b.tobytes()
