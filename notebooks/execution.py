"""Executing a notebook, and comparing what it gives with what is stored."""

import os
import re
from collections.abc import Iterator
from copy import deepcopy
from shutil import which

from nbclient import NotebookClient
from nbformat import NotebookNode

from .storage import ROOT

# The tag of cells whose text is not compared: times, and what else differs between two runs.
VARIES = "varies"
SECONDS = 300  # for a cell, on a machine that has others to serve
SETTINGS = {
    "MATPLOTLIBRC": str(ROOT / "notebooks"),
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
PICTURES = {"image/png", "image/svg+xml"}
# A line of tqdm's: bars are for whoever waits, and never the same twice.
BAR = re.compile(r".*(\d+%\||\d+[a-z]+ \[).*(/s|s/)[^\]]*\]\s*")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


def execute(notebook: NotebookNode) -> NotebookNode:
    """The notebook with what its cells give in a fresh kernel, which imports the package of this checkout; without
    progress bars."""
    client = NotebookClient(
        deepcopy(notebook),
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(ROOT)}},
    )
    executed = client.execute(env={**os.environ, **SETTINGS})
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_bar(output)]
    return executed


def is_bar(output: NotebookNode) -> bool:
    """Whether an output is made of progress bars only."""
    lines = re.split(r"[\r\n]", output.text) if output.get("name") == "stderr" else ["?"]
    return all(BAR.fullmatch(line) or not line.strip() for line in lines)


def differences(stored: NotebookNode, executed: NotebookNode) -> Iterator[str]:
    """Say of each cell whose text is another one, that warns, or that lacks a picture."""
    for old, new in zip(stored.cells, executed.cells, strict=True):
        if old.cell_type != "code":
            continue
        if VARIES not in old.metadata.get("tags", ()) and not is_same(text_of(old), text_of(new)):
            yield f"{old.id} gives\n{text_of(new)}\nwhere this is stored:\n{text_of(old)}"
        if warnings := "".join(o.text for o in new.outputs if o.get("name") == "stderr"):
            yield f"{old.id} warns: {warnings}"
        if missing := drawable(old) - drawable(new):
            yield f"{old.id} lacks a picture: {', '.join(sorted(missing))}"


def text_of(cell: NotebookNode) -> str:
    """What a cell prints, and its result as text."""
    return "\n".join(o.text if "text" in o else o.get("data", {}).get("text/plain", "") for o in cell.outputs)


def drawable(cell: NotebookNode) -> set[str]:
    """The kinds of pictures that a cell has, as far as this machine can draw them."""
    kinds = PICTURES if which("dot") else PICTURES - {"image/svg+xml"}
    return kinds & {kind for output in cell.outputs for kind in output.get("data", ())}


def is_same(old: str, new: str) -> bool:
    """Whether two texts are equal, but for white space and the last digits of numbers that are no integers: sums of
    another order, and other processors, round differently."""
    words, numbers = zip(*[("".join(NUMBER.sub("#", t).split()), NUMBER.findall(t)) for t in (old, new)])
    return words[0] == words[1] and all(map(is_near, *numbers))


def is_near(old: str, new: str) -> bool:
    """Whether two numbers are equal but for their last digits: by one unit of the last decimal, or a millionth."""
    if old == new:
        return True
    if old.lstrip("+-").isdigit() or new.lstrip("+-").isdigit():
        return False
    unit = max(last_decimal(old), last_decimal(new))
    return abs(float(old) - float(new)) <= max(1.01 * unit, 1e-6 * abs(float(old)), 1e-12)


def last_decimal(number: str) -> float:
    """The unit of the last decimal that a number is written with: 0.01 for `3.14`, 0 for `3.`, which has none."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals or exponent else 0.0
