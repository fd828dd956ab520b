"""The normal distribution function in the precision of its operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.costs import CACHE_ENTRIES
from . import special

# Of q in 2·Φ(x) − 1 = tanh(x·q(x²)), to 2.5e-7 of the result, rounding included, for x² up to LIMIT, where it is 1.
TANH_FORM = tuple(
    np.float32(c)
    for c in (
        1.56732442e-9,
        -1.25258773e-7,
        3.87307984e-6,
        -5.47818301e-5,
        -3.3911064e-5,
        0.036334348,
        0.797884637,
    )
)
LIMIT = np.float32(31.205)


def normal_cdf_kernel(xp: Any) -> Any:
    """Return the kernel of the normal distribution function; single precision is computed from tanh."""
    exact = special.real_kernel(special.normal_cdf, "normal_cdf")(xp)

    def cdf_float32(x: Any) -> Any:
        """Compute in single precision from tanh, which NumPy has vectorized: it takes a twentieth of the time."""
        flat = x.reshape(-1)
        y = np.empty_like(flat)
        square = np.empty(min(len(flat), CACHE_ENTRIES), x.dtype)
        for start in range(0, len(flat), CACHE_ENTRIES):
            part = slice(start, start + CACHE_ENTRIES)
            here, out = flat[part], y[part]
            u = square[: len(here)]
            np.multiply(here, here, out=u)
            np.clip(u, 0, LIMIT, out=u)  # a third of the time of minimum
            np.multiply(u, TANH_FORM[0], out=out)
            for c in TANH_FORM[1:-1]:
                out += c
                out *= u
            out += TANH_FORM[-1]
            out *= here
            np.tanh(out, out=out)
            out *= np.float32(0.5)
            out += np.float32(0.5)
        return y.reshape(x.shape)

    return lambda x: cdf_float32(x) if xp is np and x.dtype == np.float32 and x.ndim else exact(x)
