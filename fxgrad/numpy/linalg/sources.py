"""Sources of derivatives, which docstrings of `numpy.linalg`, `scipy.linalg` and `lax.linalg` cite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...core.docstrings import insert_before_example

F = TypeVar("F", bound="Callable[..., Any]")

DE_HOOG = """\
Source of the derivative: F. de Hoog, R. S. Anderssen and M. A. Lukas, "Differentiation of matrix functionals using
triangular factorization", 2011."""
GILES = """\
Source of the derivative: M. B. Giles, "An extended collection of matrix derivative results for forward and reverse
mode algorithmic differentiation", 2008."""
LANCASTER = """\
Source: P. Lancaster and L. Rodman, Algebraic Riccati Equations, 1995; the derivative is that of the equation, a
linear one of Lyapunov's kind."""
WALTER = """\
Source of the derivative: S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design", 2010."""


def cite(source: str) -> Callable[[F], F]:
    """Put a source into the docstring of a function, before its example."""

    def complete(function: F) -> F:
        text = function.__doc__
        if text is not None:  # as it is under `python -OO`
            function.__doc__ = insert_before_example(text, source)
        return function

    return complete
