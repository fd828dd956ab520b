"""The conversion of arrays to other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import arrays
from ..core.aval import Aval, aval_of
from ..core.costs import SCANNED_ENTRIES
from .registry import native_function

HALVES = frozenset({"bfloat16", "float16"})


def goes_by_number(source: Aval, dtype: Any) -> bool:
    """Whether NumPy converts an array number by number: a large one, to or from half precision."""
    return source.size >= SCANNED_ENTRIES and (source.dtype.name in HALVES) is not (dtype.name in HALVES)


def conversion_kernel(xp: Any) -> Callable[..., Any]:
    """Make the kernel that converts arrays, and numbers."""

    def convert(x: Any, *, dtype: Any) -> Any:
        if type(x) in (bool, int, float, complex):
            return np.asarray(x).astype(dtype)[()]
        if xp is not np:
            return xp.astype(x, arrays.dtype_in(xp, dtype))
        if type(x) is np.ndarray and x.size >= SCANNED_ENTRIES and goes_by_number(aval_of(x), dtype):
            y = native_function("entrywise.convert_entries")(x, dtype)
            if y is not None:
                return y
        return x.astype(dtype)

    return convert
