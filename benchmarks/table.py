"""The table of measurements: text, JSON, a picture."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import machine
from .line import BY_HAND, OURS, PEER
from .rounds import Measurement

WIDTHS = {OURS: 30, PEER: 32}
COLUMNS = f"{'':65}{OURS:>{WIDTHS[OURS]}}{f'best {PEER}':>{WIDTHS[PEER]}}{'ratio':>8}{'by hand':>10}"


def row(measurement: Measurement) -> str:
    """A line of the table: our best contender, the best peer, the ratio of the two, the ratio to what is by hand."""
    cells = []
    for role, width in WIDTHS.items():
        name = measurement.best(role)
        cells.append(
            f"{f'{name} {amount(measurement.median(name), measurement.unit)}' if name else '–':>{width}}"
        )
    ratios = f"{number(measurement.ratio()):>8}{number(measurement.ratio(BY_HAND)):>10}"
    problems = "".join(f"\n    {name}: {why}" for name, why in measurement.failures.items())
    return f"{measurement.line.title:65}{''.join(cells)}{ratios}{problems}"


def details(measurement: Measurement) -> str:
    """Every contender's median, the fastest first."""
    names = sorted(measurement.rounds, key=measurement.median)
    return "    " + ", ".join(
        f"{name} {amount(measurement.median(name), measurement.unit)}" for name in names
    )


def number(ratio: float | None) -> str:
    """A ratio in two decimals."""
    return "–" if ratio is None else f"{ratio:.2f}"


def amount(value: float, unit: str) -> str:
    """Three digits and a unit: 0.000123 s is 123 µs."""
    steps = [(1e9, "G"), (1e6, "M"), (1e3, "k")] if unit == "B" else [(1.0, ""), (1e-3, "m"), (1e-6, "µ")]
    scale, prefix = next(((s, p) for s, p in steps if abs(value) >= s), (steps[-1]))
    scaled = value / scale
    digits = max(0, 2 - math.floor(math.log10(abs(scaled)))) if scaled else 0
    return f"{scaled:.{min(digits, 2)}f} {prefix}{unit}"


def summary(measurements: Iterable[Measurement]) -> str:
    """The geometric mean of the ratios to the best peer, and how many lines are ahead."""
    ratios = {m.line.name: m.ratio() for m in measurements}
    found = {name: ratio for name, ratio in ratios.items() if ratio}
    if not found:
        return "no line has a peer"
    behind = sorted((name for name in found if found[name] > 1), key=found.__getitem__, reverse=True)
    missing = [name for name, ratio in ratios.items() if not ratio and name != "memory_growth"]
    return (
        f"{len(found)} lines: geometric mean of the ratios to the best peer "
        f"{statistics.geometric_mean(found.values()):.3f}, ahead in {len(found) - len(behind)}"
        + "; behind: " * bool(behind)
        + ", ".join(f"{name} {found[name]:.2f}" for name in behind)
        + "; without a ratio: " * bool(missing)
        + ", ".join(missing)
    )


def write_json(measurements: Sequence[Measurement], threads: int, path: Path) -> None:
    """Every number of every round, and the machine."""
    content = {
        "machine": machine.describe(),
        "threads": threads,
        "lines": {
            m.line.name: {
                "title": m.line.title,
                "unit": m.unit,
                "ratio": m.ratio(),
                "ratio to by hand": m.ratio(BY_HAND),
                "rounds": m.rounds,
                "failures": m.failures,
            }
            for m in measurements
        },
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def draw(measurements: Sequence[Measurement], path: Path) -> None:
    """A picture: a bar a line, on a logarithmic axis whose middle is the best peer."""
    from matplotlib.figure import Figure

    rows = [(m.line.title, ratio) for m in measurements if (ratio := m.ratio())][::-1]
    figure = Figure(figsize=(9, 1.2 + 0.26 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    colours = ["tab:green" if ratio <= 1 else "tab:red" for _, ratio in rows]
    axes.barh([title for title, _ in rows], [math.log2(ratio) for _, ratio in rows], color=colours)
    reach = max(1.0, *(abs(math.log2(ratio)) for _, ratio in rows)) + 0.5
    places = range(-math.floor(reach), math.floor(reach) + 1)
    axes.set(xlim=(-reach, reach), xlabel="time (memory) of fxgrad to that of the best peer")
    axes.set_xticks([*places], [f"{2.0**place:g}" for place in places])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.margins(y=0.01)
    figure.savefig(path, dpi=150)
