"""Scenarios: functions of the library, run under torch and under fxgrad.compat, whose outcomes must be the same.

An outcome is what the function returns (Tensors by value, dtype, and whether they require a gradient), or the class and
the first line of the error that it raises.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS, as_numpy


def described(result):
    """An outcome in terms that do not depend on the library."""
    if isinstance(result, torch.Tensor | fxt.Tensor):
        return str(result.dtype), result.requires_grad, as_numpy(result)
    if isinstance(result, tuple | list):
        return tuple(described(r) for r in result)
    if isinstance(result, dict):
        return {key: described(r) for key, r in result.items()}
    return result


def outcome(scenario, library):
    """What a scenario returns or raises."""
    try:
        return described(scenario(library))
    except (*ERRORS, AssertionError) as error:
        kind = next(cls for cls in (*ERRORS, AssertionError) if isinstance(error, cls))
        return "raises", kind.__name__, str(error).partition("\n")[0].strip()


def check_alike(ours, theirs, tol: float = 1e-6) -> None:
    """Equal structure and equal values."""
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (ours, theirs)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=tol, atol=tol)
    elif isinstance(theirs, tuple):
        assert isinstance(ours, tuple), (ours, theirs)
        assert len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs):
            check_alike(a, b, tol)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            check_alike(ours[key], theirs[key], tol)
    else:
        assert ours == theirs


def check(scenario) -> None:
    """The outcomes of a scenario are the same."""
    check_alike(outcome(scenario, fxt), outcome(scenario, torch))


class Scenarios:
    """The scenarios of a file: a decorator that collects them, and the parametrization of the test that runs them."""

    def __init__(self) -> None:
        self.found: list = []

    def __call__(self, scenario):
        self.found.append(scenario)
        return scenario

    def each(self):
        """To decorate the test, which has one parameter `scenario`."""
        return pytest.mark.parametrize("scenario", self.found, ids=[f.__name__ for f in self.found])


@pytest.fixture
def double():
    """Numbers are of double precision unless a test says otherwise."""
    libraries = torch, fxt
    before = [library.get_default_dtype() for library in libraries]
    for library in libraries:
        library.set_default_dtype(library.float64)
    yield
    for library, dtype in zip(libraries, before):
        library.set_default_dtype(dtype)
