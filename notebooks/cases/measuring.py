"""Times, memory and the file of figures, for the programs that measure the cases beside other libraries."""

from benchmarks import measure  # isort: skip  (it sets the number of threads)

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.machine import describe

from . import path_of


def milliseconds(contenders, rounds=7):
    """The median milliseconds of each contender; they take turns."""
    return {name: 1e3 * seconds for name, seconds in measure.medians(contenders, rounds).items()}


def memory(field):
    """A field of this process's memory in megabytes (Linux): VmRSS is what it has, VmHWM the most it has had."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def peak_of(small, large):
    """How much memory a call on full data takes at most, in megabytes, beyond what there is after one on little."""
    small()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # VmHWM starts anew
    before = memory("VmRSS")
    large()
    return memory("VmHWM") - before


def in_process(module, *arguments):
    """What a fresh process prints for these arguments, as JSON: memory is measured where nothing else was."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def digits(number, count=3):
    """A number as text, with so many digits that count."""
    return f"{number:.{count}g}" if abs(number) < 10**count else f"{number:.0f}"


def store(name, libraries, tables, **more):
    """Write the figures of a case: tables, whose first rows are headers, and arrays for pictures."""
    stored = {"machine": describe(f"numpy scipy llvmlite {libraries}"), "tables": tables, **more}
    path_of(name).write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
