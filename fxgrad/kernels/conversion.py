"""The conversion of NumPy's arrays to other dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.costs import SCANNED_ENTRIES, SHARED_ENTRIES
from .registry import native_function

REAL = frozenset("biuf")
HALVES = frozenset({"bfloat16", "float16"})


def is_for_machine_code(source: Aval, dtype: Any) -> bool:
    """Whether machine code is to convert an array: a large one to or from half precision, where NumPy goes number by
    number, and one so large that threads share it."""
    if source.size < SCANNED_ENTRIES:
        return False
    if (source.dtype.name in HALVES) is not (dtype.name in HALVES):
        return True
    return source.size >= SHARED_ENTRIES and source.dtype.kind in REAL and dtype.kind in REAL


def convert(x: Any, dtype: Any) -> Any:
    """Return an array of NumPy's in another dtype."""
    if type(x) is np.ndarray and x.size >= SCANNED_ENTRIES and is_for_machine_code(aval_of(x), dtype):
        y = native_function("entrywise.convert_entries")(x, dtype)
        if y is not None:
            return y
    return x.astype(dtype)
