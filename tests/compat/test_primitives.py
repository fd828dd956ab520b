"""The primitives of `fxgrad.compat` against mathematics, as tests/ops/test_registry.py has the registered ones."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from importlib import import_module
from itertools import groupby
from operator import attrgetter

import pytest

import fxgrad.compat
from fxgrad.compat._core.primitives import PRIMITIVES, declare_primitive
from fxgrad.compat._declare.composite import Composite
from fxgrad.core.primitive import HigherOrder, Primitive
from fxgrad.ops.kinds import Elementwise
from tests.compat.samples import SAMPLES
from tests.ops import test_registry

key = attrgetter("name")
CHECKS = {name: check for name, check in vars(test_registry).items() if hasattr(check, "selects")}
SAMPLES_OF = {name: [*there] for name, there in groupby(sorted(SAMPLES, key=key), key)}


def test_every_primitive_has_samples():
    refused = {
        "refused_derivative",
        "underivable_quotient",
        "linked",
    }  # torch's floor_divide has no derivative
    assert {sample.name for sample in SAMPLES} == set(PRIMITIVES) - refused


@pytest.mark.parametrize(
    ("check", "samples"),
    [
        pytest.param(check, [s for s in samples if check.selects(s)], id=f"{name.removeprefix('test_')}-{of}")
        for name, check in CHECKS.items()
        for of, samples in SAMPLES_OF.items()
        if any(map(check.selects, samples))
    ],
)
def test_it_is_as_a_registered_one(check, samples):
    check(sample=[{"sample": sample} for sample in samples])


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="a primitive named 'rsqrt' exists already"):
        declare_primitive(Elementwise, "rsqrt", lambda xp: xp.sqrt, (None,))


def test_no_primitive_is_made_without_being_declared():
    """Except for those that are made for an operation or of the user's function."""
    found = []
    for info in pkgutil.walk_packages(fxgrad.compat.__path__, "fxgrad.compat."):
        module = import_module(info.name)
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                made = getattr(module, node.func.id, None)
                if inspect.isclass(made) and issubclass(made, Primitive):
                    exempt = issubclass(made, Composite | HigherOrder)
                    found += [] if exempt else [f"{info.name}:{node.lineno}"]
    assert found == []
