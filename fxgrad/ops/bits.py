"""The bits of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import Aval
from ..core.errors import ShapeError, UnsupportedError
from .kinds import general

if TYPE_CHECKING:
    from collections.abc import Callable


def reread(x: Any, dtype: np.dtype) -> tuple[int, ...]:
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
        raise UnsupportedError(f"bitcast has no kernel for {xp.__name__}")

    def bitcast(x: Any, *, dtype: np.dtype) -> Any:
        return xp.ascontiguousarray(x).reshape(-1).view(dtype).reshape(reread(x, dtype))

    return bitcast


bitcast = general(
    "bitcast",
    bitcast_kernel,
    abstract=lambda self, x, *, dtype: Aval(reread(x, dtype), dtype),
    tangent=None,
    batched=lambda x, *, size, dtype: bitcast(x, dtype=dtype),
)
