"""Type promotion of the operands of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import SCALARS, aval_of, kind_of, ops
from .._core.dtypes import _default_dtype, cast_number, default_numpy_dtype, result_numpy_dtype
from .._core.precision import is_number


def float_dtype(dtype) -> Any:
    """The dtype in which functions like sin compute: integers go to the default dtype."""
    return dtype if kind_of(dtype) in "fc" else _default_dtype[0].numpy


def promote_values(values: Sequence[Any], rule: str, exact_numbers: bool = False) -> list[Any]:
    """Convert operands to torch's common dtype. `rule`: "arithmetic"; "float" (integers become the default dtype);
    "number" (as arithmetic, but bool becomes int64); "comparison" (as arithmetic, but the result is boolean); "choice"
    (as arithmetic, but numbers that may be the result have to be in the range of the dtype). With `exact_numbers` those
    beside half precision stay as they are: it is computed in single precision, to which they are rounded."""
    dtype = result_numpy_dtype(values)
    if rule == "float":
        dtype = float_dtype(dtype)
    elif rule == "number" and dtype.kind == "b":
        dtype = default_numpy_dtype("i")
    exact_numbers = exact_numbers and dtype.kind not in "biu" and dtype.itemsize == 2
    if rule == "choice" and not exact_numbers:
        values = [cast_number(v, dtype) if type(v) in SCALARS else v for v in values]
    return [
        v
        if v is None or (exact_numbers and is_number(v)) or (type(v) is np.ndarray and v.dtype is dtype)
        else convert_value(v, dtype)
        for v in values
    ]


def convert_value(value, dtype) -> Any:
    """Convert a value to a NumPy dtype; numbers become arrays without axes."""
    if type(value) in SCALARS:
        return np.asarray(value).astype(dtype)
    aval = aval_of(value)
    return value if aval.dtype == dtype and not aval.weak else ops.convert(value, dtype=dtype)
