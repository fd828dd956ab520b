"""Eight programs of research code that decide by values, unmodified as Python, under `jit(control="follow")`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from benchmarks.lines.follow import PROGRAMS

from .test_follow import follow, paths

LIBRARY: Any = SimpleNamespace(np=fnp, lax=fx.lax, mutable=True)
WAYS = {  # that are staged at most for three kinds of arguments
    "adaptive": 8,
    "newton": 12,
    "hamiltonian": 8,
    "bisection": 8,
    "gauss_seidel": 3,
    "simpson": 16,
    "particles": 10,
    "pivoted": 16,
}


def total(function: Any) -> Any:
    return lambda *args: sum(fnp.sum(leaf) for leaf in fx.tree.leaves(function(*args)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str):
    program = PROGRAMS[name]
    function, written = program.python(LIBRARY), fx.jit(program.lax(LIBRARY))
    jitted = follow(function)
    for args in (program.arguments, *program.more):
        expected = function(*args)
        for found in (jitted(*args), written(*args)):  # which end where rounding errors let them
            for one, other in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    known = paths(jitted)
    assert known <= WAYS[name]
    for args in (program.arguments, *program.more):
        jitted(*args)
    assert paths(jitted) == known


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_python(name: str):
    program = PROGRAMS[name]
    function = program.python(LIBRARY)
    wanted = fx.grad(total(function), argnums=tuple(range(len(program.arguments))))(*program.arguments)
    jitted = follow(function)
    found = fx.grad(total(jitted), argnums=tuple(range(len(program.arguments))))
    for _ in range(2):  # while the ways are staged, and when they are known
        for one, other in zip(found(*program.arguments), wanted):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10 * np.max(np.abs(other)))
