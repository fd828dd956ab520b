"""torch.special: Bessel and Airy functions, and orthogonal polynomials.

torch has no derivatives of these; here they have derivatives of every order.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ... import numpy as fnp
from ...extend import Elementwise, bessel_kernels, ops, orthogonal_polynomials, real_kernel
from .._core.primitives import declare_primitive
from .._declare.operation import operation
from .declarers import unary

REAL: dict[str, Any] = {"spaces": "special", "inplace": False}


# -- Bessel functions ------------------------------------------
def bessel_slope(t, y, x, *, family: str, order: int, scaled: bool) -> Any:
    """The derivative, where C₋₁ = -C₁ of J and Y, and K₋₁ = K₁."""

    def of_order(n, x) -> Any:
        value = bessel(x, family=family, order=abs(n), scaled=scaled)
        return -value if n < 0 and family != "K" else value

    if family == "K":
        return t * ((y if scaled else 0) - ops.middle_sum(of_order, order, x))
    return t * ops.middle_difference(of_order, order, x)


bessel = declare_primitive(
    Elementwise,
    "bessel",
    real_kernel(bessel_kernels.bessel, "bessel"),
    (bessel_slope,),
    static=("family", "order", "scaled"),
)


def airy_slope(t, y, x, *, slope: bool) -> Any:
    """Ai″(x) = x·Ai(x)."""
    return t * (x * airy(x, slope=False) if slope else airy(x, slope=True))


airy = declare_primitive(
    Elementwise, "airy", real_kernel(bessel_kernels.airy, "airy"), (airy_slope,), static=("slope",)
)


def declare_bessel(name: str, doc: str, family: str, order: int, scaled: bool = False) -> None:
    operand = "x" if scaled else "input"  # as in torch
    function = partial(bessel, family=family, order=order, scaled=scaled)
    unary(f"special_{name}", function, doc, operand=operand, **REAL)


for n in (0, 1):
    declare_bessel(f"bessel_j{n}", f"The Bessel function of the first kind of order {n}.", "J", n)
    declare_bessel(
        f"bessel_y{n}", f"The Bessel function of the second kind of order {n}, NaN for x < 0.", "Y", n
    )
    declare_bessel(
        f"modified_bessel_k{n}", f"The modified Bessel function of the second kind of order {n}.", "K", n
    )
    declare_bessel(f"scaled_modified_bessel_k{n}", f"eˣ·K{'₀₁'[n]}(x).", "K", n, scaled=True)
    unary(
        f"special_modified_bessel_i{n}",
        lambda x, n=n: ops.bessel_i(x, order=n),
        f"The modified Bessel function of the first kind of order {n}.",
        **REAL,
    )
unary(
    "special_airy_ai",
    lambda x: airy(x, slope=False),
    "Airy's function Ai of each entry.",
    operand="x",
    **REAL,
)


def sine_quotient(x) -> Any:
    """sin(x)/x, by the series near 0, where the quotient has no derivative."""
    near = ops.less(ops.absolute(x), 0.5)
    infinite = ops.isinf(x)
    quotient = ops.sin(ops.where(infinite, 0, x)) / ops.where(near, 1, x)
    return ops.where(near, fnp.sinc(ops.where(near, x, 0) / math.pi), quotient)


unary(
    "special_spherical_bessel_j0",
    sine_quotient,
    "The spherical Bessel function sin(x)/x, 1 at 0.",
    operand="x",
    **REAL,
)


# -- orthogonal polynomials ------------------------------------------
polynomial = declare_primitive(
    Elementwise,
    "orthogonal_polynomial",
    real_kernel(orthogonal_polynomials.orthogonal_polynomial, "orthogonal_polynomial"),
    (lambda t, y, x, n, *, family, order: t * polynomial(x, n, family=family, order=order + 1), None),
    static=("family", "order"),
)


def declare_polynomial(name: str) -> None:
    words = name.split("_")
    kind = f"{words[-1].upper() if len(words[-1]) == 1 else words[-1].title()}ₙ(x)"
    author = words[-3].title()
    where = " of 2x - 1" if words[0] == "shifted" else ""

    def compute(x, n) -> Any:
        return polynomial(x, n, family=name, order=0)

    compute.__doc__ = (
        f"{author}'s polynomial {kind}{where} of degree n, 0 for n < 0. "
        "What is between whole numbers is rounded to 0."
    )
    compute.__name__ = compute.__qualname__ = f"special_{name}"
    operation("x n", promote="float", numbers="x n", spaces="special")(compute)


for name in orthogonal_polynomials.FAMILIES:
    declare_polynomial(name)
