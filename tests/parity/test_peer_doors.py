"""The doors against the libraries themselves: what is listed as absent is current, every name can be imported, and
autograd's answers are the same. (`tests.peers.answers` keeps JAX's.)"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import autograd  # noqa: F401  (in processes of their own, as JAX)
import jax  # noqa: F401
import numpy as np
import pytest

from fxgrad.doors.inventory import OUTSIDE, Inventory
from fxgrad.peers.door.modules import DOORS
from tests.peers.test_doors import AUTOGRAD, numbers_of, output
from tests.tables.inventory import is_private

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import json, sys, warnings
import fxgrad as fx
fx.install()
warnings.simplefilter("ignore")
for path, names in json.load(sys.stdin).items():
    for line in [f"import {path}", *[f"from {path} import {name}" for name in names]]:
        try:
            exec(line, {})
        except Exception as error:
            print(line, type(error).__name__, str(error).splitlines()[0])
"""


def run(*arguments: str, given: str | None = None) -> str:
    """What a program prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("library", DOORS)
def test_what_is_absent_is_listed_and_every_name_can_be_imported(library, tmp_path):
    """`python -m tests.tables.inventory LIBRARY` writes the list anew."""
    files = ("--to", str(tmp_path / "inventory.txt"), "--names", str(tmp_path / "names.json"))
    run("-m", "tests.tables.inventory", library, *files)
    kept, new = DOORS[library].inventory, Inventory((tmp_path / "inventory.txt").read_text(encoding="utf-8"))
    # A public module in which any name may be has needed what was not installed.
    known = [path for path in new.blocks if is_private(path) or path not in kept.open | new.open]
    assert [path for path in known if path != OUTSIDE and kept.entries(path) != new.entries(path)] == []
    assert set(kept.blocks) == set(new.blocks)
    names = (tmp_path / "names.json").read_text()
    assert sum(map(len, json.loads(names).values())) > 300
    assert run("-c", PROGRAM, given=names) == ""


def test_autograd_gives_the_same_numbers():
    ours, theirs = numbers_of(output(AUTOGRAD)), numbers_of(run("-c", AUTOGRAD))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
