"""NumPy's `emath`: functions whose results are complex where real results do not exist. Values must be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..core.face import show_public_names
from ..core.typing import Array, ArrayLike
from .composite import composite, kind, known_value, operand
from .elementwise import power as real_power
from .ufuncs import arccos as real_arccos
from .ufuncs import arcsin as real_arcsin
from .ufuncs import arctanh as real_arctanh
from .ufuncs import divide
from .ufuncs import log as real_log
from .ufuncs import log2 as real_log2
from .ufuncs import log10 as real_log10
from .ufuncs import sqrt as real_sqrt


def widen(x: Any, is_outside: Callable[[Any], Any], name: str) -> Any:
    """Return x as complex numbers if an entry is outside of where the real function is defined."""
    x = operand(x)
    if kind(x) == "c":
        return x
    values = known_value(x, f"emath.{name}", f"fnp.{name}(x), or fnp.{name}(x + 0j)")
    return ops.add(x, 0j) if np.any(is_outside(np.asarray(values))) else x


def is_negative(x: Any) -> Any:
    return x < 0


def is_beyond_one(x: Any) -> Any:
    return np.abs(x) > 1


@composite(np.emath.sqrt)
def sqrt(x: ArrayLike) -> Array:
    """√x, complex if an entry is negative.

    >>> float(fx.grad(lambda x: np.emath.sqrt(x).imag)(-4.0))
    -0.25
    """
    return real_sqrt(widen(x, is_negative, "sqrt"))


@composite(np.emath.log)
def log(x: ArrayLike) -> Array:
    """The logarithm of x, complex if an entry is negative.

    >>> fnp.emath.log(-1.0).imag.round(6)
    np.float64(3.141593)
    """
    return real_log(widen(x, is_negative, "log"))


@composite(np.emath.log2)
def log2(x: ArrayLike) -> Array:
    """The logarithm of x to base 2, complex if an entry is negative.

    >>> fnp.emath.log2(-8.0).real.round(6)
    np.float64(3.0)
    """
    return real_log2(widen(x, is_negative, "log2"))


@composite(np.emath.log10)
def log10(x: ArrayLike) -> Array:
    """The logarithm of x to base 10, complex if an entry is negative.

    >>> fnp.emath.log10(-100.0).real.round(6)
    np.float64(2.0)
    """
    return real_log10(widen(x, is_negative, "log10"))


@composite(np.emath.logn)
def logn(n: ArrayLike, x: ArrayLike) -> Array:
    """The logarithm of x to base n, complex if an entry of either is negative.

    >>> fnp.emath.logn(2, 8.0).round(6)
    np.float64(3.0)
    """
    return divide(log(x), log(n))


@composite(np.emath.power)
def power(x: ArrayLike, p: ArrayLike) -> Array:
    """x to the power of p, complex if an entry of x is negative.

    >>> fnp.emath.power(-4.0, 0.5).imag.round(6)
    np.float64(2.0)
    """
    x, p = widen(x, is_negative, "power"), operand(p)
    return real_power(x, ops.convert(p, dtype=np.dtype(float)) if kind(p) in "iu" and is_falling(p) else p)


def is_falling(p: Any) -> bool:
    """Whether an exponent is negative."""
    return bool(np.any(np.asarray(known_value(p, "emath.power", "fnp.power(x, p)")) < 0))


@composite(np.emath.arccos)
def arccos(x: ArrayLike) -> Array:
    """The inverse cosine, complex if the absolute value of an entry is greater than 1.

    >>> fnp.emath.arccos(2.0).imag.round(6)
    np.float64(-1.316958)
    """
    return real_arccos(widen(x, is_beyond_one, "arccos"))


@composite(np.emath.arcsin)
def arcsin(x: ArrayLike) -> Array:
    """The inverse sine, complex if the absolute value of an entry is greater than 1.

    >>> fnp.emath.arcsin(2.0).real.round(6)
    np.float64(1.570796)
    """
    return real_arcsin(widen(x, is_beyond_one, "arcsin"))


@composite(np.emath.arctanh)
def arctanh(x: ArrayLike) -> Array:
    """The inverse hyperbolic tangent, complex if the absolute value of an entry is greater than 1.

    >>> fnp.emath.arctanh(2.0).real.round(6)
    np.float64(0.549306)
    """
    return real_arctanh(widen(x, is_beyond_one, "arctanh"))


__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]

show_public_names(__name__)
