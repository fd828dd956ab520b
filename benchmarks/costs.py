"""Measures the numbers of `fxgrad.core.costs` anew: `python -m benchmarks.costs [NAME ...]`.

A program is timed at several sizes with a number as it is, smaller, larger, 0 and infinite, each in its own process.
A column says how much longer the program takes than with the best of these numbers (geometric mean over the sizes). A
number is in order where the column "as it is" is near 0 %.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from fxgrad.core import costs

FACTORS = {"0": 0.0, "1/16": 1 / 16, "1/4": 1 / 4, "as it is": 1.0, "4": 4.0, "16": 16.0, "∞": math.inf}
WARM_UP, MEASURED = 0.15, 0.1  # seconds for each size: machine code is made while NumPy computes


def row(n: int) -> Any:
    import numpy as np

    return np.linspace(0.1, 2.0, n)


def fused(n: int) -> Callable[[], Any]:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.jit(lambda x: fnp.exp(x) * x + 1.0), row(n)
    return lambda: function(x)


def deferred(n: int) -> Callable[[], Any]:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.grad(lambda x: fnp.sum(fnp.sin(x) * x + fnp.exp(-x * x) * (x + 1))), row(n)
    return lambda: function(x)


def special(name: str) -> Callable[[int], Callable[[], Any]]:
    def program(n: int) -> Callable[[], Any]:
        from fxgrad.scipy import special

        function, x = getattr(special, name), row(n)
        return lambda: function(x)

    return program


def outer(n: int) -> Callable[[], Any]:
    import fxgrad.numpy as fnp

    x = row(math.isqrt(n))
    return lambda: fnp.outer(x, x)


def cumulated(n: int) -> Callable[[], Any]:
    from fxgrad import lax

    x = row(n)
    return lambda: lax.cumlogsumexp(x)


def indexed(n: int) -> Callable[[], Any]:
    import numpy as np

    import fxgrad as fx
    import fxgrad.numpy as fnp

    places, x = np.arange(n)[::-1] // 2, row(n)
    function = fx.grad(lambda x: fnp.sum(x[places] ** 2))
    return lambda: function(x)


def chosen(n: int) -> Callable[[], Any]:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.jit(lambda x: fnp.where(x > 1, x, 0.0)), row(n)
    return lambda: function(x)


def pooled(n: int) -> Callable[[], Any]:
    import fxgrad.compat as torch

    x = torch.from_numpy(row(2 * n).reshape(1, 1, -1))
    return lambda: torch.nn.functional.max_pool1d(x, 2)


def convolved(n: int) -> Callable[[], Any]:
    import fxgrad.compat as torch

    x, w = torch.from_numpy(row(n // 3).reshape(1, 4, -1)), torch.from_numpy(row(48).reshape(4, 4, 3))
    return lambda: torch.nn.functional.conv1d(x, w)


# For each number the program, and the sizes about which it decides.
PROGRAMS: dict[str, tuple[Callable[[int], Callable[[], Any]], list[int]]] = {
    "FUSED_ENTRIES": (fused, [1 << k for k in (8, 10, 12, 14, 16, 18)]),
    "DEFERRED_ENTRIES": (deferred, [1 << k for k in (10, 12, 14, 16, 18, 20)]),
    "SPECIAL_ENTRIES": (special("erf"), [1 << k for k in (6, 8, 10, 12, 14)]),
    "LIBRARY_ENTRIES": (special("gammaln"), [1 << k for k in (8, 10, 12, 14, 16)]),
    "OUTER_ENTRIES": (outer, [1 << k for k in (12, 14, 16, 18, 20)]),
    "CUMULATED_ENTRIES": (cumulated, [1 << k for k in (5, 7, 9, 11, 13)]),
    "INDEXED_ENTRIES": (indexed, [1 << k for k in (8, 10, 12, 14, 16)]),
    "WHERE_ENTRIES": (chosen, [1 << k for k in (6, 8, 10, 12, 14)]),
    "POOLED_ENTRIES": (pooled, [1 << k for k in (3, 5, 7, 9, 11)]),
    "CONVOLVED_PRODUCTS": (convolved, [3 << k for k in (10, 12, 14, 16, 18)]),
    "CACHE_ENTRIES": (special("ndtri"), [1 << k for k in (14, 16, 18, 20)]),
    "THREAD_WORK": (fused, [1 << k for k in (18, 19, 20, 21, 22)]),
}


def times(name: str) -> list[float]:
    """Time the program of a number at its sizes, in this process."""
    program, sizes = PROGRAMS[name]
    found = []
    for size in sizes:
        call, end, spans = program(size), time.perf_counter() + WARM_UP, []
        while time.perf_counter() < end:
            call()
        end = time.perf_counter() + MEASURED
        while time.perf_counter() < end or len(spans) < 3:
            start = time.perf_counter()
            call()
            spans.append(time.perf_counter() - start)
        found.append(median(spans))
    return found


def measure(name: str) -> dict[str, float]:
    """The loss against the best number, for each factor."""
    stored = getattr(costs, name)
    found = {}
    for _ in range(2):  # all of them twice: what else runs on the machine comes and goes
        for label, factor in FACTORS.items():
            value = sys.maxsize if factor == math.inf else int(stored * factor)
            command = [sys.executable, "-m", "benchmarks.costs", "--child", name, str(value)]
            run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
            spans = json.loads(run.stdout)
            found[label] = [min(pair) for pair in zip(found.get(label, spans), spans)]
    best = [min(column) for column in zip(*found.values())]
    return {
        label: math.exp(sum(math.log(t / b) for t, b in zip(spans, best)) / len(best)) - 1
        for label, spans in found.items()
    }


def main(names: list[str]) -> None:
    print("| number | as it is |", *(f" {label} times |" for label in FACTORS if label != "as it is"), sep="")
    print("|---|", *("--:|" for _ in FACTORS), sep="")
    for name in names or PROGRAMS:
        lost = measure(name)
        shown = [lost.pop("as it is"), *lost.values()]
        print(f"| `{name}` |", *(f" {100 * part:.0f} % |" for part in shown), sep="", flush=True)


if __name__ == "__main__":
    if "--child" in sys.argv:
        setattr(costs, sys.argv[-2], int(sys.argv[-1]))  # before anything reads it
        print(json.dumps(times(sys.argv[-2])))
    else:
        main(sys.argv[1:])
