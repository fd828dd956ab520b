"""Mistakes planted in a copy of the package: which tests notice them.

    python -m tests.mistakes --count 60 --seed 1               # a few in each room
    python -m tests.mistakes --room ops --count 10 --all       # and all tests that notice, not the first one alone
    python -m tests.mistakes --only 'ops/elementwise.py:93'    # those planted in one line

A mistake is one node of a file's syntax tree written otherwise. Where it lies in what operations are declared with,
the tests that have their names run, elsewhere those of the room. A test notices if it fails with the mistake and
passes without. What no test notices is either equal to what was there, or a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "docs", "notebooks", "benchmarks")
MANY = 12  # operations; a mistake on which more of them depend is one of the room
LIMIT = 240  # seconds for the tests of a mistake

# room: (files, tests that may notice).
ROOMS = {
    "ops": ("ops/*.py", "tests/ops tests/numpy/test_namespace.py tests/scipy"),
    "kernels": (
        "kernels/*.py",
        "tests/kernels/test_*.py tests/ops tests/scipy tests/numpy/test_namespace.py",
    ),
    "codegen": (
        "kernels/codegen/*.py",
        "tests/kernels/test_*.py tests/transforms/test_jit.py tests/transforms/test_to_source.py tests/control",
    ),
    "native": ("kernels/native/**/*.py", "tests/kernels/native"),
    "passes": ("passes/*.py", "tests/passes tests/transforms/test_jit.py"),
    "transforms": ("transforms/*.py", "tests/transforms tests/ops/test_registry.py"),
    "control": ("control/*.py", "tests/control tests/lax tests/ops"),
    "numpy": ("numpy/*.py", "tests/numpy"),
    "scipy": ("scipy/**/*.py", "tests/scipy"),
    "compat": (
        "compat/ops/**/*.py",
        "tests/parity/compat/test_operations.py tests/parity/compat/test_conjugate_operands.py tests/compat",
    ),
}


class Mistake(NamedTuple):
    path: str
    line: int
    kind: str
    span: tuple[int, int]  # in the bytes of the file
    text: str  # what is written there instead
    unit: str  # the statement of the module in which it lies, by the name that this defines

    def __str__(self):
        return f"{self.path.removeprefix('fxgrad/')}:{self.line} in {self.unit}, {self.kind}: {self.text}"


# -- what may be planted --------------------------------------------------------------------------------------
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
NAMED = {
    "less": "less_equal", "less_equal": "less", "greater": "greater_equal", "greater_equal": "greater",
    "maximum": "minimum", "minimum": "maximum", "float64": "float32", "complex128": "complex64", "int64": "int32",
    "logical_and": "logical_or", "logical_or": "logical_and", "sin": "cos", "cos": "sin",
}  # fmt: skip
UNREAD = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.AnnAssign)


def variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """(kind, what may stand in the place of a node)."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
            yield "comparison", ast.Compare(left, [COMPARED[type(op)]()], [right])
        case ast.BinOp(left, op, right):
            if type(op) in COMPUTED:
                yield "sign or inverse", ast.BinOp(left, COMPUTED[type(op)](), right)
                yield "dropped term", left
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
                yield "operands swapped", ast.BinOp(right, op, left)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand) if not isinstance(operand, ast.Constant):
            yield "sign dropped", operand
        case ast.BoolOp(op, values):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield "condition dropped", values[0]
        case ast.IfExp(test, body, orelse):
            yield "branches swapped", ast.IfExp(test, orelse, body)
        case ast.Call(ast.Name("where") | ast.Attribute(attr="where"), [_, chosen, _]):
            yield "mask dropped", chosen
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), [one], []) if name in (
            "conj",
            "conjugate",
            "abs",
        ):
            yield f"{name} dropped", one
        case ast.Call(ast.Attribute(value, "astype"), _, _):
            yield "dtype not converted", value
        case ast.Call(function, [ast.Name() as first, ast.Name() as second, *rest], keywords):
            yield "arguments swapped", ast.Call(function, [second, first, *rest], keywords)
        case ast.Name(name) if name in NAMED:
            yield "name", ast.Name(NAMED[name])
        case ast.Attribute(value, name) if name in NAMED:
            yield "name", ast.Attribute(value, NAMED[name])
        case ast.Constant(int(number)) if type(node.value) is int and abs(number) < 4:
            yield "number off by one", ast.Constant(number + 1)
        case ast.Tuple([ast.Name() | ast.Call() as first, ast.Name() | ast.Call() as second], ast.Load()):
            yield "pair swapped", ast.Tuple([second, first], ast.Load())


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what lies in it, but for errors, imports, annotations and defaults."""
    if isinstance(node, UNREAD) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "defaults", "kw_defaults", "slice_annotation"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from parts(child)


def mistakes_in(path: Path, root: Path) -> Iterator[Mistake]:
    """All that may be planted in a file."""
    source = path.read_bytes()
    starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
    for statement in ast.parse(source).body:
        for node in parts(statement):
            for kind, other in variants(node):
                span = (
                    starts[node.lineno - 1] + node.col_offset,
                    starts[node.end_lineno - 1] + node.end_col_offset,
                )
                text = f"({ast.unparse(ast.fix_missing_locations(other))})"
                unit = next(iter(defined(statement)), "the module")
                yield Mistake(str(path.relative_to(root)), node.lineno, kind, span, text, unit)


# -- which tests may notice -------------------------------------------------------------------------------------
def defined(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return [x.id for target in targets if target for x in ast.walk(target) if isinstance(x, ast.Name)]


def declares(statement: ast.stmt) -> bool:
    """Whether it is the declaration of an operation."""
    if isinstance(statement, ast.FunctionDef):
        return any(isinstance(x, ast.Call) for x in statement.decorator_list)
    call = getattr(statement, "value", None)
    return (
        isinstance(call, ast.Call) and bool(call.args) and isinstance(call.args[0], ast.Constant | ast.Lambda)
    )


class Users:
    """Which declarations use a name, by themselves or by what they use."""

    def __init__(self, root: Path):
        self.of, self.declarations = defaultdict(set), set()
        for path in chain.from_iterable((root / "fxgrad" / room).rglob("*.py") for room in
                                        ("ops", "kernels", "compat/ops", "scipy", "numpy")):  # fmt: skip
            for statement in ast.parse(path.read_bytes()).body:
                names = defined(statement)
                self.declarations.update(names * declares(statement))
                for node in ast.walk(statement):
                    used = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
                    if used and used not in names:
                        self.of[used].update(names)

    def declarations_with(self, name: str) -> set[str]:
        """The operations that hang on a name; nothing where these are too many to name."""
        found, met, waiting = set(), {name}, [name]
        while waiting and len(found) <= MANY and len(met) < 400:
            last = waiting.pop()
            if last in self.declarations:
                found.add(last)
            else:
                waiting += self.of[last] - met
                met |= self.of[last]
        return set() if waiting or len(found) > MANY else found


def options(mistake: Mistake, room: str, users: Users, tree: Path, one_in: int) -> list[str]:
    """What pytest is called with."""
    paths = [
        str(p.relative_to(tree)) for pattern in ROOMS[room][1].split() for p in sorted(tree.glob(pattern))
    ]
    names = users.declarations_with(mistake.unit)
    return [f"--one-in={one_in}", *paths, *(["-k", " or ".join(sorted(names))] if names else [])]


# -- planting -----------------------------------------------------------------------------------------------------
def run_tests(tree: Path, arguments: list[str], limit: float = LIMIT) -> tuple[list[str], str]:
    """(the tests that fail, how it ended)."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "FXGRAD_CACHE_DIR": str(tree / ".cache")}
    command = ["-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:randomly", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [sys.executable, *command, *arguments],
            cwd=tree, env=environment, capture_output=True, text=True, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [], "out of time"
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode in (0, 5):
        return [], "no test has its name" if done.returncode == 5 else "all pass"
    return failed or ["importing"], "noticed"


def notice(
    mistake: Mistake, room: str, users: Users, tree: Path, one_in: int, every: bool
) -> tuple[list[str], str]:
    """(the tests that notice a mistake, how it ended): planted, run and taken out again."""
    path = tree / mistake.path
    source, (start, stop) = path.read_bytes(), mistake.span
    path.write_bytes(source[:start] + mistake.text.encode() + source[stop:])
    chosen = options(mistake, room, users, tree, one_in)
    try:
        failed, ended = run_tests(tree, [*chosen, *([] if every else ["-x"])])
        if ended != "noticed" and "-k" in chosen:  # no test of its name, or none that notices
            failed, ended = run_tests(tree, [*chosen[: chosen.index("-k")], "-x"])
    finally:
        path.write_bytes(source)
    if failed and "::" in failed[0]:
        always, _ = run_tests(tree, failed[:20])
        failed = [test for test in failed if test not in always]
    return failed, ended if failed or ended != "noticed" else "fails without it too"


def draw(tree: Path, rooms: list[str], count: int, seed: int, only: str) -> list[tuple[str, Mistake]]:
    """Mistakes, as many in each room, of kinds in turn, no two in one statement: the same ones of a room for a seed."""
    found = []
    for number, room in enumerate(rooms):
        rng = random.Random(f"{seed} {room}")
        there = [
            m for path in sorted((tree / "fxgrad").glob(ROOMS[room][0])) for m in mistakes_in(path, tree)
        ]
        if only:
            found += [(room, m) for m in there if str(m).startswith(only)]
            continue
        taken: dict[tuple[str, str], Mistake] = {}
        while there and len(taken) < count // len(rooms) + (number < count % len(rooms)):
            kind = rng.choice(sorted({m.kind for m in there}))
            one = rng.choice([m for m in there if m.kind == kind])
            taken[one.path, one.unit] = one
            there = [m for m in there if (m.path, m.unit) not in taken]
        found += [(room, m) for m in taken.values()]
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="how many mistakes, over all rooms")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--room", choices=ROOMS, action="append", help="of these rooms only")
    parser.add_argument(
        "--only", default="", metavar="PLACE", help="those whose place begins so: a file, a line"
    )
    parser.add_argument("--all", action="store_true", help="do not stop at the first test that notices")
    parser.add_argument(
        "--one-in", type=int, default=1, metavar="N", help="as the tests' own: of parameters one in N"
    )
    parser.add_argument("--list", action="store_true", help="plant nothing, say what would be")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mistakes") as folder:
        tree = Path(shutil.copytree(ROOT, Path(folder) / "tree", ignore=LEFT_OUT))
        drawn = draw(tree, chosen.room or list(ROOMS), chosen.count, chosen.seed, chosen.only)
        if chosen.list:
            print(*(f"{room}: {mistake}" for room, mistake in drawn), sep="\n")
            return 0
        users, noticed = Users(tree), 0
        subprocess.run([sys.executable, "-m", "compileall", "-q", "fxgrad"], cwd=tree, check=True)
        for room, mistake in drawn:
            began = time.perf_counter()
            tests, ended = notice(mistake, room, users, tree, chosen.one_in, chosen.all)
            noticed += ended == "noticed"
            print(f"{ended:<20} {time.perf_counter() - began:4.0f} s  {mistake}", flush=True)
            print(*(f"    {test}" for test in tests), sep="\n", end="\n" * bool(tests), flush=True)
        print(f"{noticed} of {len(drawn)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
