"""What functions and classes of the torch surface say of themselves: parameters, results, examples that run."""

from __future__ import annotations

import doctest
import inspect
import io
import re
import subprocess
import sys
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import fxgrad.compat as torch
from fxgrad.compat._core.absence import AbsentClass
from fxgrad.compat._declare.documentation import describe_result, find_entry
from fxgrad.compat._declare.documentation import list_parameters as parameters_of
from fxgrad.compat._declare.late_text import LateText
from fxgrad.compat.texts import read_entries
from tests.given_names import given_names
from tests.house.raised_errors import list_unsaid, plain
from tests.parity.compat.case import gathered

NAMESPACES = """
    accelerator amp autograd autograd.forward_ad autograd.function autograd.functional autograd.grad_mode autograd.graph
    autograd.profiler compiler cuda cuda.amp cuda.nvtx distributed distributions distributions.constraints
    distributions.transforms fft func futures jit library linalg multiprocessing nn nn.attention nn.functional nn.init
    nn.parameter nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn optim
    optim.lr_scheduler optim.swa_utils overrides profiler random serialization signal.windows sparse special testing
    utils utils.checkpoint utils.data utils.dlpack utils.hooks
""".split()  # noqa: SIM905
# Errors of helpers that the function calls in such a way that they cannot come.
IMPOSSIBLE = {
    "torch.as_tensor": {"TensorError"},  # no gradient is required
    "torch.from_dlpack": {"TensorError"},
    "torch.from_numpy": {"TensorError"},
    "torch.utils.dlpack.from_dlpack": {"TensorError"},
    "torch.feature_dropout": {"TensorError"},  # of any number of dimensions
    "torch.nn.functional.feature_alpha_dropout": {"TensorError"},
}


def names_of(namespace: ModuleType) -> list[str]:
    """The public names of a namespace: those that it lists, or else those that it defines."""
    listed = getattr(namespace, "__all__", None)
    found = {name: getattr(namespace, name) for name in listed or dir(namespace) if not name.startswith("_")}
    return sorted(
        name for name, value in found.items() if belongs(value) and (listed or is_own(value, namespace))
    )


def is_own(found, namespace: ModuleType) -> bool:
    """Whether an object is defined in a namespace, or declared to be in it, rather than imported there."""
    return inspect.unwrap(found).__module__ == namespace.__name__ or namespace.__name__.endswith(
        "nn.functional"
    )


def belongs(found) -> bool:
    """Whether an object is a function or class of this library, and there."""
    if not isinstance(found, FunctionType | type) or isinstance(found, AbsentClass):
        return False
    return str(getattr(inspect.unwrap(found), "__module__", "")).startswith("fxgrad")


@cache
def documented() -> dict[str, object]:
    """All functions, methods, properties and classes of the surface by their names."""
    found: dict[str, object] = {f"torch.{name}": getattr(torch, name) for name in names_of(torch)}
    for space in NAMESPACES:
        namespace = import_module(f"fxgrad.compat.{space}")
        found |= {f"torch.{space}.{name}": getattr(namespace, name) for name in names_of(namespace)}
    for name in dir(torch.Tensor):
        member = inspect.getattr_static(torch.Tensor, name)
        if not name.startswith("_") and isinstance(member, FunctionType | property):
            found[f"Tensor.{name}"] = member
    return found


def whole_text(found) -> str:
    """The docstring of a function or class: its own, not that of a base."""
    return str((vars(found).get("__doc__") if isinstance(found, type) else found.__doc__) or "")


def missing(found) -> list[str]:
    """What the text of a function or class does not say."""
    text = inspect.cleandoc(whole_text(found))
    if not text:
        return ["anything"]
    lacks = [] if ">>> " in text else ["an example"]
    if isinstance(found, property) or not callable(found):
        return lacks
    if isinstance(found, FunctionType) and not re.search(
        r"(?m)^(Returns|Yields|Raises):|[Rr]eturn|[Cc]ontext", text
    ):
        lacks.append("what it returns")
    parameters = [] if hasattr(found, "in_place_of") else list_parameters(found)
    return lacks + [p for p in parameters if not re.search(rf"\b{p}\b", text)]


def list_parameters(found) -> list[str]:
    if isinstance(found, type) and issubclass(found, Exception | Enum):
        return []
    try:
        names = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def group_of(name: str) -> str:
    return name.rpartition(".")[0]


GROUPS = [*(f"torch.{space}" for space in NAMESPACES), "torch", "Tensor"]


@pytest.mark.parametrize("group", GROUPS)
def test_examples_run(group):
    """Functions are made by their declarations, so that pytest does not find their examples in the modules."""
    parser, failures = doctest.DocTestParser(), io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name, found in documented().items():
        if group_of(name) == group:
            text, module = whole_text(found), getattr(inspect.unwrap(found), "__module__", "")
            with given_names(module, text) as names:
                runner.run(parser.get_doctest(text, names, name, None, None), out=failures.write)
    assert not failures.getvalue()


@pytest.mark.parametrize("group", GROUPS)
def test_texts_say_parameters_and_results_and_have_an_example(group):
    incomplete = {
        name: lacks
        for name, found in documented().items()
        if group_of(name) == group and (lacks := missing(found))
    }
    assert not incomplete, "lines of fxgrad/compat/texts: `Returns: …`, `parameter: …` and an example"


@pytest.mark.parametrize("group", GROUPS)
def test_what_a_function_raises_stands_in_its_text(group):
    subjects = {name: getattr(found, "fget", found) for name, found in documented().items()}
    public = {plain(subject) for subject in subjects.values()}
    unsaid = {
        name: list_unsaid(subject, inspect.cleandoc(whole_text(documented()[name])), public)
        - IMPOSSIBLE.get(name, set())
        for name, subject in subjects.items()
        if group_of(name) == group
    }
    assert not {name: errors for name, errors in unsaid.items() if errors}


def test_texts_describe_each_parameter_once():
    for name, found in documented().items():
        section = re.search(r"(?m)^Args:\n((?:    .*\n?)+)", inspect.cleandoc(whole_text(found)))
        labels = re.findall(r"(?m)^    ([\w*, ]+): ", section[1]) if section else []
        described = [label.strip("* ") for group in labels for label in group.split(",")]
        assert len(described) == len(set(described)), name


def test_every_entry_of_the_texts_is_of_a_name_that_there_is():
    def exists(name: str) -> bool:
        found = torch
        try:
            for part in name.split("."):
                found = getattr(found, part)
        except AttributeError:
            return hasattr(torch.Tensor, name)
        return True

    assert [name for name in read_entries() if not (name.endswith("parameters") or exists(name))] == []


def test_a_text_is_put_together_when_it_is_read():
    text = torch.lerp.__doc__
    assert type(text) is LateText
    assert "Forms: `torch.lerp`, `Tensor.lerp`; in place `Tensor.lerp_`." in text
    assert inspect.getdoc(torch.lerp) == str(text) == inspect.getdoc(torch.Tensor.lerp)
    assert len(text) == len(str(text)) and text.splitlines()[0] == text.declared
    assert f"{text}" == text == text + ""


def test_help_shows_the_whole_text(capsys):
    help(torch.lerp)
    assert "weight: the fraction of the way" in capsys.readouterr().out


def test_an_in_place_method_refers_to_its_function():
    text = torch.Tensor.lerp_.__doc__
    assert text.startswith("The in-place form of `torch.lerp`")
    assert ">>> x.lerp_(" in text


def test_entries_say_each_parameter_and_each_name_once():
    folder = Path(sys.modules["fxgrad.compat.texts"].__file__).parent
    for path in folder.glob("*.txt"):
        for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            labels = re.findall(r"(?m)^(\w+): ", section.partition("\n>>> ")[0])
            labels = [label for label in labels if label not in ("Raises", "Derivative", "Source")]
            assert len(labels) == len(set(labels)), section


def test_results_have_the_shapes_and_dtypes_that_the_declarations_imply():
    checked = 0
    for case in gathered():
        function = torch.Tensor if case.name.startswith(".") else torch
        for part in case.name.strip(".").split("."):
            function = getattr(function, part, None)
        operation = getattr(function, "operation", None)
        if operation is None or hasattr(function, "in_place_of") or find_entry(function).returns:
            continue
        said = " ".join(describe_result(operation, parameters_of(function)).split())
        tensors = case.tensors(torch)
        result = case.call(torch, tensors)
        if "A Tensor of the shape to which the operands broadcast" in said:
            assert result.shape == torch.broadcast_shapes(*[x.shape for x in tensors]), case
        if "of the shape of `input`" in said:
            assert result.shape == tensors[0].shape, case
        if said.endswith("of the dtype of `input`."):
            assert result.dtype is tensors[0].dtype, case
        if said.endswith("of dtype bool."):
            assert result.dtype is torch.bool, case
        checked += bool(said)
    assert checked > 500


def test_a_package_completes_its_docstrings():
    text = inspect.getdoc(torch.optim.lr_scheduler.LinearLR)
    described = re.findall(r"(?m)^    (\w+): ", text.partition("Raises:")[0])
    assert described == ["optimizer", "total_iters", "last_epoch"], "in the order of the signature"
    _, _, example = text.partition("\n\n>>> ")
    assert example.startswith("optimizer = ") and "LinearLR(optimizer" in example, (
        "in the frame of its package"
    )
    assert example.endswith("\n>>> rates\n[0.25, 0.5, 0.75, 1.0]") and "ExponentialLR" not in example
    assert "\n\nReturns:\n    A bool.\n\n>>> " in inspect.getdoc(torch.cuda.is_available)


def test_no_text_is_put_together_at_import():
    program = """
import sys
import fxgrad.compat as torch
torch.nn.Module, torch.nn.init, torch.nn.utils.prune, torch.optim.Adam, torch.optim.lr_scheduler.StepLR
torch.distributed.all_reduce, torch.cuda.is_available, torch.library, torch.jit, torch.overrides
print("fxgrad.compat.texts" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
