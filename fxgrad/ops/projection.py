"""Broadcasting and promotion of derivatives: from a cotangent of the result to one of the operand, and from a tangent
of the operand to one of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of, kind_of
from ..core.cache import Cache
from ..core.costs import SUMMED_BY_ONES
from ..core.interpreter import CURRENT
from .masked import Masked, Support, densify
from .vocabulary import ops

add_reduce = np.add.reduce
BLAS_DTYPES = {np.dtype("f4"), np.dtype("f8"), np.dtype("c8"), np.dtype("c16")}
ONES = Cache(64)


def sum_rows(array: np.ndarray) -> Any:
    """Sum an array over its first axis. A product with a row of ones takes a third of the time of small sums."""
    dtype, count = array.dtype, len(array)
    if array.ndim != 2 or dtype not in BLAS_DTYPES or not 1 < count <= SUMMED_BY_ONES:
        return add_reduce(array, 0)
    row = ONES.get((count, dtype))
    if row is None:
        row = ONES[count, dtype] = np.ones(count, dtype)
    return row.dot(array)


def sum_to_shape(array: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Sum an array over the axes along which that shape was broadcast to its own."""
    have = array.shape
    if have == shape:
        return array
    extra = len(have) - len(shape)
    if have[extra:] == shape:
        if extra == 1:
            return sum_rows(array)
        return add_reduce(array, tuple(range(extra)))
    axes = (*range(extra), *(i for i, n in enumerate(shape, extra) if n == 1 and have[i] != 1))
    return add_reduce(array, axes).reshape(shape)


def project(ct: Any, aval: Aval) -> Any:
    """Turn a cotangent of a broadcast, promoted operand into one of the operand itself: it is summed over the
    broadcast axes, its real part is taken if the operand is real, and it is converted to the operand's dtype."""
    if type(ct) is np.ndarray and ct.dtype is aval.dtype and CURRENT.get().observer is None:
        return sum_to_shape(ct, aval.shape)
    masked: Any = ct if type(ct) is Masked else None
    value = masked.value if masked else ct
    shape = getattr(value, "shape", ())
    if shape != aval.shape:
        extra = len(shape) - len(aval.shape)
        axes = (*range(extra), *(i for i, n in enumerate(aval.shape, extra) if n == 1 and shape[i] != 1))
        value = ops.reshape(ops.reduce_sum(densify(ct), axes=axes), shape=aval.shape)
        if masked:

            def reduce_mask(mask: Any) -> Any:
                return ops.reshape(
                    ops.reduce_any(ops.broadcast_to(mask, shape=shape), axes=axes), shape=aval.shape
                )

            masked = Masked(value, Support(reduce_mask, masked.support), True)
    dtype = aval_of(value).dtype
    if dtype != aval.dtype:
        if kind_of(dtype) == "c" and kind_of(aval.dtype) != "c":
            value = ops.real(value)
        value = ops.convert(value, dtype=aval.dtype)
    return Masked(value, masked.support, masked.clean) if masked else value


def promote_tangent(tangent: Any, aval: Aval) -> Any:
    """Turn a tangent of one operand into one of the result: it is converted (by the real part of a complex one) and
    broadcast."""
    have = aval_of(tangent)
    if have.dtype != aval.dtype or have.weak:
        if kind_of(have.dtype) == "c" and kind_of(aval.dtype) != "c":
            tangent = ops.real(tangent)
        tangent = ops.convert(tangent, dtype=aval.dtype)
    return tangent if have.shape == aval.shape else ops.broadcast_to(tangent, shape=aval.shape)
