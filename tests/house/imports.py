"""The imports that stand in a file, for the tests that ask who may import whom, and when."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent


class Import(NamedTuple):
    """An imported name."""

    base: str | None  # what is written between `from` and `import`, as an absolute dotted name
    name: str  # the absolute dotted name
    at_once: bool  # whether it is imported as soon as the file is
    for_types: bool  # whether type checkers alone import it
    line: int


@cache
def imports_of(path: Path) -> list[Import]:
    """The imports of a file of this repository, in the order in which they stand there."""
    package = path.relative_to(ROOT).parent.parts
    found = []

    def visit(node: ast.AST, at_once: bool, for_types: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(None, alias.name, at_once, for_types, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*around, *filter(None, [node.module])])
            found.extend(
                Import(base, f"{base}.{alias.name}", at_once, for_types, node.lineno) for alias in node.names
            )
        at_once = at_once and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for_types = for_types or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for child in statements(node):
            visit(child, at_once, for_types)

    visit(ast.parse(path.read_text(encoding="utf-8")), True, False)
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases that stand in a statement."""
    for field in ("body", "orelse", "handlers", "cases", "finalbody"):
        children = getattr(node, field, [])
        if isinstance(children, list):
            yield from children
