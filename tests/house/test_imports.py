"""Threads that import at the same time get whole modules.

CPython locks each module while it is imported. A thread waits for a module that another one imports, and where they
would wait for each other in a circle it is given a half-made module, or _DeadlockError. So nothing may wait for what
waits for it. A module waits for what it imports, and `from package import x` waits for the package as well, also where
that is its own. `import package.part` takes the part's lock before the package's: whoever is outside a package that
imports its parts imports the package first. What users may import from outside is a face, which imports nothing of its
own: see `core.face`.
"""

import itertools
import json
import subprocess
import sys
from functools import cache

import pytest

from tests.house.imports import ROOT, imports_of
from tests.together import in_turn, together

PATHS = {
    ".".join([*path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted((ROOT / "fxgrad").rglob("*.py"))
}
MODULES = [name for name in PATHS if not name.startswith("fxgrad.demo")]


@cache
def imported(module: str) -> list[str]:
    """The modules of fxgrad that a module imports at once, in their order; of a from-import its package comes first."""
    found: list[str] = []
    for one in imports_of(PATHS[module]):
        if one.at_once and not one.for_types:
            found += [*[one.base] * (one.base is not None), one.name]
    return [name for name in found if name in PATHS and name != module]


def packages_of(module: str) -> list[str]:
    """The packages in which a module is."""
    parts = module.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


@cache
def eager() -> set[str]:
    """The packages that import parts of their own."""
    return {name for name in MODULES if any(part.startswith(f"{name}.") for part in imported(name))}


def circles(modules: list[str]) -> list[list[str]]:
    """What is left of the graph of imports when whatever waits for nothing in it is taken away, again and again."""
    waiting = {name: {part for part in imported(name) if part in modules} for name in modules}
    while done := {name for name, parts in waiting.items() if not parts}:
        waiting = {name: parts - done for name, parts in waiting.items() if name not in done}
    return sorted([name, *sorted(parts)] for name, parts in waiting.items())


def test_no_module_waits_for_one_that_waits_for_it():
    assert circles(MODULES) == []


@together("module")
@pytest.mark.parametrize("module", MODULES)
def test_a_package_is_imported_before_its_parts_by_whoever_is_outside(module):
    packages = packages_of(module)
    before = {name for package in packages for name in imported(package)}
    for name in imported(module):
        for package in packages_of(name):
            if package in eager() and package not in [module, *packages]:
                assert package in before, f"{name} is imported before {package}"
        before.add(name)


ROOMS = [
    "compat",
    "debug",
    "lax",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "random",
    "testing",
    "control.loops",
    "transforms.custom.jvp_vjp",
    "transforms.vjp",
]
FACES = [
    "autograd.forward_ad",
    "autograd.gradcheck",
    "func",
    "linalg",
    "nn",
    "nn.functional",
    "nn.modules",
    "optim",
    "random",
    "utils.checkpoint",
    "utils.data",
]
PROGRAM = """
import importlib, json, sys, threading

def load(name, barrier, errors):
    barrier.wait()
    try:
        importlib.import_module(name)
    except BaseException as error:
        errors.append(f"{name}: {type(error).__name__}: {error}")

def together(names):
    for name in [name for name in sys.modules if name.partition(".")[0] == "fxgrad"]:
        del sys.modules[name]
    barrier, errors = threading.Barrier(len(names)), []
    threads = [threading.Thread(target=load, args=(name, barrier, errors)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fx, fnp = map(importlib.import_module, ("fxgrad", "fxgrad.numpy"))
    torch = importlib.import_module("fxgrad.compat")
    surface = any("compat" in name for name in names)
    if not errors and surface and torch.nn.Linear(2, 1).weight.sum().backward() is not None:
        errors.append("compat computes nothing")
    if not errors and fx.grad(lambda x: fnp.where(x > 0, x, 0.0) * fnp.linalg.norm(fnp.stack([x, x])))(2.0) <= 0:
        errors.append("computes nothing")
    return errors

sys.setswitchinterval(1e-6)
found = {", ".join(names): together(names) for names in json.loads(sys.argv[1])}
print(json.dumps({names: errors for names, errors in found.items() if errors}))
"""


def test_threads_that_import_at_the_same_time_get_whole_modules():
    """Pairs of rooms, the surface of torch with each of its parts, and all at once, each time from nothing."""
    faces = [f"compat.{name}" for name in FACES]
    groups = [
        *in_turn([*itertools.combinations(ROOMS, 2)], 4),
        *in_turn([("compat", name) for name in faces], 4),
        faces,
        [*ROOMS, *faces],
    ]
    groups = [[f"fxgrad.{name}" for name in group] for group in groups]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(groups)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {}


@pytest.mark.parametrize("program", [
    "import fxgrad.compat.autograd.gradcheck, fxgrad.compat as torch; torch.autograd.gradcheck(torch.sin, torch.ones("
    "2, dtype=torch.float64, requires_grad=True)); assert callable(torch.autograd.variable)",
    "from fxgrad.compat.autograd.gradcheck import gradcheck; gradcheck.__call__",
    "import fxgrad.compat.random as random; random.get_rng_state().sum().item()",
    "from fxgrad.compat.nn.parameter import Parameter; Parameter().sum().backward()",
    "from fxgrad.compat.fft import fftfreq; repr(fftfreq(4))",
    "from fxgrad.compat import *; nn.Linear(2, 2)(tensor([1.0, 2.0])), optim.SGD, utils.data.DataLoader",
    "from fxgrad.compat import bfloat16, nn; from fxgrad.compat.nn.modules import *; Linear(2, 2).weight.sum()",
    "import fxgrad.compat._core.tape, fxgrad.compat as torch; torch.tensor([1.0]).sum(), torch.nn.functional.relu",
    "import fxgrad.compat as torch; assert {'nn', 'ones', 'Tensor'} < {*dir(torch)} and not hasattr(torch, 'absent')",
])  # fmt: skip
def test_a_part_is_whole_whatever_was_imported_before(program):
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, check=True, timeout=60)
