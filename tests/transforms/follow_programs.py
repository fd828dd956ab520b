"""Random Python programs that decide by values: source text, for comparisons of `jit(control="follow")` with Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

NAMES = ("x", "y", "z")


class Writer:
    """Writes the source text of a program `program(x, y)`."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def expression(self, depth: int = 2) -> str:
        choose = self.random.choice
        if depth == 0 or self.random.random() < 0.3:
            return choose([*NAMES, "0.5", "2.0", "items[0]", "items[1]", 'table["k"]'])
        one, other = self.expression(depth - 1), self.expression(depth - 1)
        return choose(
            [
                f"({one} + {other})",
                f"({one} - {other})",
                f"bounded({one} * {other})",
                f"helper({one})",
                f"sin({one})",
            ]
        )

    def condition(self, depth: int = 1) -> str:
        choose = self.random.choice
        if depth and self.random.random() < 0.3:
            joined = f"{self.condition(0)} {choose(['and', 'or'])} {self.condition(0)}"
            return choose([joined, f"not ({joined})"])
        return f"{self.expression(1)} {choose(['<', '>', '<=', '>='])} {self.expression(1)}"

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        kinds = ["assign"] * 4 + ["items", "table", "int", "raise", "return"]
        kinds += ["if", "if", "while", "for", "try"] if depth else []
        kinds += ["break", "continue"] if in_loop else []
        self.write(self.random.choice(kinds), indent, depth, in_loop)

    def write(self, kind: str, indent: int, depth: int, in_loop: bool) -> None:
        pad, add = "    " * indent, self.lines.append
        if kind == "assign":
            add(f"{pad}{self.random.choice(NAMES)} = bounded({self.expression()})")
        elif kind == "items":
            add(f"{pad}items = [{self.expression(1)}, items[0]]")
        elif kind == "table":
            add(f'{pad}table["k"] = bounded({self.expression(1)})')
        elif kind == "int":
            add(f"{pad}z = z + int({self.random.choice(NAMES)}) % 2")
        elif kind in ("break", "continue", "return", "raise"):
            add(f"{pad}if {self.condition()}:")
            what = {"return": f"return x, {self.expression(1)}", "raise": 'raise ValueError("asked for")'}
            add(f"{pad}    {what.get(kind, kind)}")
        elif kind == "if":
            add(f"{pad}if {self.condition()}:")
            self.block(indent + 1, depth - 1, in_loop)
            if self.random.random() < 0.5:
                add(f"{pad}elif {self.condition()}:")
                self.block(indent + 1, depth - 1, in_loop)
            add(f"{pad}else:")
            self.block(indent + 1, depth - 1, in_loop)
        elif kind == "try":
            add(f"{pad}try:")
            self.block(indent + 1, depth - 1, in_loop)
            add(f"{pad}except ValueError:")
            add(f"{pad}    z = z - 1.0")
        else:
            self.loops += 1
            if kind == "while":
                name = f"n{self.loops}"
                add(f"{pad}{name} = 0")
                add(f"{pad}while {name} < {self.random.randint(2, 6)} and {self.condition(0)}:")
                add(f"{pad}    {name} += 1")
            else:
                name = f"i{self.loops}"
                add(f"{pad}for {name} in range({self.random.choice(['4', '1, 6', '5, 0, -2', '0'])}):")
                add(f"{pad}    z = bounded(z + 0.25 * {name})")
            self.block(indent + 1, depth - 1, True)

    def program(self) -> str:
        self.lines = ["def program(x, y):", "    z, items, table = x, [y, x], {'k': y}"]
        self.block(1, 2, False)
        self.block(1, 2, False)
        self.lines.append(f"    return {{'x': x, 'z': z + items[1]}}, table, {self.random.choice(NAMES)}")
        return "\n".join(self.lines)


def make_program(seed: int, sin: Callable[[Any], Any]) -> tuple[str, Callable[[Any, Any], Any]]:
    """Return the text of a program, and the function."""
    text = Writer(seed).program()
    namespace: dict[str, Any] = {"sin": sin, "__name__": "programs"}
    exec(HELPERS + text, namespace)
    return text, namespace["program"]


HELPERS = """
def bounded(v):
    return v if -4.0 < v < 4.0 else 0.25 * v / (1.0 + v * v)

def helper(v):
    if v > 0.0:
        return 0.5 * v
    return 1.0 - v

"""
