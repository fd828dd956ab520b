"""What every test is given: its lanes, random numbers from one seed, and garbage that is its own."""

import gc
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fxgrad.compat as fxt
from tests import conftest
from tests.packages.running import LIBRARIES

ROOT = Path(__file__).parent.parent.parent
PARITY = ROOT / "tests" / "parity"


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        *[(path, {"jax"}) for path in sorted(PARITY.glob("test_jax_*.py"))],
        *[(path, {"torch"}) for path in sorted(PARITY.glob("test_torch*.py"))],
        (PARITY / "compat" / "test_engine.py", {"torch"}),  # imports it on the way as well
        (PARITY / "compat" / "test_documents.py", {"torch"}),
        (PARITY / "compat" / "test_operations.py", set()),  # torch's answers are kept
    ],
    ids=lambda given: getattr(given, "stem", ""),
)
def test_the_oracles_that_a_file_needs_are_known(path, needed):
    assert conftest.oracles(path) == needed


def test_the_session_of_packages_installs_what_their_programs_need():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    for library in LIBRARIES:
        programs = library.programs
        assert len(programs) > 30 and all(program.subject and program.tolerance < 0.1 for program in programs)
        needed = {package for program in programs for package in program.packages}
        assert sorted(needed - set(groups[f"{library.name}-packages"])) == []


def test_what_is_called_slow_is_there():
    assert sorted(conftest.SLOW) == (ROOT / "tests" / "slow.txt").read_text().splitlines()
    for test in conftest.SLOW:
        path, _, name = test.partition("::")
        assert name.partition("::")[0].removeprefix("Test") in (ROOT / path).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("turn", range(2))
def test_random_numbers_do_not_depend_on_what_was_run_before(turn):
    seeded = fxt.Generator().manual_seed(0)
    assert fxt.rand(3).tolist() == fxt.rand(3, generator=seeded).tolist()


def test_the_garbage_collector_does_not_go_through_the_other_tests(request):
    assert gc.isenabled()
    assert not [found for found in gc.get_objects() if issubclass(type(found), pytest.Item)]
    assert request.session.items


def test_what_no_run_leaves_out_in_part_is_there():
    names = {p.name for p in (ROOT / "tests").rglob("test_*.py") if any(map(p.match, conftest.WHOLE))}
    assert {"test_frames.py", "test_references.py"} <= names
    assert any(name.startswith(("test_in_place", "test_writing")) for name in names)


def test_of_many_parameters_a_run_draws_some_after_the_first():
    file = "tests/house/test_lanes.py"
    drawn = []
    for seed in "12":
        command = ["-m", "pytest", "--collect-only", "-q", "--one-in=4", f"--randomly-seed={seed}", file]
        listed = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True).stdout
        drawn.append([t for t in listed.splitlines() if "test_the_oracles_that_a_file_needs" in t])
    first = [f"[{path.stem}-" for path in sorted(PARITY.glob("test_jax_*.py"))[: conftest.FIRST]]
    total = len(list(PARITY.glob("test_jax_*.py"))) + len(list(PARITY.glob("test_torch*.py"))) + 3
    for tests in drawn:
        assert all(any(f in t for t in tests) for f in first)
        assert len(first) < len(tests) < total
    assert sorted(drawn[0]) != sorted(drawn[1])
