"""A function that calls itself is in its own closure if it is made inside of another: a reference cycle for every call,
which keeps the arrays that it closes over until the garbage collector comes."""

import ast
from pathlib import Path

import pytest

from tests.house.imports import ROOT

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def names_read(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names that a function reads, but for its own parameters."""
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return names - {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)}


def own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    """What is in a function, but not in those that it makes."""
    found: list[ast.AST] = [*function.body]
    for node in found:  # which grows
        if not isinstance(node, FUNCTIONS | ast.Lambda):
            found += ast.iter_child_nodes(node)
    return found


def recursions(outer: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The functions made and called in a function that lead back to themselves. One that it returns is made once for
    what it is declared for, and may know itself."""
    inner = {node.name: names_read(node) for node in outer.body if isinstance(node, FUNCTIONS)}
    if not inner:
        return []
    returns = [n.value for n in own_nodes(outer) if isinstance(n, ast.Return) and n.value]
    nodes = [n for value in returns for n in ast.walk(value)]
    called = {n.func for n in nodes if isinstance(n, ast.Call)}
    returned = {n.id for n in nodes if isinstance(n, ast.Name) and n not in called}
    used = {n.func.id for n in ast.walk(outer) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    found = []
    for name in inner.keys() & used - returned:
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            following = (inner[waiting.pop()] & inner.keys()) - reached
            reached |= following
            waiting += following
        found += [name] * (name in reached)
    return found


@pytest.mark.parametrize(
    "room", sorted(p.name for p in (ROOT / "fxgrad").iterdir() if p.is_dir() or p.suffix == ".py")
)
def test_no_function_leaves_a_cycle_when_it_is_called(room):
    path = ROOT / "fxgrad" / room
    for file in [path] if path.suffix else sorted(path.rglob("*.py")):
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
            if isinstance(node, FUNCTIONS):
                assert recursions(node) == [], (
                    f"{file}:{node.lineno}: write it beside {node.name}, not inside"
                )
