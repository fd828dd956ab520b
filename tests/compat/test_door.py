"""`import torch` answered by fxgrad.compat: in processes of their own, since torch itself may be loaded in this one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fxgrad.compat as torch
from fxgrad.compat.door.layout import ABSENT, ELSEWHERE, HOMES, LACKING, LAYOUT, SAME, UNLISTED_NAMES
from fxgrad.compat.door.modules import TORCH, find_namespace

ROOT = Path(__file__).parent.parent.parent


def run(*arguments: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the library on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def output(code: str, folder: Path = ROOT) -> str:
    """What a program prints."""
    done = run("-c", code, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_of_torch_are_ours_while_it_is_installed():
    program = """
import importlib.metadata, importlib.util, pickle, sys
import fxgrad.compat, fxgrad.tree
before = list(sys.meta_path)
with fxgrad.compat.install():
    import torch
    import torch.backends.cudnn as cudnn
    import torch.nn as nn
    import torch.nn.functional as F
    from functorch import grad, make_functional, vmap
    from torch import Tensor
    from torch.nn.modules.activation import ReLU
    from torch.nn.utils.clip_grad import clip_grad_norm_
    from torch.optim.sgd import SGD
    from torch.utils.data.dataloader import DataLoader
    from torch.utils._pytree import tree_map
    with fxgrad.compat.install():
        fxgrad.compat.install()
    assert sys.modules["torch"] is torch and torch.optim.sgd.SGD is SGD
    assert importlib.util.find_spec("torch.nn") is not None
    assert importlib.metadata.version("torch") == torch.__version__ == torch.version.__version__
    cudnn.benchmark = True
    assert torch.backends.cudnn.benchmark
    kept = pickle.dumps(nn.Linear)
assert "torch" not in sys.modules and "functorch.vmap" not in sys.modules and sys.meta_path == before
assert pickle.loads(kept) is nn.Linear is fxgrad.compat.nn.Linear
assert SGD is fxgrad.compat.optim.SGD and Tensor is fxgrad.compat.Tensor and ReLU is fxgrad.compat.nn.ReLU
assert vmap is fxgrad.compat.func.vmap and F.relu is fxgrad.compat.nn.functional.relu
assert torch.optim.adam.Adam is fxgrad.compat.optim.Adam  # found after the end as well
assert torch.nn.modules.loss.MSELoss.__module__.startswith("fxgrad")
assert vars(torch.optim)["SGD"] is SGD and "Linear" in nn.__all__ and "functional" in dir(nn)
fxgrad.compat.install(); fxgrad.compat.uninstall(); fxgrad.compat.uninstall()
assert importlib.util.find_spec("functorch") is None or "site-packages" in str(importlib.util.find_spec("functorch"))
print(repr(torch), repr(torch.nn.modules.loss))
"""
    assert output(program) == (
        "<module 'torch' of fxgrad.compat> <module 'torch.nn.modules.loss' of fxgrad.compat>\n"
    )


def test_install_refuses_where_torch_is_loaded(tmp_path):
    (tmp_path / "torch.py").write_text("")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import torch, fxgrad.compat
try:
    fxgrad.compat.install()
except ImportError as error:
    print(error)
assert fxgrad.compat.nn.Linear and sys.modules["torch"] is torch
del sys.modules["torch"], torch
with fxgrad.compat.install():
    import torch
    assert torch.nn
import torch
print(torch.__file__)
"""
    first, *_, last = output(program).splitlines()
    origin = str(tmp_path / "torch.py")
    assert first == f"fxgrad.compat cannot stand for torch: 'torch' ({origin}) is loaded already"
    assert last == origin  # what is installed is found again


def test_packages_of_operations_in_c_plus_plus_are_imported_as_if_their_library_were_missing():
    program = """
import fxgrad.compat
fxgrad.compat.install()
import multiprocessing
import torch, torch.library, torch._custom_ops, torch.onnx
multiprocessing.connection.Connection  # is there as soon as torch is
from torch.jit.annotations import BroadcastingList2
from torch.onnx.symbolic_helper import parse_args

try:
    torch.ops.load_library("_C.so")
except OSError:
    print("no library")

@torch.library.register_fake("vision::nms")
def nms(dets, scores): ...

keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
torch.library.Library("vision", "IMPL", "Meta").impl("nms", nms)
symbolic = parse_args("v", "v")(nms)
torch.onnx.register_custom_op_symbolic("vision::nms", symbolic, 11)

@torch.jit._script_if_tracing
def pool(x, size: BroadcastingList2[int]):
    return x

print(pool(3, 2), hasattr(torch.ops.vision, "nms"), symbolic is nms)
try:
    torch.ops.vision.nms(1, 2)
except AttributeError as error:
    print(str(error).splitlines()[0])
try:
    raise KeyError(1)
except torch._dynamo.exc.TorchRuntimeError:
    pass
except KeyError:
    print("caught")
"""
    assert output(program).splitlines() == [
        "no library",
        "3 False True",
        "'_OpNamespace' 'vision' object has no attribute 'nms'",
        "caught",
    ]


def test_recursive_filters_of_torchaudio_are_computed_without_its_library():
    program = """
import fxgrad.compat
fxgrad.compat.install()
import torch

torch.ops.load_library("torchaudio/lib/_torchaudio.so")
print(torch.ops._torchaudio.cuda_version(), torch.ops._torchaudio.is_align_available(), torch._C._is_tracing())
x, coefficients = torch.rand(2, 2, 9), torch.tensor([[0.5, -0.3, 1.0], [0.0, 0.2, 1.0]])
padded = torch.zeros(2, 2, 11)
torch.ops.torchaudio._lfilter_core_loop(x, coefficients, padded)
print(torch.allclose((padded.unfold(2, 3, 1) * coefficients[:, None]).sum(-1), x))
x, driven, before, y = torch.rand(2, 6), torch.rand(2, 6), torch.rand(2, 1), torch.rand(2, 1)
out = torch.zeros(2, 6)
torch.ops.torchaudio._overdrive_core_loop(x, driven, before[:, 0], y[:, 0], out)
y = torch.cat([y, (out - x / 2) / 0.75], 1)
print(torch.allclose(y[:, 1:] - 0.995 * y[:, :-1], torch.cat([before, driven], 1).diff(), atol=1e-5))
"""
    assert output(program).splitlines() == ["None False False", "True", "True"]


def test_what_is_absent_says_so_when_it_is_used():
    program = """
import fxgrad.compat
fxgrad.compat.install()
import torch, torch.onnx, torch.distributed as dist
from torch.export import ExportedProgram, UnflattenedModule
from torch.nn.parallel import DistributedDataParallel

class MyProgram(ExportedProgram):
    '''Derived before anybody knows.'''

def reduce(x, options=dist.ReduceOptions.timeout) -> "torch.distributed.ProcessGroup": ...

assert not isinstance(3, UnflattenedModule) and dist.is_available() and not dist.is_initialized()
def message(function, *args):
    try:
        function(*args)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[:2])
message(torch.onnx.export, 1)
message(MyProgram)
message(__import__, "torch.nonsense")
message(__import__, "torch.cuda.nonsense")
message(lambda: torch.nn.Nonsense)
message(torch._C._nn.gelu, 3)
assert not hasattr(torch, "nonsense")
assert not hasattr(torch._C, "_jit_set_texpr_fuser_enabled") and not hasattr(torch.export, "ExportedProgram")
assert getattr(torch.export, "Dim", None) is None and not hasattr(dist, "shrink_group") and hasattr(dist, "all_reduce")
assert not hasattr(dist.ReduceOptions, "timeout") and not hasattr(fxgrad.compat.distributed, "rpc")
assert torch.export.UnflattenedModule is UnflattenedModule  # an annotation, say
from torch.export import Dim  # as if nobody had asked
message(getattr, torch._C, "_nonsense")
from torch.distributed.fsdp.wrap import enable_wrap  # a name that torch has, at any depth
assert torch.onnx.is_in_onnx_export() is False
assert fxgrad.compat.distributed.ReduceOptions.timeout and fxgrad.compat.onnx.is_in_onnx_export() is False
"""
    lines = output(program).splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == [
        "NotSupportedError",
        "NotSupportedError",
        "ModuleNotFoundError",
        "ModuleNotFoundError",
        "AttributeError",
        "NotSupportedError",
        "AttributeError",
    ]
    assert "torch.onnx.export is not there: models are not exported" in lines[0]
    assert "No module named 'torch.nonsense'" in lines[2]
    assert "CUDA devices, which are CuPy's" in lines[3]
    assert "module 'torch.nn' has no attribute 'Nonsense'" in lines[4]
    assert "no library of C++" in lines[5]
    assert "module 'torch._C' has no attribute '_nonsense'" in lines[6]


PROGRAM = '''"""A program."""
import sys, beside
print(sys.argv, sys.path[0], __name__, __file__, __package__, __doc__, sys.modules["__main__"].__dict__ is globals())
try:
    import torch
    print(torch.ones(2).sum().item(), beside.x)
except ModuleNotFoundError:
    print(2.0, beside.x)

def fail() -> int:
    raise ValueError("no")

print(fail.__annotations__)
if sys.argv[1:] == ["exit"]:
    sys.exit(7)
if sys.argv[1:] == ["text"]:
    sys.exit("bye")
if sys.argv[1:] == ["raise"]:
    fail()
if sys.argv[1:] == ["chain"]:
    try:
        fail()
    except ValueError as error:
        raise KeyError(1) from error
if sys.argv[1:] == ["atexit"]:
    import atexit
    atexit.register(lambda: print("end", fail.__name__))
'''


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """A folder with programs: a script, a folder, a package, a module in it, a script with a mistake."""
    folder = tmp_path_factory.mktemp("programs")
    for path in ("script.py", "folder/__main__.py", "package/__main__.py", "package/part.py"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(PROGRAM)
    for path in ("beside.py", "folder/beside.py"):
        (folder / path).write_text("x = 3\n")
    (folder / "package" / "__init__.py").write_text("")
    (folder / "wrong.py").write_text("def f(:\n")
    # Without it the same program may import a torch that is installed, which takes long.
    (folder / "hidden").mkdir()
    (folder / "hidden" / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None\n")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "script.py raise",
        "folder chain",
        "-m package exit",
        "-m package.part raise",
        "-m package.nothing",
        "nothing.py",
        "wrong.py",
        "script.py atexit",
        "-m package text",
    ],
)
def test_a_program_runs_as_it_would_by_itself(programs, command):
    hidden = os.pathsep.join([str(programs / "hidden"), str(ROOT)])
    theirs = run(*command.split(), folder=programs, PYTHONPATH=hidden)
    ours = run("-m", "fxgrad.compat", *command.split(), folder=programs)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    frames = [line for line in theirs.stderr.splitlines() if "runpy" not in line]
    assert ours.stderr.splitlines() == frames


def test_the_command_says_how_it_is_used():
    assert run("-m", "fxgrad.compat").returncode == 2
    shown = run("-m", "fxgrad.compat", "--help")
    assert shown.returncode == 0 and shown.stdout.startswith("usage: python -m fxgrad.compat script.py")
    assert "unknown" in run("-m", "fxgrad.compat", "-x").stderr
    done = run("-m", "fxgrad.compat", "-c", "import sys, torch; print(sys.argv, torch.arange(3))", "a")
    assert done.stdout == "['-c', 'a'] tensor([0, 1, 2])\n"


def test_threads_that_import_at_the_same_time_get_the_same_modules():
    program = """
import threading, fxgrad.compat
fxgrad.compat.install()
found, start = [], threading.Barrier(8)
def work():
    start.wait(60)
    import torch.nn.modules.loss, torch.optim.sgd, functorch
    import torch
    found.append((id(torch), id(torch.nn), id(torch.nn.modules.loss), id(torch.optim.sgd.SGD)))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join(60) for t in threads]
print(len(found), len(set(found)))
"""
    assert output(program) == "8 1\n"


# -- the table ------------------------------------------
def test_the_table_lists_every_path_once():
    paths = [*SAME.split(), *ELSEWHERE.split(), *UNLISTED_NAMES]
    assert sorted(paths) == sorted(set(paths))
    assert set(HOMES) <= set(LAYOUT)
    assert not set(ABSENT) & set(LACKING)
    for path in LAYOUT:
        names = TORCH.names_elsewhere(path)
        assert sorted(names) == sorted(set(names))


def test_private_rooms_of_ours_are_no_modules_of_torchs():
    assert all(
        TORCH.open_module(f"torch.{room}", {}) is None for room in ("_declare", "door", "nn.modules.losses")
    )
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        find_namespace("nonsense")


def test_namespaces_without_a_file_are_attributes_as_well():
    assert torch.functional.einsum is torch.einsum
    assert torch.onnx.export and torch.futures.Future and torch.export.Dim
    assert "does not have" in TORCH.explain("torch.nonsense") and "ONNX" in TORCH.explain(
        "torch.onnx.symbolic_opset9"
    )
    assert json.dumps(str(torch.__version__)).startswith('"2.13.0+fxgrad.')


def test_asking_for_the_library_does_not_install_anything():
    assert output("import sys, fxgrad.compat; fxgrad.compat.nn; print('torch' in sys.modules)") == "False\n"
    assert importlib.util.find_spec("fxgrad.compat.__main__") is not None


def test_processes_that_are_started_say_what_they_raised(tmp_path):
    (tmp_path / "work.py").write_text(
        """
import os, sys
import fxgrad.compat as torch
mp = torch.multiprocessing

def write(number, folder):
    open(os.path.join(folder, f"{number}.txt"), "w").write(str(torch.arange(number).sum().item()))

def fail(number):
    if number:
        raise ValueError(f"no {number}")

def leave(number):
    os._exit(3 * number)

if __name__ == "__main__":
    assert mp.spawn(write, (sys.argv[1],), nprocs=2, start_method="fork") is None
    print(sorted(f for f in os.listdir(sys.argv[1]) if f.endswith(".txt")))
    try:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    except mp.ProcessRaisedException as error:
        print(error.error_index, "ValueError: no 1" in str(error))
    try:
        mp.start_processes(leave, nprocs=2, start_method="fork")
    except mp.ProcessExitedException as error:
        print(error.error_index, error.exit_code)
"""
    )
    done = run("work.py", str(tmp_path), folder=tmp_path)
    assert done.stdout.splitlines() == ["['0.txt', '1.txt']", "1 True", "1 3"], done.stderr


def test_tensors_and_parameters_say_that_they_are_torchs_and_are_pickled_for_both():
    program = """
import pickle
import fxgrad.compat
with fxgrad.compat.install():
    import torch
    weight = torch.nn.Linear(2, 1).weight
    print(type(weight).__module__, type(weight.detach()).__module__)
    kept = pickle.dumps([weight, weight.detach()])
again, plain = pickle.loads(kept)
print(type(again) is fxgrad.compat.nn.Parameter, again.requires_grad, (again == weight).all().item())
print(type(plain) is fxgrad.compat.Tensor, type(weight).__module__)
"""
    assert output(program).splitlines() == [
        "torch.nn.parameter torch",
        "True True True",
        "True fxgrad.compat.nn.parameter",
    ]


def test_functions_say_that_they_are_torchs_while_the_door_is_open():
    program = """
import inspect, io
import fxgrad.compat
from fxgrad.compat.nn import functional as ours
with fxgrad.compat.install():
    import torch
    F = torch.nn.functional
    for f in (torch.add, torch.zeros, F.softmax, F.sigmoid, torch.func.jacrev, torch.autograd.grad):
        print(f.__module__, f.__name__)
    print(*inspect.getfullargspec(F.cross_entropy).args)
    torch.save(F.relu, io.BytesIO())
print(ours.softmax.__module__)
"""
    assert output(program).splitlines() == [
        "torch add",
        "torch zeros",
        "torch.nn.functional softmax",
        "torch.nn.functional sigmoid",
        "torch.func jacrev",
        "torch.autograd grad",
        "input target weight size_average ignore_index reduce reduction label_smoothing",
        "fxgrad.compat.nn.functional",
    ]


def test_a_namespace_of_operations_may_be_the_first_that_is_asked_for(tmp_path):
    (tmp_path / "ask.py").write_text(
        "import fxgrad.compat as torch\n"
        "aten = torch.ops.aten\n"
        "print(aten.copy_, aten.relu_.default, aten.mm(torch.eye(2), torch.eye(2)).sum())\n"
    )
    done = run("ask.py", folder=tmp_path)
    assert done.stdout.strip() == "aten.copy_ aten.relu_.default tensor(2.)", done.stderr
