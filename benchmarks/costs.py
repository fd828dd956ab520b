"""Measures the numbers of `fxgrad.core.costs` anew: `python -m benchmarks.costs [--quick] [NAME ...]`.

A size: a program is timed for several sizes with the number as it is, smaller, larger, 0 and infinite, each in its own
process. A column says how much longer the program takes than with the best of these numbers (geometric mean over the
sizes). A number is in order where the column "as it is" is near 0 %.

A time: what NumPy takes for a piece of work, beside the number. A factor of two does no harm.

With `--quick` each program runs only with the number as it is, 0 or the smallest, and infinite, for two sizes, and
once: that shows that everything runs, and the large mistakes.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.cost_programs import PROGRAMS
from benchmarks.cost_times import TIMES
from fxgrad.core import costs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAMES = {0: "0", 1 / 16: "1/16", 1 / 4: "1/4", 1: "as it is", 4: "4", 16: "16", math.inf: "∞"}
WARM_UP, MEASURED = 0.15, 0.1  # seconds for each size: machine code is made while NumPy computes
QUICK = 0.2  # of these


def time_call(call: Callable[[], Any], patience: float) -> float:
    """Return the median of the seconds that a call takes, once it is warm."""
    end, spans = time.perf_counter() + patience * WARM_UP, []
    while time.perf_counter() < end:
        call()
    end = time.perf_counter() + patience * MEASURED
    while time.perf_counter() < end or len(spans) < 3:
        start = time.perf_counter()
        call()
        spans.append(time.perf_counter() - start)
    return median(spans)


def run_child(
    name: str, value: int | None, sizes: Sequence[int], quick: bool, **environment: str
) -> list[float]:
    """Time the program of a number at some sizes in a process of its own, where the number has this value."""
    task = json.dumps([name, value, *sizes])
    command = [sys.executable, "-m", "benchmarks.costs", "--child", task, *["--quick"] * quick]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    return json.loads(run.stdout)


def answer(name: str, value: int | None, sizes: list[int], quick: bool) -> list[float]:
    """Do what `run_child` asks for."""
    if value is not None:
        setattr(costs, name, value)  # before anything reads it
    make = (PROGRAMS if name in PROGRAMS else TIMES)[name].make
    return [time_call(make(size), QUICK if quick else 1.0) for size in sizes]


def losses(name: str, quick: bool) -> dict[float, float]:
    """Return the loss against the best value of a number, for each factor."""
    _, sizes, factors = PROGRAMS[name]
    stored = getattr(costs, name)
    if quick:
        sizes, factors = sizes[1::2][:2], (factors[0], 1.0, math.inf)
    found: dict[float, list[float]] = {}
    for _ in range(1 if quick else 2):  # all of them twice: what else runs on the machine comes and goes
        for factor in factors:
            value = sys.maxsize if factor == math.inf else int(stored * factor)
            spans = run_child(name, value, sizes, quick)
            found[factor] = [min(pair) for pair in zip(found.get(factor, spans), spans)]
    best = [min(column) for column in zip(*found.values())]
    return {
        factor: math.exp(sum(math.log(t / b) for t, b in zip(spans, best)) / len(best)) - 1
        for factor, spans in found.items()
    }


def nanoseconds(name: str, quick: bool) -> float:
    """Return what NumPy takes for a piece of work."""
    _, sizes, (few, many) = TIMES[name]
    short, long = run_child(name, None, sizes, quick, FXGRAD_NATIVE="never")
    return 1e9 * (long - short) / (many - few)


def table(names: Sequence[str], quick: bool) -> None:
    """Print the losses of sizes, then the times."""
    sizes = [name for name in names if name in PROGRAMS]
    if sizes:
        print("| number | as it is |", *(f" {label} times |" for f, label in NAMES.items() if f != 1), sep="")
        print("|---|", *("--:|" for _ in NAMES), sep="")
    for name in sizes:
        lost = losses(name, quick)
        shown = [f"{100 * lost[f]:.0f} %" if f in lost else "" for f in (1, *(f for f in NAMES if f != 1))]
        print(f"| `{name}` |", *(f" {part} |" for part in shown), sep="", flush=True)
    times = [name for name in names if name in TIMES]
    if times:
        print("\n| nanoseconds | as it is | here |\n|---|--:|--:|")
    for name in times:
        print(f"| `{name}` | {getattr(costs, name):g} | {nanoseconds(name, quick):.3g} |", flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    if "--child" in arguments:
        name, value, *sizes = json.loads(arguments[arguments.index("--child") + 1])
        print(json.dumps(answer(name, value, sizes, quick)))
    else:
        table([a for a in arguments if a != "--quick"] or [*PROGRAMS, *TIMES], quick)
