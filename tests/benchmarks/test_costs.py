"""Every number of `fxgrad.core.costs` is measured by a program that runs, or it is said why not."""

import json
import subprocess
import sys

import pytest

from benchmarks import costs as command
from benchmarks.cost_programs import PROGRAMS, UNMEASURED
from benchmarks.cost_times import TIMES
from fxgrad.core import costs
from tests.together import together


def test_every_number_is_measured_or_it_is_said_why_not():
    names = {name for name in vars(costs) if name.isupper()}
    assert sorted([*PROGRAMS, *TIMES, *UNMEASURED]) == sorted(names)


@together("name")
@pytest.mark.parametrize("name", [*PROGRAMS, *TIMES])
def test_programs_run(name):
    program = (PROGRAMS if name in PROGRAMS else TIMES)[name]
    call = program.make(program.sizes[0])
    call()
    call()


def test_the_command_measures_in_other_processes():
    task = json.dumps(["WHERE_ENTRIES", 0, 64, 128])
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.costs", "--child", task, "--quick"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(json.loads(run.stdout)) == 2


def test_the_best_number_loses_nothing(monkeypatch):
    spans = {0: [2.0, 2.0], costs.WHERE_ENTRIES: [1.0, 1.0], sys.maxsize: [1.0, 4.0]}
    monkeypatch.setattr(command, "run_child", lambda name, value, *_: spans[value])
    lost = command.losses("WHERE_ENTRIES", True)
    assert {factor: round(loss, 9) for factor, loss in lost.items()} == {0: 1.0, 1: 0.0, float("inf"): 1.0}
