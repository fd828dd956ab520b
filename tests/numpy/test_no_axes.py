"""An array without axes may be gone along its first or last, where NumPy has it so: found by asking NumPy about every
function that takes an axis."""

import inspect

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

FURTHER = {
    "take": lambda a, axis: np.take(a, [0, 0], axis),
    "repeat": lambda a, axis: np.repeat(a, 3, axis),
    "compress": lambda a, axis: np.compress([True], a, axis),
    "quantile": lambda a, axis: np.quantile(a, 0.5, axis),
    "argpartition": lambda a, axis: np.argpartition(a, 0, axis),
    "hypot.reduce": lambda a, axis: np.hypot.reduce(a, axis),
    "add.reduce": lambda a, axis: np.add.reduce(a, axis),
}


def takes_an_axis(name):
    function = getattr(np, name, None)
    if isinstance(function, type | np.ufunc) or not callable(function):
        return False
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    required = [p for p in parameters[1:] if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    return any(p.name == "axis" for p in parameters) and {p.name for p in required} <= {"axis"}


NAMES = sorted(name for name in fnp.__all__ if takes_an_axis(name))


def test_there_are_functions_to_ask():
    assert {"cumsum", "cumprod", "sum", "argsort", "nanmean"} <= {*NAMES}


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", [*NAMES, *FURTHER])
def test_what_numpy_takes_is_taken(name, axis):
    def function(a):
        return FURTHER[name](a, axis) if name in FURTHER else getattr(np, name)(a, axis=axis)

    for value in (2.5, 3, True):
        try:
            expected = function(np.array(value))
        except (ValueError, TypeError, IndexError):
            continue
        same(fx.jit(function)(np.array(value)), expected)
        same(fx.vjp(function, np.array(value))[0], expected)
        same(fx.tree.map(lambda y: y[1], fx.vmap(function)(np.array([value, value]))), expected)
