"""Every line of the table runs with small sizes, and its contenders agree: ours, and the peers that are installed."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks import table
from benchmarks.line import BY_HAND, LINES, OURS, PEER, Line, is_there, library_of, role_of
from benchmarks.rounds import Measurement
from benchmarks.worker import difference, prepare

ROOT = Path(__file__).resolve().parents[2]
REPEATED = [line for line in LINES.values() if line.metric is None]
# Un-jitted JAX compiles every operation when it is first used, torch.compile takes minutes.
SLOW = {"jax", "torch.compile"}


@pytest.mark.parametrize("line", REPEATED, ids=lambda line: line.name)
def test_contenders_agree(line):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own
        runs, failures = prepare(line, True, lambda name: name not in SLOW and is_there(name))
    assert failures == {}
    assert OURS in map(role_of, runs)


def test_a_contender_that_differs_or_fails_is_named():
    def make(quick):
        x = np.arange(3.0)

        def broken():
            raise NotImplementedError("no such operation\nand more")

        return {"fxgrad": lambda: lambda: x + 1e-3, "numpy": lambda: lambda: x, "C": lambda: broken}

    runs, failures = prepare(Line("a", "a line", make, 1e-6, 1, None), True, lambda name: True)
    assert [*runs] == ["numpy"]
    assert failures["fxgrad"].startswith(
        "is not what numpy gives: relative error 0.0005 of result 0 of call 1"
    )
    assert failures["C"] == "NotImplementedError: no such operation"


def test_results_are_compared_by_shape_and_value():
    one, two = [np.ones(2)], [np.ones(3)]
    assert difference([one], [one], 0.0) == ""
    assert "shapes" in difference([one], [two], 1.0)
    assert "relative error" in difference([one], [[np.array([1.0, np.nan])]], 1.0)


def test_names_tell_what_a_contender_is():
    names = ("fxgrad.compat:nn", "torch.func", "jax:jit", "numpy", "C", "base/fxgrad:jit")
    assert [*map(role_of, names)] == [OURS, PEER, PEER, BY_HAND, BY_HAND, PEER]
    assert [*map(library_of, names)] == ["fxgrad", "torch", "jax", "numpy", "C", "base"]


def test_a_row_says_who_was_fastest_and_by_how_much():
    line = Line("a", "a line", lambda quick: {}, 0.0, 1, None)
    rounds = {
        "fxgrad": [1e-3, 2e-3, 3e-3],
        "fxgrad:jit": [4e-3] * 3,
        "torch": [2e-3, 4e-3, 6e-3],
        "jax": [1.0] * 3,
    }
    measurement = Measurement(line, rounds, {"autograd": "TypeError: none"})
    assert (measurement.best(OURS), measurement.best(PEER), measurement.best(BY_HAND)) == (
        "fxgrad",
        "torch",
        None,
    )
    assert measurement.ratio() == 0.5
    first, *others = table.row(measurement).splitlines()
    assert first.split() == ["a", "line", "fxgrad", "2.00", "ms", "torch", "4.00", "ms", "0.50", "–"]
    assert others == ["    autograd: TypeError: none"]
    assert "geometric mean of the ratios to the best peer 0.500, ahead in 1" in table.summary([measurement])


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (1.5, "s", "1.50 s"),
        (0.0123, "s", "12.3 ms"),
        (4.56e-7, "s", "0.46 µs"),
        (123e6, "B", "123 MB"),
        (0.0, "B", "0 kB"),
    ],
)
def test_amounts_have_three_digits(value, unit, text):
    assert table.amount(value, unit) == text


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is read from Linux's /proc")
def test_one_command_runs_lines_and_writes_files(tmp_path):
    """By the table's own process: a line of each metric, without peers."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--peers", "none"]
    command += [
        "--only",
        "^(scalar_loop|memory_checkpoint)$",
        "--json",
        str(tmp_path / "a.json"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "eager gradient of a loop of 1000 steps on scalars" in done.stdout
    lines = json.loads((tmp_path / "a.json").read_text())["lines"]
    assert [*lines] == ["scalar_loop", "memory_checkpoint"]
    for found in lines.values():
        assert found["failures"] == {}
        assert all(numbers for numbers in found["rounds"].values())
