"""Many processes: what a sum over them costs above bare MPI, and what of it a training step hides.

    python -m benchmarks.distributed [--quick] [--save FILE]

starts 1, 2 and 4 processes with `mpirun` (`ranks.py` is what they do) and prints tables: sums beside mpi4py's own, and
those of torch by gloo and of mpi4jax; gradients of a network without communication, with communication afterwards, and
while backward goes on, beside torch's DistributedDataParallel; the bytes that left each process; and what 8 to 4096
processes would take by the measured latency and bandwidth (`communication_cost.py`). Aims: a sum of one number takes
10 µs more than mpi4py's at most, one of 10 MB 1.05 times as long, and 2(n-1)/n of the parameters' bytes are sent.

Times are wall-clock: on fewer processors than processes, of which each waits by asking, they say what this machine does
and nothing about others.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

from benchmarks import communication_cost as cost
from benchmarks import machine

ROOT = Path(__file__).parent.parent
COUNTS = (1, 2, 4)
# Nothing goes through shared memory: what is sent passes the network device of this machine's own addresses.
BY_TCP = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}
PEERS = "mpi4py mpich numpy torch mpi4jax jax"


def measured(subject: str, count: int, quick: bool, **environment: str) -> Any:
    """Return what `count` processes measure of a subject."""
    launcher = which("mpirun", path=os.path.dirname(sys.executable)) or which("mpirun")
    if launcher is None:
        sys.exit("benchmarks/distributed.py needs mpirun: pip install 'fxgrad[mpi]'")
    program = [sys.executable, "-m", "benchmarks.ranks", subject, *(["--quick"] if quick else [])]
    command = [launcher, "-n", str(count), *program]
    result = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=540
    )
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    # MPI may print as well.
    return next(json.loads(line)[subject] for line in result.stdout.splitlines() if line.startswith("{"))


# ------------------------------------------------------------------------------------------------- the tables


def aligned(rows: list[list[str]]) -> str:
    """Return rows as a table of Markdown, the first of them as its head."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))
        )
        for row in rows
    ]
    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths))
    return "\n".join([lines[0] + " |", rule + "|", *(line + " |" for line in lines[1:])])


def bytes_of(number: float) -> str:
    """Return a number of bytes with its unit."""
    return next(f"{number / s:.3g} {unit}" for unit, s in (("MB", 1e6), ("kB", 1e3), ("B", 1)) if number >= s)


def table_of_sums(found: dict[int, list[dict[str, Any]]], which: str) -> list[list[str]]:
    """Return a row for each number of processes and of bytes: mpi4py's time, and the others' beside it."""
    names = [*next(iter(found.values()))[0][which]]
    rows = [["processes, bytes", *names]]
    for count, lines in found.items():
        for line in lines:
            bare, *others = line[which].values()
            rows.append([f"{count}, {bytes_of(line['bytes'])}", cost.duration(bare)])
            for seconds in others:
                above = 1e6 * (seconds - bare)
                is_short = line["bytes"] < 1e6 and above < 1000
                rows[-1].append(f"{above:+.1f} µs" if is_short else f"{seconds / bare:.2f} ×")
    return rows


def table_of_steps(found: dict[int, dict[str, Any]], which: str) -> list[list[str]]:
    """Return a row for each contender, a column for each number of processes."""
    names = [*next(iter(found.values()))[which]]
    rows = [["a gradient", *(f"{count} processes" if count > 1 else "1 process" for count in found)]]
    for name in names:
        rows.append([name, *(cost.duration(steps[which][name]) for steps in found.values())])
    hidden = [hidden_share(steps[which]) if count > 1 else "" for count, steps in found.items()]
    rows.append(["share of communication that is hidden", *hidden])
    return rows


def hidden_share(seconds: dict[str, float]) -> str:
    """Return how much of what communication takes afterwards is gone when it goes on beside backward."""
    after = seconds["reduced afterwards"]
    communication = after - seconds["no communication"]
    if communication < 0.02 * after:
        return "none to hide"
    return f"{(after - seconds['reduced while backward goes on']) / communication:.0%}"


def table_of_bytes(found: dict[int, dict[str, float]]) -> list[list[str]]:
    """Return what was sent by each process beside 2(n-1)/n of the parameters."""
    rows = [["processes", "parameters", "sent by each", "of the model"]]
    for count, counted in found.items():
        model = cost.sent_bytes(count, counted["parameters"])
        ratio = f"{counted['sent'] / model:.3f}"
        rows.append([f"{count}", bytes_of(counted["parameters"]), bytes_of(counted["sent"]), ratio])
    return rows


def report(quick: bool) -> str:
    """Measure everything and return the report."""
    sums = {count: measured("sums", count, quick) for count in COUNTS}
    steps = {count: measured("steps", count, quick) for count in COUNTS}
    size = steps[1]["bytes"]
    parts = [
        "# Many processes, measured",
        f"{machine.describe(PEERS)}.\n"
        "Processes above the number of processors take turns on them, and wait by asking: their times are those of "
        "the\nscheduler as much as of any message, and so are all where others use the machine "
        f"({busy()}).\nTimes are those of the slowest process: the medians of the rounds, and the least.",
        "## A sum over processes\n\nmpi4py's time into fresh memory; the others' above it, or as its multiple.",
        "Medians:",
        aligned(table_of_sums(sums, "median")),
        "The least:",
        aligned(table_of_sums(sums, "least")),
        f"## A gradient of {bytes_of(size)} of parameters\n\nIn messages of {bytes_of(steps[1]['bucket'])}; 128 "
        "examples on each process, so that more processes do more work.",
        "Medians:",
        aligned(table_of_steps(steps, "median")),
        "The least:",
        aligned(table_of_steps(steps, "least")),
        "## Bytes sent for a gradient\n\nCounted at the network device, by TCP; headers included.",
        aligned(table_of_bytes({n: measured("sent", n, quick, **BY_TCP) for n in (2, 3, 4)})),
    ]
    network = cost.Network(**measured("network", 2, quick))
    parts += [
        "## Predicted for more processes\n\n"
        f"From what was measured between two processes here, by shared memory: α = {cost.duration(network.latency)}, "
        f"β = {network.bandwidth / 1e9:.2f} GB/s,\n1/γ = {1e-9 / network.addition:.1f} GB/s. The formulas, and where "
        "they are from, stand in `communication_cost.py`. A prediction, not a measurement.",
        aligned(cost.table(network, {"4 kB": 4e3, bytes_of(size): size, "400 MB": 4e8})),
        "The same for a network between machines as it is often bought: α = 2 µs, β = 12.5 GB/s (100 Gbit/s).",
        aligned(cost.table(cost.Network(2e-6, 12.5e9, network.addition), {"4 kB": 4e3, "400 MB": 4e8})),
    ]
    return "\n\n".join(parts) + "\n"


def busy() -> str:
    """Return how many processes want a processor of this machine."""
    return (
        f"{os.getloadavg()[0]:.0f} processes wanted a processor at the end"
        if hasattr(os, "getloadavg")
        else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    text = report(options.quick)
    print(text, end="")
    if options.save:
        options.save.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
