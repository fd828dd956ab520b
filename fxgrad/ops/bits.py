"""Operations on the bits of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.common_errors import no_kernel
from ..core.errors import DTypeError, ShapeError
from .kinds import elementwise, general


def bitcast_shape(x: Any, dtype: np.dtype) -> tuple[int, ...]:
    """The shape of an array whose bits are read as another dtype: numbers of another size gain or lose a last axis."""
    ratio, rest = divmod(x.dtype.itemsize, dtype.itemsize)
    if not rest:
        return x.shape if ratio == 1 else (*x.shape, ratio)
    ratio, rest = divmod(dtype.itemsize, x.dtype.itemsize)
    if rest or x.shape[-1:] != (ratio,):
        raise ShapeError(
            f"numbers of {x.dtype} and shape {tuple(x.shape)} have not the bits of numbers of {dtype}",
            hint=f"a last axis of length {ratio}",
        )
    return x.shape[:-1]


def bitcast_kernel(xp: Any) -> Callable:
    if not hasattr(xp, "ndarray"):
        raise no_kernel("bitcast", xp)

    def bitcast(x: Any, *, dtype: np.dtype) -> Any:
        return xp.ascontiguousarray(x).reshape(-1).view(dtype).reshape(bitcast_shape(x, dtype))

    return bitcast


bitcast = general(
    "bitcast",
    bitcast_kernel,
    abstract_rule=lambda self, x, *, dtype: Aval(bitcast_shape(x, dtype), dtype),
    tangent_rule=None,
    batch_rule=lambda x, *, size, dtype: bitcast(x, dtype=dtype),
)


MANTISSAS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}  # stored bits


def reduce_precision_kernel(xp: Any) -> Callable:
    if not hasattr(xp, "ndarray"):
        raise no_kernel("reduce_precision", xp)

    def reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
        x = xp.asarray(x)
        if x.dtype.name not in MANTISSAS:
            raise DTypeError(
                f"reduce_precision is for real floating-point numbers, not {x.dtype}",
                hint="x.astype(float), or the real and imaginary parts one after the other",
            )
        mantissa, width = MANTISSAS[x.dtype.name], x.dtype.itemsize * 8
        sign = 1 << (width - 1)
        bits = xp.ascontiguousarray(x).reshape(-1).view(f"u{x.dtype.itemsize}")
        size = bits & (sign - 1)
        drop = mantissa - mantissa_bits
        if drop > 0:  # halves to even; a carry goes on into the exponent
            size = (size + ((size >> drop) & 1) + ((1 << (drop - 1)) - 1)) >> drop << drop
        own, wanted = width - 2 - mantissa, exponent_bits - 1
        if wanted < own:
            middle, reach = (1 << own) - 1, (1 << wanted) - 1
            size = xp.where(size >> mantissa > middle + reach, (2 * middle + 1) << mantissa, size)
            size = xp.where(size >> mantissa <= middle - reach, 0, size)
        reduced = (size | (bits & sign)).astype(bits.dtype).view(x.dtype).reshape(x.shape)
        return xp.where(x != x, x, reduced)[()]

    return reduce_precision


# Numbers rounded to a format of fewer bits, in their own. The derivative is that of the identity: rounding is seen as
# noise, not as steps.
reduce_precision = elementwise(
    "reduce_precision",
    lambda t, y, x, *, exponent_bits, mantissa_bits: t,
    kernel=reduce_precision_kernel,
    finite=True,
    static=("exponent_bits", "mantissa_bits"),
)
