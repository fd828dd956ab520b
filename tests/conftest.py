"""For every test: its lanes, seeds of random numbers, and that each Graph that is staged checks itself. And one line
where the oracles of parity/ are missing: what imports one, or a file that does, is not collected."""

import ast
import bdb
import gc
import sys
from collections import Counter
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from zlib import crc32

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import just

from fxgrad.core.graph import Graph
from fxgrad.passes.table import PASSES
from tests import cupy_stand_in
from tests.together import Turn, seed_generators

TESTS = Path(__file__).parent
ORACLES = ("autograd", "jax", "torch")
MISSING = [name for name in ORACLES if find_spec(name) is None]


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
def oracles(path):
    """The oracles that a file needs, also on the way."""
    found = set()
    for name in imported(path):
        root, *inside = name.split(".")
        found |= {root} & set(ORACLES)
        if root == "tests":
            files = [TESTS.joinpath(*inside[:k]).with_suffix(".py") for k in (len(inside), len(inside) - 1)]
            found |= set().union(*(oracles(f) for f in files if f.is_file() and f != path))
    return found


LEFT_OUT = {file for file in (TESTS / "parity").rglob("*.py") if oracles(file) & set(MISSING)}
LEFT_OUT |= {TESTS / "cupy_stand_in" / name for name in ("cupy", "cupyx")}  # packages of that name
LEFT_OUT |= {TESTS / "packages"}  # unless it is asked for: they need fifty packages

# The lane `quick` has the first parameters of every test, but of these, which take over a third of a second.
SLOW = set((TESTS / "slow.txt").read_text(encoding="utf-8").split())
# What hangs on the version of Python, or did: of these no run leaves some out.
WHOLE = (
    "numpy/test_in_place*.py",
    "numpy/test_writing*.py",
    "core/test_references.py",
    "core/test_frames.py",
)
MET = pytest.StashKey[Counter]()
# Of tests with more parameters than these, `--one-in` draws among the others: those that somebody chose are few.
FIRST = 3

# The same examples in every run; `--hypothesis-profile=search` looks for new ones, for as long as it takes.
settings.register_profile("ci", derandomize=True, deadline=None, database=None,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])  # fmt: skip
settings.register_profile("search", parent=settings.get_profile("ci"), derandomize=False, max_examples=5000)
settings.load_profile("ci")


@given(just(None))
def nothing_is_drawn(_):
    """With its first example hypothesis asks the collector who refers to its generator: of the frozen, nobody does."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """The garbage collector is not to go through all tests, none of which dies before the last."""
    nothing_is_drawn()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@cache
def lanes(path):
    """Those of all tests of a file."""
    return [*["parity"] * bool(oracles(path)), *["whole"] * any(map(path.match, WHOLE))]


def pytest_ignore_collect(collection_path):
    return True if collection_path in LEFT_OUT else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Only the package has doctests."""
    return [file for file in (yield) if not isinstance(file, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Of a lane that has the first parameters only, the other 57 000 tests need not be made."""
    if metafunc.config.option.markexpr == "quick":
        metafunc.parametrize = partial(parametrize_by_first, metafunc.parametrize)


def parametrize_by_first(parametrize, names, values, ids=None, **options):
    """Parametrize a test by the first of the values."""
    first_ids = ids if ids is None or callable(ids) else list(islice(ids, 1))
    parametrize(names, list(islice(values, 1)), ids=first_ids, **options)


def pytest_itemcollected(item):
    """Every test gets its lanes by itself."""
    test = item.nodeid.partition("[")[0]
    met = item.config.stash.setdefault(MET, Counter())
    met[test] += 1
    if met[test] == 1 and test not in SLOW:
        item.add_marker("quick")
    if hasattr(item, "callspec") and (met[test] > FIRST or test in SLOW):
        item.add_marker("drawn")
    for lane in lanes(item.path):
        item.add_marker(lane)


def pytest_addoption(parser):
    parser.addoption(
        "--one-in",
        type=int,
        default=1,
        metavar="N",
        help=f"of each test's parameters but the first {FIRST} one in N, drawn by --randomly-seed",
    )


def pytest_collection_modifyitems(config, items):
    """A run draws some of the parameters that tests are generated with, as hypothesis does, and others each time."""
    n, seed = config.getoption("one_in"), config.getoption("randomly_seed", None)
    left_out = [
        item
        for item in items
        if n > 1
        and "drawn" in item.keywords
        and "whole" not in item.keywords
        and crc32(f"{seed} {item.nodeid}".encode()) % n
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        absent = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in absent]


def pytest_sessionstart(session):
    Turn.seed = session.config.getoption("randomly_seed", None) or 0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    seed_generators()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """What JAX has compiled, megabytes for a test, goes with the last test of a file."""
    if "jax" in oracles(item.path) and (nextitem is None or nextitem.path != item.path):
        sys.modules["jax"].clear_caches()


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        names = ", ".join(MISSING)
        terminalreporter.write_line(
            f"tests/parity: what needs {names} is left out (pip install 'fxgrad[parity]')"
        )


@pytest.fixture
def stand_in():
    """CuPy's stand-in, which `import cupy` gives as long as the test runs."""
    with cupy_stand_in.install() as library:
        yield library


@pytest.fixture(scope="module")
def no_heap_of_others():
    """What tests before have left is no garbage, and the collector does not go through it when tests ask it to."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def no_doctest_looks_at_all_files():
    """Each begins a debugger, which asks of every file that Python knows whether it has changed: thousands here."""

    def reset(debugger):
        debugger.botframe = None
        debugger._set_stopinfo(None, None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bdb.Bdb, "reset", reset)
        yield


@pytest.fixture(autouse=True, scope="session")
def every_graph_is_checked():
    """Staging ends with `prune`; what it returns, and what each pass of the compiler makes of it, must pass `check`."""
    pruned = Graph.prune
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "prune", lambda graph, **options: pruned(graph, **options).check())
        for name, run in PASSES.items():
            patch.setitem(PASSES, name, lambda graph, run=run: run(graph).check())
        yield
