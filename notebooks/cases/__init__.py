"""What the case studies read: a solver that knows nothing of this library, and figures measured beside others.

The figures need other libraries, and minutes, so the notebooks show what `python -m notebooks.cases.measure_NAME` has
stored in `NAME.json`.
"""

import json
from pathlib import Path


def figures(name):
    """The figures that were measured for a case."""
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def path_of(name):
    """The file of the figures of a case."""
    return Path(__file__).parent / f"{name}.json"


def show(name, title):
    """Print a table that was measured for a case, and the machine."""
    stored = figures(name)
    header, *rows = stored["tables"][title]
    widths = [max(len(str(row[k])) for row in (header, *rows)) for k in range(len(header))]
    for row in (header, *rows):
        first, *others = (f"{cell!s:>{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join([str(row[0]).ljust(len(first)), *others]))
    print(f"\nOn {stored['machine']}; one thread.")
