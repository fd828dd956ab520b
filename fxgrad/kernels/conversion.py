"""The conversion of NumPy's arrays to other dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.costs import SCANNED_ENTRIES
from .registry import native_function

HALVES = frozenset({"bfloat16", "float16"})


def goes_by_number(source: Aval, dtype: Any) -> bool:
    """Whether NumPy converts an array number by number: a large one, to or from half precision."""
    return source.size >= SCANNED_ENTRIES and (source.dtype.name in HALVES) is not (dtype.name in HALVES)


def convert(x: Any, dtype: Any) -> Any:
    """Return an array of NumPy's in another dtype."""
    if type(x) is np.ndarray and x.size >= SCANNED_ENTRIES and goes_by_number(aval_of(x), dtype):
        y = native_function("entrywise.convert_entries")(x, dtype)
        if y is not None:
            return y
    return x.astype(dtype)
