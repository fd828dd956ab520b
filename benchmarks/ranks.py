"""What `distributed.py` measures, on each of the processes that `mpirun` has started.

    mpirun -n 2 python -m benchmarks.ranks SUBJECT [--quick]

Contenders take turns between barriers, a round's time is that of the slowest process, and results are compared first.
The first process prints the measurements as JSON.
"""

from benchmarks import measure  # isort: skip  (it sets the number of threads)

import importlib.util
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import fxgrad as fx
import fxgrad.numpy as fnp

Contenders = dict[str, Callable[[], Any]]
WORLD = MPI.COMM_WORLD
TURN = 0.002  # seconds: short, so that some turns pass before the system interrupts any of the processes


def take_turns(contenders: Contenders, rounds: int) -> dict[str, dict[str, float]]:
    """Return the seconds of one call of each contender, on the slowest process: the median and the least of rounds."""

    def seconds(run: Callable[[], Any], calls: int) -> float:
        WORLD.Barrier()
        start = time.perf_counter()
        for _ in range(calls):
            run()
        return WORLD.allreduce(time.perf_counter() - start, MPI.MAX) / calls

    # As many calls are timed together as take TURN seconds.
    calls = {name: max(1, min(1000, int(TURN / seconds(run, 3)))) for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            run()  # not timed, as in measure.take_turns
            times[name].append(seconds(run, calls[name]))
    return {
        "median": {name: statistics.median(found) for name, found in times.items()},
        "least": {name: min(found) for name, found in times.items()},
    }


def check_equal(contenders: Contenders, tolerance: float) -> None:
    """Raise unless all contenders give the same numbers."""
    results = {name: [np.asarray(leaf) for leaf in fx.tree.leaves(run())] for name, run in contenders.items()}
    first, *others = results.items()
    for name, found in others:
        for one, other in zip(first[1], found, strict=True):
            np.testing.assert_allclose(
                other, one, rtol=tolerance, atol=tolerance, err_msg=f"{name}, {first[0]}"
            )


def join_gloo() -> Any:
    """Return torch with its group of these processes, by gloo; None where torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    torch.set_num_threads(1)
    path = WORLD.bcast(os.path.join(tempfile.mkdtemp(), "store") if WORLD.rank == 0 else None)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{path}", rank=WORLD.rank, world_size=WORLD.size
    )
    return torch


# ------------------------------------------------------------------------------------------------- collectives


def sums(quick: bool) -> list[dict[str, Any]]:
    """Measure sums of few and of many bytes."""
    torch, world = join_gloo(), fx.distributed.world()
    mesh = fx.distributed.Mesh(world, {"data": world.size})
    jitted = fx.jit(lambda x: fx.lax.psum(x, "data"))
    found = []
    with mesh:
        for size in (1, 1000) if quick else (1, 1000, 100_000, 2_500_000):
            x = np.full(size, WORLD.rank + 1, np.float32)
            contenders: Contenders = {
                "mpi4py": bare_sum(x),
                "communicator": lambda x=x: world.all_reduce(x),
                "lax.psum": lambda x=x: fx.lax.psum(x, "data"),
                "jitted lax.psum": lambda x=x: jitted(x),
                **(gloo_sum(torch, x) if torch else {}),
                **mpi4jax_sum(x),
            }
            check_equal(contenders, 1e-6)
            seconds = take_turns(contenders, 3 if quick else 60)
            found.append({"bytes": x.nbytes, **seconds})
    if torch:
        torch.distributed.destroy_process_group()
    return found


def bare_sum(x: np.ndarray) -> Callable[[], np.ndarray]:
    """Return the sum by mpi4py and nothing else, into fresh memory."""

    def run() -> np.ndarray:
        y = np.empty_like(x)
        WORLD.Allreduce(x, y)
        return y

    return run


def gloo_sum(torch: Any, x: np.ndarray) -> Contenders:
    """Return the sum by torch.distributed, into fresh memory."""
    source = torch.from_numpy(x)

    def run() -> Any:
        y = source.clone()
        torch.distributed.all_reduce(y)
        return y

    return {"torch gloo": run}


def mpi4jax_sum(x: np.ndarray) -> Contenders:
    """Return the jitted sum by mpi4jax, if it is installed."""
    if importlib.util.find_spec("mpi4jax") is None:
        return {}
    import jax
    import mpi4jax

    total = jax.jit(lambda x: mpi4jax.allreduce(x, op=MPI.SUM, comm=WORLD))
    y = jax.numpy.asarray(x)
    return {"mpi4jax, jitted": lambda: total(y).block_until_ready()}


def network(quick: bool) -> dict[str, float]:
    """Measure what a message between the first two processes takes: latency, bandwidth, and a byte's addition."""
    if WORLD.size < 2:
        return {}

    def one_way(size: int, rounds: int) -> float:
        x, times = np.zeros(size, np.uint8), []
        for _ in range(rounds):
            WORLD.Barrier()
            start = time.perf_counter()
            if WORLD.rank == 0:
                WORLD.Send(x, 1)
                WORLD.Recv(x, 1)
            elif WORLD.rank == 1:
                WORLD.Recv(x, 0)
                WORLD.Send(x, 0)
            times.append((time.perf_counter() - start) / 2)
        return statistics.median(times[rounds // 10 :])

    size, rounds = (100_000, 20) if quick else (10_000_000, 200)
    latency = one_way(1, rounds)
    x, y = np.ones(size // 4, np.float32), np.ones(size // 4, np.float32)
    addition = measure.medians({"add": lambda: np.add(x, y, out=y)}, 9)["add"] / size
    return {"latency": latency, "bandwidth": size / (one_way(size, rounds) - latency), "addition": addition}


# ---------------------------------------------------------------------------------------------------- training

WIDTHS = (784, 1024, 1024, 1024, 10)
BATCH = 128  # on each process


def make_parameters(quick: bool) -> list[np.ndarray]:
    """Return weights and biases, the same on all processes."""
    draw, widths = np.random.default_rng(0), (16, 32, 10) if quick else WIDTHS
    shapes = [shape for n, m in itertools.pairwise(widths) for shape in ((n, m), (m,))]
    return [draw.standard_normal(s, np.float32) / np.float32(max(s[0], 16) ** 0.5) for s in shapes]


def loss(params: list[Any], x: Any, y: Any) -> Any:
    """The mean squared error of a network on a batch."""
    *hidden, last, shift = params
    for weights, bias in zip(hidden[::2], hidden[1::2]):
        x = fnp.tanh(x @ weights + bias)
    return fnp.mean((x @ last + shift - y) ** 2)


def steps(quick: bool) -> dict[str, Any]:
    """Measure the gradient of a network on data of which every process has a part."""
    params, world = make_parameters(quick), fx.distributed.world()
    draw = np.random.default_rng(WORLD.rank + 1)
    x = draw.standard_normal((BATCH, params[0].shape[0]), np.float32)
    y = draw.standard_normal((BATCH, params[-1].shape[0]), np.float32)
    local = fx.grad(loss)
    bucket = 1 << 12 if quick else 1 << 20
    kinds = [(p.shape, p.dtype) for p in params]
    buckets = fx.distributed.Buckets(world, kinds, bucket)

    def afterwards() -> list[np.ndarray]:
        for index, gradient in reversed([*enumerate(local(params, x, y))]):
            buckets.ready(index, gradient)
        return buckets.finish()

    overlapped = fx.distributed.grad(loss, bucket_bytes=bucket)
    in_one = fx.distributed.grad(loss, bucket_bytes=1 << 30)
    contenders: Contenders = {
        "reduced afterwards": afterwards,
        "reduced while backward goes on": lambda: overlapped(params, x, y),
        "the same, one message": lambda: in_one(params, x, y),
        "compat DDP": ddp_step(compat(), params, x, y, bucket),
    }
    torch = join_gloo()
    alone: Contenders = {"no communication": lambda: local(params, x, y)}
    if torch:
        contenders["torch DDP, gloo"] = ddp_step(torch, params, x, y, bucket)
        alone["torch, no communication"] = step_alone(torch, params, x, y)
    check_equal(contenders, 1e-4)
    seconds = take_turns(alone | contenders, 3 if quick else 15)
    if torch:
        torch.distributed.destroy_process_group()
    return {"bytes": sum(p.nbytes for p in params), "bucket": bucket, **seconds}


def compat() -> Any:
    """Return the torch surface, with its group of these processes."""
    import fxgrad.compat

    fxgrad.compat.distributed.init_process_group("mpi")
    return fxgrad.compat


def network_of(torch: Any, params: list[np.ndarray]) -> Any:
    """Return the network as a module of torch, or of its surface."""
    layers = []
    for weights, bias in zip(params[::2], params[1::2]):
        layer = torch.nn.Linear(*weights.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weights.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def step_alone(torch: Any, params: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    """Return the gradient by `.backward()`, of this process's data."""
    return backward_of(torch, network_of(torch, params), x, y)


def ddp_step(
    torch: Any, params: list[np.ndarray], x: np.ndarray, y: np.ndarray, bucket: int
) -> Callable[[], Any]:
    """Return the gradient by `.backward()` of DistributedDataParallel."""
    parallel = torch.nn.parallel.DistributedDataParallel
    return backward_of(torch, parallel(network_of(torch, params), bucket_cap_mb=bucket / 2**20), x, y)


def backward_of(torch: Any, model: Any, x: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    """Return a function that gives the gradients of the loss in the order and the shapes of `loss`."""
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y)

    def run() -> list[np.ndarray]:
        for p in model.parameters():
            p.grad = None
        ((model(inputs) - targets) ** 2).mean().backward()
        return [p.grad.numpy().T for p in model.parameters()]

    return run


# ------------------------------------------------------------------------------------------------------- bytes


def sent(quick: bool) -> dict[str, float]:
    """Count the bytes that the device of this machine's own addresses has sent for a gradient, on each process.

    Only messages by TCP are seen there: `distributed.py` tells MPI to send nothing by shared memory.
    """
    params = make_parameters(quick)
    x = np.ones((4, params[0].shape[0]), np.float32)
    y = np.ones((4, params[-1].shape[0]), np.float32)
    gradient = fx.distributed.grad(loss, bucket_bytes=1 << 20)
    gradient(params, x, y)  # the first compares what the processes have
    rounds = 3 if quick else 10
    WORLD.Barrier()
    before = sent_by_loopback()
    WORLD.Barrier()
    for _ in range(rounds):
        gradient(params, x, y)
    WORLD.Barrier()
    time.sleep(0.05)  # acknowledgements
    counted = (sent_by_loopback() - before) / (rounds * WORLD.size)
    WORLD.Barrier()
    return {"parameters": sum(p.nbytes for p in params), "sent": counted}


def sent_by_loopback() -> int:
    """Return how many bytes the device `lo` has sent since the machine started."""
    with open("/proc/net/dev", encoding="ascii") as devices:
        numbers = next(line.partition(":")[2] for line in devices if line.strip().startswith("lo:"))
    return int(numbers.split()[8])


SUBJECTS = {"sums": sums, "network": network, "steps": steps, "sent": sent}


def main() -> None:
    subject, *options = sys.argv[1:]
    found = SUBJECTS[subject]("--quick" in options)
    if WORLD.rank == 0:
        print(json.dumps({subject: found}))


if __name__ == "__main__":
    main()
