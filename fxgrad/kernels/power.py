"""Powers with a number as the exponent.

NumPy multiplies only for squares. Its pow takes as long as a few products for positive bases, and fifty times as long
for others. So an integer power is computed by products, or as the power of |x| with the sign of x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.costs import MULTIPLIED_EXPONENT, NEAR_CACHE_ENTRIES
from ..core.fp_errors import is_silent

NARROW = {np.dtype(np.float16), np.dtype(np.float32)}
DOUBLE = np.dtype(np.float64)


def real_power(x: np.ndarray, p: float) -> Any:
    """Return xᵖ of a real floating array. Cubes and inverse squares are rounded twice, as torch has them (to 1.3 ulp;
    inverse squares that are subnormal become 0); other whole powers of narrow dtypes are products in double precision,
    rounded once; all else is as exact as NumPy's pow."""
    if p == 3:
        return x * x * x
    if -1 <= p <= 2 or p % 1:  # NumPy's own: x, x², 1/x, √x and what is no product
        return x**p
    if p == -2 and x.itemsize > 2:
        return 1 / (x * x)
    if x.dtype in NARROW and -MULTIPLIED_EXPONENT <= p <= MULTIPLIED_EXPONENT:
        return product_power(x, int(p))
    power = np.abs(x) ** p
    return np.copysign(power, x) if p % 2 else power


def product_power(x: np.ndarray, n: int) -> Any:
    """Return xⁿ of a narrow dtype by products in double precision. Where these would warn, NumPy's pow does."""
    if is_silent():
        return multiply_blocks(x, n)
    loud: Any = {k: "raise" for k, treatment in np.geterr().items() if treatment != "ignore"}
    try:
        with np.errstate(**loud):
            return multiply_blocks(x, n)
    except FloatingPointError:
        return x**n


def multiply_blocks(x: np.ndarray, n: int) -> Any:
    """Return xⁿ, computed block by block where entries lie in a row."""
    if x.size <= NEAR_CACHE_ENTRIES or not x.flags.c_contiguous:
        return repeat_product(x.astype(DOUBLE), n).astype(x.dtype)
    y = np.empty_like(x)
    flat, out = x.reshape(-1), y.reshape(-1)
    for start in range(0, x.size, NEAR_CACHE_ENTRIES):
        part = slice(start, start + NEAR_CACHE_ENTRIES)
        out[part] = repeat_product(flat[part].astype(DOUBLE), n)
    return y


def repeat_product(x: np.ndarray, n: int) -> np.ndarray:
    """Return xⁿ by squares, from the first digit of n in base 2 on; x is a private array of doubles."""
    power = x
    for digit in bin(abs(n))[3:]:
        power = power * power
        if digit == "1":
            power *= x
    return np.divide(1, power) if n < 0 else power
