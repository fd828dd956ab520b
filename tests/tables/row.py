"""A row of a table: a name of another library, the smallest program that uses it, and what became of it here."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

WORKS, DIFFERS, ABSENT = "works", "differs", "absent"
ROWS = Path(__file__).with_name("rows")


@dataclass(frozen=True)
class Row:
    """A name and the program that uses it, whose last line is an expression: its value is the answer.

    With neither of the others, the program gives the peer's answer here. A program that has to be written otherwise
    stands in `here`, and gives that answer too. What `differs` without it gives another answer here. A name that has
    `absent`, the reason, is not there.
    """

    name: str
    program: str = ""
    here: str = ""
    differs: str = ""
    absent: str = ""

    @property
    def state(self) -> str:
        if self.absent:
            return ABSENT
        return DIFFERS if self.differs else WORKS


@dataclass(frozen=True)
class Rows:
    """The rows of a file in rows/, by section, and what all of their programs begin with."""

    setup: str
    sections: dict[str, list[Row]]

    def every(self) -> list[Row]:
        return [row for rows in self.sections.values() for row in rows]


def read(name: str) -> Rows:
    """Read a file of rows: `# section`, and names at the margin with their programs indented below.

    After a program may come `here:` with ours below it, and `differs: how`. Names that are absent for one reason stand
    together, and each make a row.
    """
    text = (ROWS / f"{name}.txt").read_text(encoding="utf-8")
    setup, sections = "", {}
    rows: list[Row] = []
    for block in re.split(r"(?m)^(?=\S)", text):
        head, _, body = block.partition("\n")
        body = dedent(body).strip("\n")
        if head.startswith("# "):
            rows = sections.setdefault(head[2:], [])
        elif head == "setup":
            setup = body
        elif body.startswith("absent: "):
            rows += [Row(absent_name, absent=body.removeprefix("absent: ")) for absent_name in head.split()]
        elif head:
            programs, _, differs = body.partition("\ndiffers: ")
            program, _, here = programs.partition("\nhere:\n")
            rows.append(Row(head, program, here, differs))
    return Rows(setup, sections)


def attempt(setup: str, program: str) -> Any:
    """Run a program, and return its answer, or what it raises."""
    try:
        return run(setup, program)
    except Exception as error:
        return {"raises": type(error).__name__}


def run(setup: str, program: str) -> Any:
    """Run a program after what it begins with, and return the value of its last line as plain data."""
    *statements, last = ast.parse(program).body
    assert isinstance(last, ast.Expr), f"the last line of a program is an expression: {program}"
    scope: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(setup, "<setup>", "exec"), scope)
        exec(compile(ast.Module(statements, []), "<program>", "exec"), scope)
        return plain(eval(compile(ast.Expression(last.value), "<program>", "eval"), scope))


def plain(value: Any) -> Any:
    """A value as JSON has it: an array is its dtype and its entries, containers are lists and dicts."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if callable(getattr(value, "detach", None)):
        value = value.detach()
    array = np.asarray(value)
    if array.dtype.kind == "c":
        return {array.dtype.name: [array.real.tolist(), array.imag.tolist()]}
    if array.dtype.kind not in "biuf":
        raise TypeError(f"the answer of a program is made of numbers, strings and containers, not {value!r}")
    return {array.dtype.name: array.tolist()}


def is_same(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two answers are equal but for rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_same(a[key], b[key], tolerance) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(is_same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, tolerance, tolerance, equal_nan=True))
    return type(a) is type(b) and a == b
