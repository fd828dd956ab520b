"""Broadcasting and promotion of derivatives: a cotangent of the result becomes one of the operand, a tangent the other
way round."""

from __future__ import annotations

from typing import Any

from ..core.aval import Aval, aval_of, kind_of
from .masked import Masked, Support, densify
from .vocabulary import ops


def project(ct: Any, aval: Aval) -> Any:
    """Turn a cotangent of a broadcast, promoted operand into one of the operand itself: it is summed over the
    broadcast axes, its real part is taken if the operand is real, and it is converted to the operand's dtype."""
    masked = ct if type(ct) is Masked else None
    value = ct.value if masked else ct
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

            masked = Masked(value, Support(reduce_mask, ct.support), True)
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
