"""torch's module paths: every public name that torch has somewhere, and we anywhere around, is found there."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import functorch
import pytest
import torch

from fxgrad.compat.door.layout import LAYOUT
from fxgrad.compat.door.modules import TORCH

ROOT = Path(__file__).parent.parent.parent.parent
TREE: dict = {}
NAMED_PARTS = Path(__file__).with_name("named_parts.py")

# Names that we have around a path under another meaning, or that torch keeps for itself.
OTHERS = {
    "torch.nn.parallel.comm": "copies between devices",
    "torch.utils.data.graph": "of data pipes",
    "torch.utils.tensorboard": "needs another package",
    "torch.utils.tensorboard.writer": "needs another package",
}


def public_paths(folder: str, package: str) -> list[str]:
    """The public modules in a folder, which are not imported for it."""
    found = []
    for module in pkgutil.iter_modules([folder]):
        if not module.name.startswith("_"):
            found.append(f"{package}.{module.name}")
            if module.ispkg:
                found += public_paths(os.path.join(folder, module.name), found[-1])
    return found


PATHS = ["torch", *public_paths(torch.__path__[0], "torch"), "functorch"]


def test_every_public_module_can_be_imported():
    assert [path for path in PATHS if TORCH.open_module(path, TREE) is None] == []


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module of torch's that are torch's."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not isinstance(getattr(module, name, None), ModuleType)]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def shared_names() -> dict[str, list[str]]:
    """By path, the public names of torch's modules that we have there or around."""
    shared = {}
    for path in PATHS:
        opened = TORCH.open_module(path, TREE)
        if not isinstance(opened, ModuleType) or path in OTHERS or path not in LAYOUT:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = names_of(importlib.import_module(path))
        around = [opened, *TORCH.places_of(path, private=False)]
        shared[path] = [n for n in theirs if any(not absent(getattr(place, n, None)) for place in around)]
    return shared


def absent(value: object) -> bool:
    """Whether a value is no name: not there, or a module."""
    return value is None or isinstance(value, ModuleType)


def test_every_name_is_found_by_torchs_path_when_it_is_imported():
    shared = shared_names()
    assert sum(map(len, shared.values())) > 1500
    program = """
import importlib, json, sys, warnings
import fxgrad.compat
fxgrad.compat.install()
warnings.simplefilter("ignore")
missing = []
for path, names in json.load(sys.stdin).items():
    module = importlib.import_module(path)
    missing += [f"{path}.{name}" for name in names if not hasattr(module, name)]
print(missing)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(shared),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_every_listed_name_is_one_of_torchs():
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in LAYOUT:
            if path == "torch._dynamo" or path in OTHERS:
                continue  # takes seconds to import, or cannot be
            module = importlib.import_module(path)
            wrong += [f"{path}.{name}" for name in TORCH.names_elsewhere(path) if not hasattr(module, name)]
    assert wrong == []
    assert functorch.vmap and TORCH.open_module("functorch", TREE).vmap


PRIVATE = """
    nn.modules.loss._Loss nn.modules.loss._WeightedLoss nn.modules.conv._ConvNd nn.modules.batchnorm._BatchNorm
    nn.modules.batchnorm._NormBase nn.modules.utils._pair nn.common_types._size_2_t optim.lbfgs._strong_wolfe
    optim.lbfgs._cubic_interpolate optim.optimizer.required types._size types._TensorOrTensors _vmap_internals._vmap
    utils._pytree._broadcast_to_and_flatten nn.modules.module._IncompatibleKeys hub._get_torch_home
    utils.data.dataloader._collate_fn_t
"""


@pytest.mark.parametrize("name", PRIVATE.split())
def test_privates_that_packages_read_are_there(name):
    path, _, last = name.rpartition(".")
    assert hasattr(importlib.import_module(f"torch.{path}"), last)
    assert hasattr(TORCH.open_module(f"torch.{path}", TREE), last)


PROGRAM = """
import sys
import torch, torch.nn as nn, torch.nn.functional as F
import torch.backends.cudnn as cudnn
from torch import Tensor, optim
from torch.autograd import Variable
from torch.cuda.amp import GradScaler, autocast
from torch.fx import symbolic_trace
from torch.nn import init
from torch.nn.modules.loss import _Loss
from torch.nn.modules.utils import _pair
from torch.nn.parameter import Parameter
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import StepLR
from torch.optim.sgd import SGD
from torch.types import _size
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import default_collate
from functorch import grad, make_functional, vmap

cudnn.benchmark = True
torch.cuda.manual_seed_all(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Squares(_Loss):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return ((x - y) ** 2).mean()

@torch.jit.script
def double(x: Tensor) -> Tensor:
    return 2 * x

model = nn.DataParallel(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))).to(device)
for i, p in enumerate(model.parameters()):
    init.constant_(p, 0.1 * (i + 1))
data = TensorDataset(torch.arange(12.0).reshape(6, 2) / 10, torch.arange(6.0)[:, None])
optimizer = SGD(model.parameters(), lr=0.1, momentum=0.5)
schedule, scaler = StepLR(optimizer, 2), GradScaler(enabled=False)
for x, y in DataLoader(data, batch_size=3):
    with autocast(enabled=False):
        loss = Squares()(double(model(x)), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    print(f"{loss.item():.5f}", schedule.get_last_lr())
f, params = make_functional(model.module)
def error(params, x, y):
    return F.mse_loss(f(params, x), y)
sizes = [tuple(g.shape) for g in vmap(grad(error), (None, 0, 0))(params, *data.tensors)]
print(sizes, list(model.state_dict()), _pair(3), torch.version.cuda, sys.argv[1:])
torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
"""


@pytest.mark.parametrize("source", [PROGRAM, NAMED_PARTS.read_text(encoding="utf-8")], ids=["whole", "parts"])
def test_a_program_that_cannot_be_edited_runs_under_both(tmp_path, source):
    path = tmp_path / "program.py"
    path.write_text(source, encoding="utf-8")
    printed = [
        subprocess.run(
            [sys.executable, "-W", "ignore", *command, str(path), "3"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for command in ([], ["-m", "fxgrad.compat"])
    ]
    assert printed[0] == printed[1]
