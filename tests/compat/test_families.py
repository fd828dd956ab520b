"""Families of operations that are loaded when one of their names is asked for."""

import json
import subprocess
import sys

import pytest

from fxgrad.compat.ops.rare import RARE

PROGRAM = """
import json, sys
from importlib import import_module
import fxgrad.compat._surface
from fxgrad.compat._declare.spaces import SPACES, load_families

def loaded():
    return {space: set(names.loaded()) for space, names in SPACES.items()}

at_first, modules = loaded(), set(sys.modules)
alone = {}
for family in sys.argv[1:]:
    before = loaded()
    import_module(f"fxgrad.compat.ops.{family}")
    alone[family] = {space: sorted(names - before.get(space, set())) for space, names in loaded().items()}
load_families()
rest = {space: sorted(names - at_first.get(space, set())) for space, names in loaded().items()}
print(json.dumps([sorted(modules), alone, rest]))
"""


def run(*families):
    command = [sys.executable, "-c", PROGRAM, *families]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.fixture(scope="module")
def found():
    return run()


def test_the_surface_loads_none_of_them(found):
    assert {f"fxgrad.compat.ops.{family}" for family in RARE}.isdisjoint(found[0])


def test_the_table_has_what_the_files_declare(found):
    """Taken in an order in which each family comes after those that it imports."""
    told = {}
    for spaces in RARE.values():
        for space, names in spaces.items():
            assert told.setdefault(space, set()).isdisjoint(names.split())
            told[space] |= set(names.split())
    for space in told | found[2]:
        declared = set(found[2].get(space, []))
        assert told.get(space, set()) == declared, (
            f"RARE in compat/ops/rare.py and the declarations of {space}"
        )
    before = ["dropout", "linear", "loss", "attention", "embedding", "grids", "packing", "pooling"]
    before = [f"nn.{name}" for name in before]
    order = [*before, *(family for family in RARE if family not in before)]
    alone = run(*order)[1]
    for family in order:
        declared = {space: names for space, names in alone[family].items() if names}
        assert declared == {space: sorted(names.split()) for space, names in RARE[family].items()}, family


@pytest.mark.parametrize(
    "program",
    [
        "torch.conv2d; assert 'conv2d' in vars(torch)",
        "F.conv2d; assert 'conv2d' in vars(F)",
        "assert torch.fft.fft and torch.special.i0 and torch.nn.Linear(1, 1)",
        "from fxgrad.compat import *; bilinear",
        "from fxgrad.compat.nn.functional import *; mse_loss",
        "from fxgrad.compat.nn.functional import ctc_loss",
        "assert hasattr(F, 'cross_entropy') and not hasattr(F, 'no') and not hasattr(torch, 'no_such')",
        "assert {'conv2d', 'relu'} <= {*dir(torch)} & {*dir(F)}",
        "assert torch.ops.aten.convolution",
        "import pickle; assert pickle.loads(pickle.dumps(F.conv2d)) is torch.conv2d",
    ],
)
def test_their_names_are_there_in_a_fresh_process(program):
    start = "import fxgrad.compat as torch, fxgrad.compat.nn.functional as F"
    subprocess.run([sys.executable, "-c", f"{start}\n{program}"], check=True)
