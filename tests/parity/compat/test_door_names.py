"""Every module and every name of torch can be imported while the door is open, and the list of what is absent is
current."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch

from fxgrad.compat.door.modules import TORCH
from fxgrad.doors.inventory import OUTSIDE, Inventory
from tests.tables.inventory import is_private

ROOT = Path(__file__).parent.parent.parent.parent

PROGRAM = """
import json, sys, warnings
import fxgrad.compat
fxgrad.compat.install()
warnings.simplefilter("ignore")
for path, names in json.load(sys.stdin).items():
    try:
        exec(f"import {path}", {})
    except Exception as error:
        print(path, type(error).__name__, error)
        continue
    for name in names:
        try:
            exec(f"from {path} import {name}", {})
        except Exception as error:
            print(path, name, type(error).__name__)
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory) -> tuple[Inventory, dict[str, list[str]]]:
    """What torch lacks here, and all of its names by module, from a process of its own: it imports all of torch."""
    folder = tmp_path_factory.mktemp("torch")
    files = ("--to", str(folder / "inventory.txt"), "--names", str(folder / "names.json"))
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.tables.inventory", *files],
        cwd=ROOT,
        capture_output=True,
        timeout=300,
        check=False,
    )
    inventory = Inventory((folder / "inventory.txt").read_text(encoding="utf-8"))
    return inventory, json.loads((folder / "names.json").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore")  # torch's former names
@pytest.mark.parametrize("path", sorted(TORCH.layout))
def test_classes_that_have_parameters_have_them_here(path):
    """They are written in annotations, and derived from."""
    try:
        theirs = vars(import_module(path))
    except ModuleNotFoundError as error:
        pytest.skip(f"torch needs {error.name} for it")
    classes = {
        name
        for name, value in theirs.items()
        if isinstance(value, type)
        and hasattr(value, "__class_getitem__")
        and value.__module__.startswith("torch")
    }
    ours = vars(TORCH.open_module(path, {}))
    here = [name for name in classes & ours.keys() if isinstance(ours[name], type)]
    assert sorted(name for name in here if not hasattr(ours[name], "__class_getitem__")) == []


def test_every_module_and_name_can_be_imported(asked):
    names = asked[1]
    assert torch.__version__.startswith("2.13.") and sum(map(len, names.values())) > 20_000
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(names),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "", done.stdout[:5000] + done.stderr


def test_the_list_of_what_is_absent_is_current(asked):
    """`python -m tests.tables.inventory` writes it anew."""
    kept, new = TORCH.inventory, asked[0]
    # A public module in which any name may be has needed what was not installed.
    known = [path for path in new.blocks if is_private(path) or path not in kept.open | new.open]
    differ = [path for path in known if path != OUTSIDE and kept.entries(path) != new.entries(path)]
    assert differ == []
    assert set(kept.blocks) == set(new.blocks)
