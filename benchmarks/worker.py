"""A process that times the contenders of one line, in rounds that the main process asks for.

    python -m benchmarks.worker LINE CONTENDERS QUICK THREADS [TREE]

It prepares the contenders, compares their results, and says in one line of JSON who can be timed and why others
cannot. Then it answers every line that it reads with a round: {contender: seconds of a call}. Lines with a metric
are measured once instead, and a process has one contender.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import lines, metrics  # noqa: F401  (`lines` fills the table)
from .libraries import leaves
from .line import LINES, OURS, Line, Run, role_of

BURST = 4e-3  # seconds of calls that are timed together, so that the clock is a small part
# Seconds of calls before a contender is timed: some compilers finish in the first call, others in the background once
# a program has run for a while.
WARM = 1.0


def prepare(line: Line, quick: bool, wanted: Callable[[str], bool]) -> tuple[dict[str, Run], dict[str, str]]:
    """What can be timed, with results that agree; and, of the others, why not."""
    runs: dict[str, Run] = {}
    failures: dict[str, str] = {}
    expected: tuple[str, list] | None = None
    # Ours come last: a peer says what is right.
    for name, make in sorted(line.make(quick).items(), key=lambda item: role_of(item[0]) == OURS):
        if not wanted(name):
            continue
        try:
            run = make()
            results = [leaves(run()) for _ in range(line.calls)]
        except Exception as error:  # a contender that cannot do it is a finding, not an end
            failures[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        expected = expected or (name, results)
        if problem := difference(results, expected[1], line.tolerance):
            failures[name] = f"is not what {expected[0]} gives: {problem}"
        else:
            runs[name] = run
    return runs, failures


def difference(results: list, expected: list, tolerance: float) -> str:
    """Where results differ by more than the tolerance times the largest entry; empty where they do not."""
    for call, (found, right) in enumerate(zip(results, expected, strict=True)):
        if [a.shape for a in found] != [b.shape for b in right]:
            return f"shapes {[a.shape for a in found]}, not {[b.shape for b in right]}"
        for place, (a, b) in enumerate(zip(found, right)):
            if b.dtype.kind in "biu":
                a, b = a.astype(float), b.astype(float)
            error = np.max(np.abs(a - b), initial=0) / max(
                np.max(np.abs(b), initial=0), np.finfo(b.dtype).tiny
            )
            if not error <= tolerance:
                return f"relative error {error:.2g} of result {place} of call {call + 1}, {tolerance:.0e} allowed"
    return ""


def seconds(run: Run, calls: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of a call, after one that is not timed: others have left their data in the caches."""
    run()
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls


def warm_up(run: Run) -> None:
    """Call until everything is compiled that will be."""
    end = time.process_time() + WARM
    while time.process_time() < end:
        run()


def say(answer: Any) -> None:
    """One line to the main process."""
    print(json.dumps(answer), flush=True)


def main() -> None:
    name, contenders, quick, threads, *trees = sys.argv[1:]
    sys.path[:0] = trees
    if hasattr(os, "sched_setaffinity"):
        # So many cores hold every library to so many threads, whatever pools it starts.
        cores, count = sorted(os.sched_getaffinity(0)), int(threads)
        first = os.getpid() % max(1, len(cores) - count + 1)
        os.sched_setaffinity(0, cores[first : first + count])
    # Work of one thread is measured in processor time, to which neighbours add nothing.
    clock = time.process_time if threads == "1" else time.perf_counter
    line, chosen = LINES[name], contenders.split()
    if line.metric:
        run = line.make(quick == "True")[contenders]()
        value, result = getattr(metrics, line.metric)(run)
        say([value, [float(np.linalg.norm(leaf)) for leaf in leaves(result)]])
        return
    runs, failures = prepare(line, quick == "True", chosen.__contains__)
    if quick == "False":
        for run in runs.values():
            warm_up(run)
    calls = {name: max(1, int(BURST / max(seconds(run, 1), 1e-7))) for name, run in runs.items()}
    gc.collect()
    gc.freeze()  # what libraries hold is no work of whoever happens to start a collection
    say({"runs": [*runs], "failures": failures})
    for _ in sys.stdin:
        say({name: seconds(run, calls[name], clock) for name, run in runs.items()})


if __name__ == "__main__":
    main()
