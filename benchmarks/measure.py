"""Timing that survives a shared machine: contenders take turns, and medians of many rounds are compared.

Import this first: it holds NumPy, torch and XLA to one thread each, which must be said before they load
(`limit_threads` says so, for any number).
Times are those of this process's own CPU work, so a neighbour who takes the processor away does not count.
"""

import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Mapping
from types import ModuleType

Contenders = Mapping[str, Callable[[], object]]


def limit_threads(count: int) -> dict[str, str]:
    """The environment in which every library has so many threads. XLA takes the cores that the process may use."""
    libraries = ("FXGRAD", "OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")
    alone = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"} if count == 1 else {}
    return {**{f"{name}_NUM_THREADS": str(count) for name in libraries}, **alone, "JAX_PLATFORMS": "cpu"}


os.environ.update(limit_threads(1))


def take_turns(contenders: Contenders, rounds: int, calls: int = 1) -> dict[str, list[float]]:
    """Seconds of CPU for one call of each contender, one number a round.

    `calls` is how many calls are timed together: enough that the clock itself is a small part.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        run()  # what happens once (compilation, tables filled on first use) is not what is measured
    for _ in range(rounds):
        for name, run in contenders.items():
            # Not timed: a contender that takes long leaves the processor's caches cold for whoever comes next,
            # so that places in the order would be compared (measured: half as much again after un-jitted JAX).
            run()
            start = time.process_time()
            for _ in range(calls):
                run()
            times[name].append((time.process_time() - start) / calls)
    return times


def medians(contenders: Contenders, rounds: int, calls: int = 1) -> dict[str, float]:
    """The median seconds of one call of each contender."""
    return {name: statistics.median(times) for name, times in take_turns(contenders, rounds, calls).items()}


def report(seconds: Mapping[str, float], ours: str) -> None:
    """One line a contender: its time, and how many times ours that is."""
    for name, time_of_one in seconds.items():
        ratio = "" if name == ours else f"   {time_of_one / seconds[ours]:6.2f} × {ours}"
        print(f"  {name:22} {1e6 * time_of_one:11.1f} µs{ratio}")


def installed(*names: str) -> list[str]:
    """Those of the modules that there are; the others are named in one line."""
    found = [name for name in names if importlib.util.find_spec(name)]
    if missing := sorted(set(names) - set(found)):
        print(f"not installed, so not compared with: {', '.join(missing)}")
    return found


def peers(*names: str) -> dict[str, ModuleType]:
    """Those of the modules that there are, imported and held to one thread and float64."""
    found = {name: importlib.import_module(name) for name in installed(*names)}
    if "torch" in found:
        found["torch"].set_num_threads(1)
    if "jax" in found:
        found["jax"].config.update("jax_enable_x64", True)
    return found
