"""Activation functions that neural networks call often; the others are composed of these and of arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import SCALARS, aval_of, kind_of
from ..core.costs import FAR_CACHE_ENTRIES, ROW_ENTRIES
from ..kernels.registry import native_function
from .kinds import elementwise
from .masked import Masked
from .vocabulary import ops


def zero_like(xp: Any, x: Any) -> Any:
    return xp.zeros((), dtype=x.dtype)


def as_floating(xp: Any, x: Any) -> Any:
    """Convert an operand to an array of a floating dtype."""
    if xp is not np:
        return x
    x = np.asarray(x) if type(x) in SCALARS else x
    return x if kind_of(x.dtype) in "fc" else np.true_divide(x, 1)


def is_complex(x: Any) -> bool:
    return x.dtype.kind == "c" if isinstance(x.dtype, np.dtype) else "complex" in str(x.dtype)


def relu_kernel(xp: Any) -> Any:
    def relu(x: Any) -> Any:
        x = np.asarray(x) if type(x) in SCALARS else x
        if xp is np and x.size > ROW_ENTRIES and x.dtype.kind == "f":
            return np.clip(x, 0, np.inf)  # a third of the time
        return xp.maximum(x, zero_like(xp, x))

    return relu


# max(x, 0), with derivative 0 at 0.
relu = elementwise(
    "relu",
    lambda t, y, x: Masked(t, ops.logical_not(ops.less_equal(y, 0))),
    kernel=relu_kernel,
    finite=True,
)


def blockwise_kernel(name: str, formula: Any) -> Any:
    """Return the kernel factory of formula(xp, x), which NumPy computes block by block (intermediate values stay in the
    cache), and machine code, which knows it by the `name` of the primitive, in one pass."""

    def make_kernel(xp: Any) -> Any:
        def kernel(x: Any) -> Any:
            x = as_floating(xp, x)
            if xp is not np or x.size <= ROW_ENTRIES or x.dtype.kind not in "fc":
                return formula(xp, x)
            result = native_function("entrywise.compute_entrywise")(name, x)
            if result is not None:
                return result
            if x.size <= FAR_CACHE_ENTRIES:
                return formula(xp, x)
            result = np.empty(x.shape, x.dtype)
            flat, out = x.reshape(-1), result.reshape(-1)
            for start in range(0, x.size, FAR_CACHE_ENTRIES):
                out[start : start + FAR_CACHE_ENTRIES] = formula(np, flat[start : start + FAR_CACHE_ENTRIES])
            return result

        return kernel

    return make_kernel


def clip_to(xp: Any, x: Any, low: Any, high: Any) -> Any:
    """Clip x to two numbers of its dtype. NumPy compares with one number in a third of the speed of this."""
    if xp is np and x.size > ROW_ENTRIES and x.dtype.kind == "f":
        return np.clip(x, low, high)
    if xp is np:
        low, high = np.asarray(low, x.dtype), np.asarray(high, x.dtype)
    else:  # arrays that are made there, which an array of the host would have to be moved to
        low, high = xp.full((), low, dtype=x.dtype), xp.full((), high, dtype=x.dtype)
    return xp.minimum(xp.maximum(x, low), high)


def exponent_bound(x: Any) -> int:
    """The exponent up to which eˣ is a number of the dtype of x, and from which on eˣ/(1 + eˣ) is 1."""
    return 10 if getattr(x.dtype, "itemsize", 8) == 2 else 80


def clip_exponent(xp: Any, x: Any) -> Any:
    """Clip x so that eˣ is a number of its dtype, at bounds that make no difference to eˣ/(1 + eˣ)."""
    return clip_to(xp, x, -1000, exponent_bound(x))


def logistic_formula(xp: Any, x: Any) -> Any:
    if is_complex(x):
        ahead = xp.real(x) >= 0
        e = xp.exp(xp.where(ahead, -x, x))
        return xp.where(ahead, xp.ones_like(e), e) / (e + 1)
    # Only the upper bound matters here, and few entries are compared with it alone at once.
    few = xp is np and x.size <= ROW_ENTRIES
    e = xp.exp(np.minimum(x, np.asarray(exponent_bound(x), x.dtype)) if few else clip_exponent(xp, x))
    return e / (e + 1)


def logistic_slope(xp: Any, x: Any) -> Any:
    e = xp.exp(-xp.abs(x))
    return e / xp.square(e + 1)


def sigmoid_partial(t: Any, y: Any, x: Any) -> Any:
    """The derivative y·(1 − y), in which 1 − y is not subtracted, since that loses digits near y = 1."""
    if kind_of(aval_of(x).dtype) == "c":
        return t * (y * sigmoid(ops.negative(x)))
    return t * sigmoid_slope(x)


# 1/(1 + e⁻ˣ), and its derivative.
sigmoid = elementwise("sigmoid", sigmoid_partial, kernel=blockwise_kernel("sigmoid", logistic_formula))
sigmoid_slope = elementwise(
    "sigmoid_slope",
    lambda t, y, x: ops.negative(t * (y * ops.tanh(x / 2))),
    kernel=blockwise_kernel("sigmoid_slope", logistic_slope),
)


def swish_slope(xp: Any, x: Any) -> Any:
    """s·(1 + x·(1 − s)) with s = sigmoid(x); 0 at −∞."""
    x = clip_exponent(xp, x)
    e = xp.exp(x)
    rest = 1 / (1 + e)
    return e * rest * (1 + x * rest)


def silu_partial(t: Any, y: Any, x: Any) -> Any:
    if kind_of(aval_of(x).dtype) == "c":  # of which the slopes here know no derivative
        return t * (sigmoid(x) * (1 + x * sigmoid(ops.negative(x))))
    return t * silu_slope(x)


# x·sigmoid(x), and its derivative.
silu = elementwise(
    "silu", silu_partial, kernel=blockwise_kernel("silu", lambda xp, x: x * logistic_formula(xp, x))
)
silu_slope = elementwise(
    "silu_slope",
    lambda t, y, x: t * (sigmoid_slope(x) * (2 - x * ops.tanh(x / 2))),
    kernel=blockwise_kernel("silu_slope", swish_slope),
)


def softplus_kernel(xp: Any) -> Any:
    def kernel(x: Any) -> Any:
        x = as_floating(xp, x)
        if is_complex(x):
            right = x.real > 0
            y = xp.log1p(xp.exp(xp.where(right, -x, x))) + xp.where(right, x, 0)
            return y - 2j * np.pi * xp.round(y.imag / (2 * np.pi))  # the principal value
        return xp.maximum(x, zero_like(xp, x)) + xp.log1p(xp.exp(-xp.abs(x)))

    return kernel


# log(1 + eˣ), without overflow.
softplus = elementwise("softplus", lambda t, y, x: t * sigmoid(x), kernel=softplus_kernel)
