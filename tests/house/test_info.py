"""`python -m fxgrad.info`: what a report of a problem needs."""

import os
import subprocess
import sys
from email.message import Message

import numpy as np
import pytest

import fxgrad as fx
from fxgrad import info


def run(**environment):
    command = [sys.executable, "-m", "fxgrad.info"]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    ).stdout


def test_the_command_tells_versions_threads_and_devices():
    first, *rest = run(FXGRAD_NATIVE="never", FXGRAD_NUM_THREADS="1").splitlines()
    told = {line[:14].strip(): line[14:] for line in rest}
    assert first == f"fxgrad {fx.__version__}"
    assert told["NumPy"].startswith(np.__version__)
    assert "; 1 threads here" in told["processors"]
    assert told["machine code"] == "none, as FXGRAD_NATIVE asks"
    assert told["devices"] == ", ".join(map(str, fx.devices()))
    assert "FXGRAD_NATIVE=never" in told["settings"]


@pytest.mark.parametrize("condition", ["extra == 'plot'", '(sys_platform == "{here}") and extra == "plot"'])
def test_an_extra_names_what_it_lacks(monkeypatch, condition):
    stored = Message()
    stored["Requires-Dist"] = "numpy>=2.1"
    stored["Requires-Dist"] = f"there-is-none>=3; {condition.format(here=sys.platform)}"
    stored["Requires-Dist"] = "on-another-system; (sys_platform == 'none') and extra == 'plot'"
    stored["Requires-Dist"] = "numpy; extra == 'core'"
    stored["Requires-Dist"] = "fxgrad[plot]; extra == 'all'"
    monkeypatch.setattr(info.metadata, "metadata", lambda name: stored)
    assert info.missing_libraries() == {"plot": ["there-is-none"], "core": []}


def test_a_checkout_that_is_not_installed_has_no_extras(monkeypatch):
    def refuse(name):
        raise info.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(info.metadata, "metadata", refuse)
    assert info.missing_libraries() == {}
