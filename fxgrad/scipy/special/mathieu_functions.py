"""Mathieu functions, with derivatives with respect to the last operand.

SciPy's functions give a solution of a differential equation of the second order and its derivative, so the equation
gives the derivative of the latter (https://dlmf.nist.gov/28.2.E1, 28.20.E1).
"""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ops
from .declare import REFUSED, F, result_of, tuple_of

DEGREE = math.pi / 180


def solution_of(equation: Callable[..., Any], at: tuple, source: str, scale: float = 1.0) -> Callable[[F], F]:
    """Declare a solution y of y″ = equation(m, q, x)·y with its derivative; x is measured in units of 1/scale."""

    def declare(body: F) -> F:
        def first(t: Any, y: Any, *xs: Any) -> Any:
            return t * (scale * slope(*xs))

        def second(t: Any, p: Any, *xs: Any) -> Any:
            return t * (scale * equation(*xs) * value(*xs))

        value = result_of(body.__name__, 0, REFUSED, REFUSED, first, operands="m q x")
        slope = result_of(body.__name__, 1, REFUSED, REFUSED, second, operands="m q x")
        return tuple_of(value, slope, at=at, source=source)(body)

    return declare


mathieu_even = result_of("mathieu_a", None, REFUSED, REFUSED, operands="m q")
mathieu_odd = result_of("mathieu_b", None, REFUSED, REFUSED, operands="m q")


def angular_solution(characteristic: Callable[..., Any]) -> Callable[[F], F]:
    """Declare a solution of y″ = (2q·cos 2x − a)·y, for x in degrees."""

    def equation(m: Any, q: Any, x: Any) -> Any:
        return 2 * q * ops.cos(2 * DEGREE * x) - characteristic(m, q)

    return solution_of(equation, (2, 1, 30.0), "https://dlmf.nist.gov/28.2", DEGREE)


def modified_solution(characteristic: Callable[..., Any]) -> Callable[[F], F]:
    """Declare a solution of y″ = (a − 2q·cosh 2x)·y."""

    def equation(m: Any, q: Any, x: Any) -> Any:
        return characteristic(m, q) - 2 * q * fnp.cosh(2 * x)

    return solution_of(equation, (2, 1, 0.7), "https://dlmf.nist.gov/28.20")


# -- Mathieu's functions ------------------------------------------
@angular_solution(mathieu_even)
def mathieu_cem(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The even Mathieu function of order m and parameter q at x degrees, and its derivative by the radian."""


@angular_solution(mathieu_odd)
def mathieu_sem(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The odd Mathieu function of order m and parameter q at x degrees, and its derivative by the radian."""


@modified_solution(mathieu_even)
def mathieu_modcem1(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The even modified Mathieu function of the first kind, and its derivative."""


@modified_solution(mathieu_even)
def mathieu_modcem2(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The even modified Mathieu function of the second kind, and its derivative."""


@modified_solution(mathieu_odd)
def mathieu_modsem1(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The odd modified Mathieu function of the first kind, and its derivative."""


@modified_solution(mathieu_odd)
def mathieu_modsem2(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The odd modified Mathieu function of the second kind, and its derivative."""


__all__ = [
    "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2", "mathieu_sem",
]  # fmt: skip
