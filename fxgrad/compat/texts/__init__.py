"""Texts of docstrings of torch's functions that their declarations do not contain: a file for each family, read when a
docstring is requested.

    ## lerp
    weight: the fraction of the way, a number or a Tensor
    Derivative: that of the formula, also at both ends.

A heading is the name under `torch`, or that of the method ("Tensor.view"). Lines that begin with the name of a
parameter describe it, `Returns:` and `Raises:` are sections, and `>>>` begins the example, to which the import of torch
is added; all other lines are paragraphs. `parameters.txt` has the parameters that mean the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

FOLDER = Path(__file__).parent
LABEL = re.compile(r"(\*{0,2}\w+): (.*)")
PROSE = {"Derivative", "Source"}  # labels that begin a paragraph


@dataclass
class Entry:
    """The entry of one name in a file."""

    paragraphs: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: list[str] = field(default_factory=list)
    example: list[str] = field(default_factory=list)


@cache
def read_entries() -> dict[str, Entry]:
    """Read all files: the entries by their names."""
    found: dict[str, Entry] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            names, _, text = section.partition("\n")
            entry = parse_entry(text.strip().split("\n"))
            for name in names.split():
                if name in found:
                    raise ValueError(f"{path.name}: {name} has an entry already")
                found[name] = entry
    return found


@cache
def common_parameters() -> dict[str, str]:
    """The descriptions of parameters that mean the same everywhere, by name."""
    return read_entries()["parameters"].parameters


def parse_entry(lines: Iterable[str]) -> Entry:
    """Parse the lines of an entry. One that begins with spaces goes on with the line above it."""
    entry = Entry()
    logical: list[str] = []
    for line in lines:
        if entry.example or line.startswith(">>>"):
            entry.example.append(line)
        elif line.startswith("    "):
            logical[-1] += " " + line.strip()
        elif line:
            logical.append(line)
    for line in logical:
        label = LABEL.fullmatch(line)
        if label is None or label[1] in PROSE:
            entry.paragraphs.append(line)
        elif label[1] == "Returns":
            entry.returns = label[2]
        elif label[1] == "Raises":
            entry.raises.append(label[2])
        else:
            entry.parameters[label[1]] = label[2]
    return entry
