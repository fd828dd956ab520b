"""torch.distributed: what processes send each other arrives, as torch has it."""

import os
import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.compat import distributed as dist
from fxgrad.compat.distributed.nn import functional as linked

from .ranks import ROOT, mpirun, run_on_ranks

DTYPES = [
    "float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64",
    "complex128"
]  # fmt: skip


def begin(world):
    """Make the group of all where there is none, and return this process's number and how many there are."""
    if not dist.is_initialized():
        dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    assert (dist.get_rank(), dist.get_world_size()) == (world.rank, world.size)
    return world.rank, world.size


def on_ranks_programs_begin_and_end_as_in_torch(world):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    with pytest.raises(AssertionError):
        dist.destroy_process_group()
    assert dist.group.WORLD is None and not dist.is_initialized()
    for wrong in ({"world_size": world.size + 1}, {"rank": world.size}):
        with pytest.raises(ValueError, match="mpirun"):
            dist.init_process_group("mpi", **wrong)
    dist.init_process_group("mpi", world_size=world.size, rank=world.rank)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("mpi")
    assert dist.get_backend() == "mpi" and dist.group.WORLD is dist.GroupMember.WORLD
    assert dist.get_process_group_ranks(None) == list(range(world.size))
    dist.destroy_process_group()
    assert not dist.is_initialized()


def on_ranks_all_reduce_is_in_place_and_of_every_dtype(world):
    rank, size = begin(world)
    for name in DTYPES:
        x = torch.tensor([rank + 1, 3, 0]).to(getattr(torch, name))
        before = x._version
        assert dist.all_reduce(x) is None and x._version > before
        wanted = torch.tensor([sum(range(size + 1)), 3 * size, 0]).to(x.dtype)
        assert x.dtype is wanted.dtype and torch.equal(x, wanted), name
    columns = torch.ones(3, 4)
    dist.all_reduce(columns[:, 1])
    assert columns.sum(0).tolist() == [3, 3 * size, 3, 3]


def on_ranks_every_reduction_is_there(world):
    rank, size = begin(world)
    numbers = np.arange(1, size + 1)
    for op, wanted in {
        "SUM": numbers.sum(), "AVG": numbers.mean(), "PRODUCT": numbers.prod(), "MIN": 1, "MAX": size
    }.items():  # fmt: skip
        x = torch.tensor([rank + 1.0])
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        assert x.item() == wanted, op
    for op, wanted in {
        "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor
    }.items():  # fmt: skip
        x = torch.tensor([rank + 1])
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        assert x.item() == wanted.reduce(numbers), op
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
    assert x.item() == numbers.sum() / 2
    with pytest.raises(RuntimeError, match="non-integral"):
        dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        dist.all_reduce(torch.ones(1, dtype=torch.int64), dist.ReduceOp.AVG)
    with pytest.raises(ValueError, match=r"does not support .*MAX on complex"):
        dist.all_reduce(torch.ones(1, dtype=torch.complex64), dist.ReduceOp.MAX)
    with pytest.raises(TypeError, match="of type torch"):
        dist.all_reduce([1.0])


def on_ranks_asynchronous_work_is_done_when_it_was_waited_for(world):
    rank, size = begin(world)
    x, y = torch.full((3,), float(rank)), torch.ones(2)
    works = [dist.all_reduce(x, async_op=True), dist.broadcast(y, 0, async_op=True)]
    assert all(work.wait() and work.is_completed() and work.is_success() for work in works)
    assert x.tolist() == [sum(range(size))] * 3
    future = dist.all_reduce(torch.ones(1), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert future.wait().item() == 2 * size
    with pytest.raises(RuntimeError, match="recv"):
        works[0].source_rank()


def on_ranks_parts_are_gathered_and_scattered(world):
    rank, size = begin(world)
    mine = torch.full((2,), float(rank))
    parts = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(parts, mine)
    assert [p.tolist() for p in parts] == [[float(r)] * 2 for r in range(size)]
    joined = torch.zeros(2 * size)
    dist.all_gather_into_tensor(joined, mine)
    assert torch.equal(joined, torch.cat(parts))
    stacked = torch.zeros(size, 2)
    dist.all_gather_into_tensor(stacked, mine)
    assert torch.equal(stacked, torch.stack(parts))
    last = size - 1
    here = [torch.zeros(2) for _ in range(size)] if rank == last else None
    dist.gather(mine, here, dst=last)
    assert here is None or all(torch.equal(a, b) for a, b in zip(here, parts, strict=True))
    got = torch.zeros(2)
    dist.scatter(got, [2 * p for p in parts] if rank == last else None, src=last)
    assert torch.equal(got, 2 * mine)
    total = torch.ones(2) * (rank + 1)
    dist.reduce(total, dst=0)
    assert total.tolist() == [sum(range(size + 1)) if rank == 0 else rank + 1.0] * 2
    own = torch.zeros(2)
    dist.reduce_scatter(own, [torch.full((2,), 10.0 * j) for j in range(size)])
    assert own.tolist() == [10.0 * rank * size] * 2
    dist.reduce_scatter_tensor(own, torch.arange(2.0 * size))
    assert own.tolist() == [2.0 * rank * size, (2.0 * rank + 1) * size]
    for wrong in (parts[:-1], [torch.zeros(3)] * size):
        with pytest.raises(RuntimeError, match="all_gather: invalid tensor"):
            dist.all_gather(wrong, mine)
    with pytest.raises(ValueError, match="different dtypes"):
        dist.all_gather([p.double() for p in parts], mine)
    with pytest.raises(RuntimeError, match="entries"):
        dist.all_gather_into_tensor(torch.zeros(3), mine)


def on_ranks_each_sends_to_each(world):
    rank, size = begin(world)
    result = torch.zeros(size)
    dist.all_to_all_single(result, torch.arange(float(size)) + 10 * rank)
    assert result.tolist() == [10.0 * r + rank for r in range(size)]
    # Process r sends r + 1 rows to each.
    sent = torch.full((size * (rank + 1), 2), float(rank))
    result = torch.zeros(sum(range(size + 1)), 2)
    dist.all_to_all_single(result, sent, [r + 1 for r in range(size)], [rank + 1] * size)
    assert result[:, 0].tolist() == [float(r) for r in range(size) for _ in range(r + 1)]
    parts = [torch.zeros(r + 1) for r in range(size)]
    dist.all_to_all(parts, [torch.full((rank + 1,), float(rank)) for _ in range(size)])
    assert [p.tolist() for p in parts] == [[float(r)] * (r + 1) for r in range(size)]
    with pytest.raises(RuntimeError, match="Split sizes doesn't match"):
        dist.all_to_all_single(torch.zeros(size), torch.ones(size), [2] * size, [1] * size)


def on_ranks_messages_go_from_one_to_another(world):
    rank, size = begin(world)
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    got, text = torch.zeros(3), [None, None]
    ops = [
        dist.P2POp(dist.isend, torch.full((3,), float(rank)), ahead),
        dist.P2POp(dist.irecv, got, behind),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert got.tolist() == [float(behind)] * 3
    if rank == 0:
        dist.send(torch.ones(2), 1, tag=7)
        dist.send_object_list(["from", {0}], 1)
    elif rank == 1:
        x = torch.zeros(2)
        assert dist.recv(x, tag=7) == 0 and x.tolist() == [1, 1]
        assert dist.recv_object_list(text, 0) == 0 and text == ["from", {0}]
    with pytest.raises(ValueError, match="should not be the same as the rank of the current process"):
        dist.isend(got, rank)
    with pytest.raises(ValueError, match="Invalid ``op``"):
        dist.P2POp(dist.send, got, ahead)


def on_ranks_objects_are_sent(world):
    rank, size = begin(world)
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": r} for r in range(size)]
    objects = [rank, "a"]
    dist.broadcast_object_list(objects, src=1)
    assert objects == [1, "a"]
    place = [None]
    dist.scatter_object_list(place, list("abcd")[:size] if rank == 0 else None, src=0)
    assert place == ["abcd"[rank]]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(torch.full((1,), float(rank)), gathered, dst=0)
    assert gathered is None or [x.item() for x in gathered] == list(range(size))


def on_ranks_groups_are_parts_of_all(world):
    rank, size = begin(world)
    pair = dist.new_group([size - 1, 0])
    if rank in (0, size - 1):
        x = torch.tensor([rank + 1.0])
        dist.all_reduce(x, group=pair)
        assert x.item() == size + 1 and dist.get_world_size(pair) == 2
        assert dist.get_process_group_ranks(pair) == [0, size - 1]
        assert dist.get_group_rank(pair, size - 1) == 1 and dist.get_global_rank(pair, 1) == size - 1
        dist.broadcast(x, src=size - 1, group=pair)
        dist.broadcast(x, group_src=1, group=pair)
        with pytest.raises(ValueError, match="is not part of group"):
            dist.get_group_rank(pair, 1)
    else:
        assert pair == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pair) == -1
        with pytest.warns(UserWarning, match="does not belong to the given group"):
            assert dist.all_reduce(torch.ones(1), group=pair) is None
    mine, both = dist.new_subgroups(2)
    assert dist.get_process_group_ranks(mine) == [rank // 2 * 2, rank // 2 * 2 + 1] and len(both) == size // 2
    half = dist.split_group(None, [[0, 1], [2, 3]])
    assert half.size() == 2 and half.rank() == rank % 2
    assert dist.split_group(None, [[0]]) is None or rank == 0
    for wrong in ([0, 0], [size], list(range(size + 1))):
        with pytest.raises(ValueError, match=r"duplicate|out of range|less or equal"):
            dist.new_group(wrong)
    with pytest.raises(ValueError, match="divisible"):
        dist.new_subgroups(3)
    dist.destroy_process_group(mine)
    with pytest.raises(ValueError, match="destroyed"):
        dist.get_rank(mine)


def on_ranks_meshes_have_a_group_along_each_axis(world):
    rank, size = begin(world)
    mesh = dist.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("data", "model"))
    assert mesh.get_coordinate() == [rank // 2, rank % 2] and mesh.shape == (2, size // 2)
    assert dist.get_process_group_ranks(mesh.get_group("model")) == [rank // 2 * 2, rank // 2 * 2 + 1]
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=mesh["data"].get_group())
    assert x.item() == 2 * (rank % 2) + 2
    assert (
        mesh["data"].mesh.tolist() == [rank % 2, rank % 2 + 2] and mesh["model"].get_local_rank() == rank % 2
    )
    with pytest.raises(RuntimeError, match="bigger than"):
        dist.init_device_mesh("cpu", (size + 1,))
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_group()


def on_ranks_differentiable_collectives_have_the_gradient_of_the_sum_of_all_losses(world):
    rank, size = begin(world)
    weight = float(rank + 1)  # of this process's loss
    weights = np.arange(1.0, size + 1)

    def gradient(function):
        x = torch.full((2,), 3.0 + rank, requires_grad=True)
        (weight * function(x)).backward()
        return x.grad.tolist()

    assert gradient(lambda x: linked.all_reduce(x).sum()) == [weights.sum()] * 2
    assert gradient(lambda x: torch.stack(linked.all_gather(x))[0].sum()) == [weights.sum() * (rank == 0)] * 2
    assert gradient(lambda x: linked.broadcast(x, 1).sum()) == [weights.sum() * (rank == 1)] * 2
    assert gradient(lambda x: linked.reduce(x, 1).sum() * (rank == 1)) == [2.0] * 2
    assert (
        gradient(lambda x: torch.stack(linked.gather(x, 1))[0].sum() * (rank == 1)) == [2.0 * (rank == 0)] * 2
    )
    assert (
        gradient(lambda x: linked.scatter([x * j for j in range(size)], 0).sum())
        == [(weights * range(size)).sum() * (rank == 0)] * 2
    )
    assert (
        gradient(lambda x: linked.reduce_scatter(x, [x * j for j in range(size)]).sum())
        == [(weights * range(size)).sum()] * 2
    )
    assert (
        gradient(lambda x: torch.stack(linked.all_to_all([x] * size, [x * j for j in range(size)])).sum())
        == [(weights * range(size)).sum()] * 2
    )
    outputs = torch.zeros(2 * size)
    assert gradient(lambda x: linked.all_to_all_single(outputs, x.repeat(size)).sum()) == [weights.sum()] * 2
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(linked.all_reduce(x**3), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert first.item() == 12 * size and second.item() == 12 * size


def on_ranks_what_is_inside_a_transform_is_not_sent(world):
    begin(world)
    with pytest.raises(RuntimeError, match="cannot be sent"):
        torch.func.vmap(lambda x: dist.all_reduce(x))(torch.ones(3))
    leaf = torch.ones(2, requires_grad=True)
    dist.all_reduce(leaf)
    assert leaf.is_leaf and leaf.tolist() == [world.size] * 2
    dist.barrier()
    assert dist.barrier(async_op=True).wait()
    dist.monitored_barrier()


def test_collectives_on_four_processes():
    run_on_ranks(__name__, 4)


# -- how programs are started ------------------------------------------
def start(program, count=None, **environment):
    """What a program prints that says `import torch`, on one process or several."""
    command = [sys.executable, "-m", "fxgrad.compat", "-c", program]
    if count is not None:
        pytest.importorskip("mpi4py")
        if mpirun() is None:
            pytest.skip("needs mpirun")
        command = [mpirun(), "-n", str(count), *command]
    variables = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=variables | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


ALONE = """
import os, sys, torch, torch.distributed as dist
try:
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(2))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    model(torch.ones(1, 2)).sum().backward()
    local, gradient = os.environ.get("LOCAL_RANK"), model.module.bias.grad.tolist()
    sys.stdout.write(f"{dist.get_rank()} {dist.get_world_size()} {local} {gradient}\\n")  # at once
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_program_alone_is_a_group_of_one():
    assert start(ALONE) == "0 1 None [1.0]\n"
    assert start(ALONE, RANK="0", WORLD_SIZE="1") == "0 1 None [1.0]\n"


def test_a_program_that_expects_others_is_told_how_to_start_them():
    assert "mpirun -n 4 python program.py" in start(ALONE, RANK="0", WORLD_SIZE="4")


def test_programs_find_torchruns_variables_under_mpirun():
    assert sorted(start(ALONE, 2).splitlines()) == ["0 2 0 [1.0]", "1 2 1 [1.0]"]


DIFFERENT = """
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
try:
    dist.all_reduce(torch.ones(2 + dist.get_rank()))
except Exception as error:
    sys.stdout.write(f"{type(error).__name__} {error}".replace(chr(10), " ") + chr(10))
"""


def test_what_processes_do_is_compared_where_details_are_asked_for():
    lines = start(DIFFERENT, 2, TORCH_DISTRIBUTED_DEBUG="DETAIL").splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("CollectiveMismatchError") and "float32[2]" in line and "float32[3]" in line


def test_a_backend_without_its_device_is_an_error():
    program = "import torch.distributed as dist\ndist.init_process_group('{}')"
    assert "doesn't have NCCL built in" in start(program.format("nccl"), CUDA_VISIBLE_DEVICES="")
    assert "Unknown backend type doves" in start(program.format("doves"))
