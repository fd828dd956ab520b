"""Work of each kind on one core and on all cores of the machine, beside torch with as many threads.

`python -m benchmarks.cores` writes a table: milliseconds of torch-compatible code on one core and on all (forward, with
backward, and the latter jitted), the speed-up, the part of the time that is serial by Amdahl's law, what 64 cores would
make of it, and the ratios to torch. Threads are set anew between two measurements, which take turns in one process. A
neighbour on a core looks like a serial part: run it on an idle machine. Arguments select rows by a part of their name;
`--quick` shows that everything runs.

What is limited by memory has no more speed-up than there is bandwidth: the row `copy` is the bound.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fxgrad as fx
import fxgrad.compat
from fxgrad.kernels.native import threads

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LARGE = 64  # cores for which a column is computed
QUICK = "--quick" in sys.argv
COLUMNS = (
    *("row", "ms on 1", f"ms on {CORES}", "speed-up", "serial", f"on {LARGE}"),
    *("torch on 1", f"torch on {CORES}", "its speed-up"),
)


def set_threads(count: int) -> None:
    """Have fxgrad, NumPy's BLAS and torch compute with so many threads."""
    os.environ["FXGRAD_NUM_THREADS"] = str(count)
    threads.thread_count.cache_clear()
    threads.blas_threads()[1](count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


# -- rows: a function of `torch` and operands, and the shapes of these ----------------
RNG = np.random.default_rng(0)
N = 8 if QUICK else 64
TOKENS = RNG.integers(0, 10_000, (N // 2, 128))
ROWS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "copy": (lambda t, x: x + 1, ((N, 50_000),)),
    "gelu": (lambda t, x: t.nn.functional.gelu(x), ((N, 128, 256),)),
    "tanh·sigmoid": (lambda t, x: t.tanh(x) * t.sigmoid(x), ((N, 128, 256),)),
    "layer_norm": (
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (512,), w, b),
        ((N, 128, 512), (512,), (512,)),
    ),
    "batch_norm": (
        lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, training=True),
        ((N, 64, 32, 32), (64,), (64,)),
    ),
    "group_norm": (lambda t, x: t.nn.functional.group_norm(x, 8), ((N, 64, 32, 32),)),
    "softmax": (lambda t, x: t.softmax(x, -1), ((N, 128, 512),)),
    "cross_entropy": (
        lambda t, x: t.nn.functional.cross_entropy(x, t.as_tensor(RNG.integers(0, 1000, len(x)))),
        ((32 * N, 1000),),
    ),
    "attention": (
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
        ((N // 4, 8, 128, 64),) * 3,
    ),
    "bmm": (lambda t, x, y: x @ y, ((N, 64, 128), (N, 128, 64))),
    "linear": (lambda t, x, w: t.nn.functional.linear(x, w), ((8 * N, 512), (512, 512))),
    "embedding": (lambda t, w: t.nn.functional.embedding(t.as_tensor(TOKENS), w), ((10_000, 256),)),
    "sort": (lambda t, x: t.sort(x, -1)[0], ((N, 20_000),)),
    "cumsum": (lambda t, x: t.cumsum(x, -1), ((N, 20_000),)),
    "sum": (lambda t, x: x.sum(), ((N, 50_000),)),
    "mean(0)": (lambda t, x: x.mean(0), ((N, 50_000),)),
    "dropout": (lambda t, x: t.nn.functional.dropout(x, 0.3), ((N, 50_000),)),
    "randn": (lambda t, x: t.randn(N, 20_000) * x, ((1,),)),
    "max_pool": (lambda t, x: t.nn.functional.max_pool2d(x, 2), ((N, 32, 32, 32),)),
    "conv": (lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1), ((N // 2, 32, 28, 28), (32, 32, 3, 3))),
    "depthwise": (
        lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1, groups=64),
        ((N // 2, 64, 28, 28), (64, 1, 3, 3)),
    ),
}


def recurrent(name: str) -> Callable[..., Any]:
    """Return the function of an input and the weights of a recurrent network."""

    def function(t: Any, x: Any, *weights: Any) -> Any:
        start = t.zeros(1, len(x), 128)
        states = (start, start) if name == "lstm" else start
        return getattr(t, name)(x, states, [w / 10 for w in weights], True, 1, 0.0, False, False, True)[0]

    return function


for name, gates in (("LSTM", 4), ("GRU", 3)):
    weights = (gates * 128, 64), (gates * 128, 128), (gates * 128,), (gates * 128,)
    ROWS[name] = (recurrent(name.lower()), ((N // 2, 50, 64), *weights))


def ways(name: str, torch: Any) -> Iterator[tuple[str, dict[str, Callable[[], Any]]]]:
    """Return the ways of a row: what is timed of us and of torch."""
    function, shapes = ROWS[name]
    arrays = [RNG.standard_normal(shape).astype("f4") for shape in shapes]

    def make(t: Any, backward: bool) -> Callable[[], Any]:
        operands = [t.tensor(a, requires_grad=backward) for a in arrays]
        cotangent = t.ones_like(function(t, *operands)).detach()

        def run() -> Any:
            y = function(t, *operands)
            if backward:
                for operand in operands:
                    operand.grad = None
                y.backward(cotangent)
            return y

        return run

    libraries = {"fxgrad": fxgrad.compat} | ({"torch": torch} if torch else {})
    for way, backward in (("forward", False), ("step", True)):
        yield way, {k: make(t, backward) for k, t in libraries.items()}
    if name in ("randn", "dropout"):
        return
    step = fx.jit(
        fx.grad(
            lambda *operands: fxgrad.compat.sum(function(fxgrad.compat, *operands)),
            argnums=tuple(range(len(arrays))),
        )
    )
    operands = [fxgrad.compat.tensor(a) for a in arrays]
    yield "jitted", {"fxgrad": lambda: step(*operands)}


def measure(run: dict[str, Callable[[], Any]], budget: float) -> dict[tuple[str, int], float]:
    """Return seconds by library and number of threads: the fastest of the rounds."""
    best: dict[tuple[str, int], float] = {}
    for call in run.values():
        end = time.perf_counter() + budget
        for _ in range(100):  # until everything is compiled
            call()
            if time.perf_counter() > end:
                break
    end, rounds = time.perf_counter() + budget, 0
    while time.perf_counter() < end or rounds < 2:
        rounds += 1
        for library, call in run.items():
            for count in (1, CORES):
                set_threads(count)
                for _ in range(3):
                    start = time.perf_counter()
                    call()
                    taken = time.perf_counter() - start
                    best[library, count] = min(taken, best.get((library, count), 1e9))
    return best


def main() -> None:
    try:
        import torch
    except ImportError:
        torch = None
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    budget = 0.02 if QUICK else float(os.environ.get("BUDGET", "1"))
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name in ROWS:
        if wanted and not any(w in name for w in wanted):
            continue
        for way, run in ways(name, torch):
            t = measure(run, budget)
            one, many = t["fxgrad", 1], t["fxgrad", CORES]
            serial = min(max((many / one * CORES - 1) / (CORES - 1), 0.0), 1.0)
            cells = [f"{1e3 * one:.2f}", f"{1e3 * many:.2f}", f"{one / many:.2f}", f"{serial:.2f}"]
            cells.append(f"{1 / (serial + (1 - serial) / LARGE):.1f} ×")
            cells += [""] * 3
            if ("torch", 1) in t:
                theirs = [t["torch", c] for c in (1, CORES)]
                cells[-3:] = [
                    f"{one / theirs[0]:.2f}",
                    f"{many / theirs[1]:.2f}",
                    f"{theirs[0] / theirs[1]:.2f}",
                ]
            print(f"| {name} {way} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
