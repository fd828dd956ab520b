"""For every test: each Graph that is staged checks itself. And one line where the oracles of parity/ are missing: what
imports one, or a file that does, is not collected."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fxgrad.core.graph import Graph

TESTS = Path(__file__).parent
MISSING = [name for name in ("jax", "torch") if find_spec(name) is None]


def imported(path):
    """The dotted names that a file imports as soon as it is imported itself; those of tests from `tests` on."""
    package = ["tests", *path.relative_to(TESTS).parent.parts]
    waiting = ast.parse(path.read_text(encoding="utf-8")).body
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(
                [*package[: len(package) + 1 - node.level] * (node.level > 0), *filter(None, [node.module])]
            )
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))


@cache
def lacks(path):
    """Whether a file needs an oracle that is not there."""
    for name in imported(path):
        root, *inside = name.split(".")
        files = [TESTS.joinpath(*inside[:k]).with_suffix(".py") for k in (len(inside), len(inside) - 1)]
        if root in MISSING or (
            root == "tests" and any(f.is_file() and f != path and lacks(f) for f in files)
        ):
            return True
    return False


collect_ignore = [str(f) for f in (TESTS / "parity").rglob("*.py") if MISSING and lacks(f)]

# The same examples in every run; `--hypothesis-profile=search` looks for new ones, for as long as it takes.
settings.register_profile("ci", derandomize=True, deadline=None, database=None,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])  # fmt: skip
settings.register_profile("search", parent=settings.get_profile("ci"), derandomize=False, max_examples=5000)
settings.load_profile("ci")


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        names = " and ".join(MISSING)
        terminalreporter.write_line(
            f"tests/parity: skipped for want of {names} (pip install 'fxgrad[parity]')"
        )


@pytest.fixture(autouse=True, scope="session")
def every_graph_is_checked():
    """Staging ends with `prune`; what it returns must pass `check`."""
    pruned = Graph.prune
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "prune", lambda graph, **options: pruned(graph, **options).check())
        yield
