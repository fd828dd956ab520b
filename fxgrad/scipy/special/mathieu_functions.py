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
from .declare import NO_CLOSED_FORM, result_of, tuple_of

REFUSED = NO_CLOSED_FORM
DEGREE = math.pi / 180


def solution_of(
    name: str, equation: Callable[..., Any], scale: float = 1.0
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Declare a solution y of y″ = equation(m, q, x)·y, and its derivative; x is measured in units of 1/scale."""

    def first(t: Any, y: Any, *xs: Any) -> Any:
        return t * (scale * slope(*xs))

    def second(t: Any, p: Any, *xs: Any) -> Any:
        return t * (scale * equation(*xs) * value(*xs))

    value = result_of(name, 0, REFUSED, REFUSED, first, operands="m q x")
    slope = result_of(name, 1, REFUSED, REFUSED, second, operands="m q x")
    return value, slope


mathieu_even = result_of("mathieu_a", None, REFUSED, REFUSED, operands="m q")
mathieu_odd = result_of("mathieu_b", None, REFUSED, REFUSED, operands="m q")


# -- Mathieu's functions ------------------------------------------
def angular_equation(characteristic: Callable[..., Any]) -> Callable[..., Any]:
    """2q·cos 2x − a, for x in degrees."""
    return lambda m, q, x: 2 * q * ops.cos(2 * DEGREE * x) - characteristic(m, q)


def modified_equation(characteristic: Callable[..., Any]) -> Callable[..., Any]:
    """a − 2q·cosh 2x."""
    return lambda m, q, x: characteristic(m, q) - 2 * q * fnp.cosh(2 * x)


@tuple_of(*solution_of("mathieu_cem", angular_equation(mathieu_even), DEGREE), at=(2, 1, 30.0))
def mathieu_cem(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The even Mathieu function of order m and parameter q at x degrees, and its derivative by the radian.

    Source: https://dlmf.nist.gov/28.2.
    """


@tuple_of(*solution_of("mathieu_sem", angular_equation(mathieu_odd), DEGREE), at=(2, 1, 30.0))
def mathieu_sem(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The odd Mathieu function of order m and parameter q at x degrees, and its derivative by the radian.

    Source: https://dlmf.nist.gov/28.2.
    """


@tuple_of(*solution_of("mathieu_modcem1", modified_equation(mathieu_even)), at=(2, 1, 0.7))
def mathieu_modcem1(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The even modified Mathieu function of the first kind, and its derivative.

    Source: https://dlmf.nist.gov/28.20.
    """


@tuple_of(*solution_of("mathieu_modcem2", modified_equation(mathieu_even)), at=(2, 1, 0.7))
def mathieu_modcem2(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The even modified Mathieu function of the second kind, and its derivative.

    Source: https://dlmf.nist.gov/28.20.
    """


@tuple_of(*solution_of("mathieu_modsem1", modified_equation(mathieu_odd)), at=(2, 1, 0.7))
def mathieu_modsem1(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The odd modified Mathieu function of the first kind, and its derivative.

    Source: https://dlmf.nist.gov/28.20.
    """


@tuple_of(*solution_of("mathieu_modsem2", modified_equation(mathieu_odd)), at=(2, 1, 0.7))
def mathieu_modsem2(m: ArrayLike, q: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The odd modified Mathieu function of the second kind, and its derivative.

    Source: https://dlmf.nist.gov/28.20.
    """


__all__ = [
    "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2", "mathieu_sem",
]  # fmt: skip
