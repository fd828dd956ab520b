"""torch.distributed and DistributedDataParallel: one program on two processes, under torch with gloo and here with MPI,
gets the same numbers and errors."""

import inspect
import json
import os
import socket
import subprocess
import sys
import types
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed
import torch.utils.data

import fxgrad.compat as fxt
from tests.distributed.ranks import mpirun

PROGRAM = Path(__file__).parent.parent / "programs" / "data_parallel.py"
SIZE = 2
LIMIT = 240  # seconds


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


def start(command, **environment):
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        command,
        env=os.environ | threads | environment,
        cwd=PROGRAM.parent.parent.parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(processes):
    for process in processes:
        try:
            output, _ = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        assert process.returncode == 0, output


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Where the program has written what it got under torch, and here."""
    pytest.importorskip("mpi4py")
    if mpirun() is None:
        pytest.skip("needs mpirun")
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("theirs", "ours"))
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": str(SIZE)}
    processes = [
        start([sys.executable, "-W", "ignore", PROGRAM, theirs], RANK=str(rank), **address)
        for rank in range(SIZE)
    ]
    finish(processes)
    command = [mpirun(), "-n", str(SIZE), sys.executable, "-W", "ignore", "-m", "fxgrad.compat"]
    finish([start([*command, PROGRAM, ours])])
    return theirs, ours


def agree(theirs, ours):
    """Whether two results are equal, numbers to rounding."""
    if theirs == ours:
        return True
    if isinstance(theirs, list):
        try:
            return np.allclose(np.array(theirs, float), np.array(ours, float), rtol=1e-4, atol=1e-6)
        except (TypeError, ValueError):
            return len(theirs) == len(ours) and all(map(agree, theirs, ours))
    return isinstance(theirs, float) and bool(np.isclose(theirs, ours, rtol=1e-4))


def test_one_program_gets_the_same_under_both(folders):
    for rank in range(SIZE):
        theirs, ours = (json.loads((folder / f"{rank}.json").read_text()) for folder in folders)
        assert theirs.keys() == ours.keys() and len(theirs) >= 60
        different = {k: (theirs[k], ours[k]) for k in theirs if not agree(theirs[k], ours[k])}
        assert different == {}


# What torch itself has in no document: other things that its module happens to have imported.
IMPORTED = {
    "GroupName", "RankType", "autograd", "c10d_logger", "config", "log", "logging", "logging_handlers", "sys",
    "timedelta", "torch", "traceback", "typing", "utils", "distributed_c10d", "constants",
}  # fmt: skip


def test_every_public_name_is_there_or_says_why_not():
    # Of modules it has those that somebody has imported.
    own = {n: v for n, v in vars(torch.distributed).items() if type(v) is not types.ModuleType}
    names = [n for n in own if not n.startswith("_") and n not in IMPORTED]
    missing = []
    for name in names:
        try:
            exec(f"found.{name}", {"found": fxt.distributed})
        except AttributeError:
            missing.append(name)
    assert missing == []


def test_functions_take_torchs_arguments():
    c10d = torch.distributed.distributed_c10d
    different = {}
    for name in c10d.__all__:
        theirs, ours = getattr(c10d, name), getattr(fxt.distributed, name, None)
        if type(theirs) is not types.FunctionType or ours is None:
            continue
        wanted = list(inspect.signature(theirs).parameters)
        if list(inspect.signature(ours).parameters) != wanted:
            different[name] = wanted
    assert different == {}
    ddp = [inspect.signature(lib.nn.parallel.DistributedDataParallel) for lib in (torch, fxt)]
    assert list(ddp[0].parameters) == list(ddp[1].parameters)


def test_samplers_give_each_process_its_part():
    theirs, ours = torch.utils.data, fxt.utils.data
    for length, count, options in [
        (10, 3, {}), (3, 5, {}), (10, 3, {"drop_last": True}), (12, 4, {"shuffle": False}), (7, 2, {"seed": 9})
    ]:  # fmt: skip
        for rank in range(count):
            samplers = [
                lib.DistributedSampler(range(length), count, rank, **options) for lib in (theirs, ours)
            ]
            for epoch in (0, 3):
                orders = []
                for sampler in samplers:
                    sampler.set_epoch(epoch)
                    orders.append((len(sampler), list(sampler)))
                assert orders[0] == orders[1]
    for lib in (theirs, ours):
        with pytest.raises(ValueError, match="rank should be in the interval"):
            lib.DistributedSampler(range(3), 2, 2)


def test_stores_have_torchs_answers(tmp_path):
    def use(dist, store):
        store.set("a", "1")
        other = dist.PrefixStore("part", store)
        other.set("a", b"2")
        answers = [store.get("a"), other.get("a"), store.add("n", 2), store.add("n", 3), store.get("n")]
        answers += [store.check(["a", "n"]), store.check(["a", "x"]), store.delete_key("a")]
        answers += [
            store.compare_set("c", "", "first"),
            store.compare_set("c", "wrong", "second"),
            store.get("c"),
        ]
        return [*answers, store.compare_set("c", "first", "third")]

    for make in (lambda d, name: d.HashStore(), lambda d, name: d.FileStore(str(tmp_path / name), 1)):
        theirs, ours = (
            use(d, make(d, name)) for d, name in ((torch.distributed, "t"), (fxt.distributed, "o"))
        )
        assert theirs == ours
    for dist in (torch.distributed, fxt.distributed):
        store = dist.HashStore()
        store.set_timeout(timedelta(milliseconds=20))
        with pytest.raises(dist.DistStoreError, match="timeout"):
            store.get("nothing")
