"""Reductions of the arrays of several processes.

The result has the operands' dtype, and is that of NumPy's binary function: `True + True` is True, and the maximum of a
number and NaN is NaN. Floats of less than 32 bits are summed in float32 and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DTypeError, UnsupportedError

UFUNCS = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
BITWISE = {"and", "or", "xor"}

# Entry by entry on bytes that are 0 or 1, booleans have few different reductions.
OF_BOOLEANS = {"sum": "or", "max": "or", "or": "or", "prod": "and", "min": "and", "and": "and", "xor": "xor"}


def is_integer(dtype: np.dtype) -> bool:
    """Whether a dtype is one of integers, among them those of four bits or less."""
    return dtype.kind in "iu" or dtype.name.startswith(("int", "uint"))


def check_reduction(operation: str, op: str, dtype: np.dtype) -> None:
    """Raise where there is no such reduction, or none of this dtype."""
    if op not in UFUNCS:
        raise UnsupportedError(
            f"{operation}: there is no reduction {op!r}", hint=f"one of {', '.join(UFUNCS)}"
        )
    if op in BITWISE and not (dtype.kind == "b" or is_integer(dtype)):
        raise DTypeError(
            f"{operation}: {op!r} is for integers and booleans, not {dtype}",
            hint='op="sum", "max" or "min", or x.astype(int)',
        )
    if op in ("max", "min") and dtype.kind == "c":
        raise DTypeError(f"{operation}: complex numbers have no {op}imum", hint="reduce abs(x)")
    if op == "mean" and (dtype.kind == "b" or is_integer(dtype)):
        raise DTypeError(f"{operation}: the mean of {dtype} is not of this dtype", hint="x.astype(float)")


def working_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which entries of a dtype are reduced."""
    if is_integer(dtype):
        return dtype if dtype.kind in "iu" else np.dtype(np.int8)
    return dtype if dtype.kind in "bc" or dtype.itemsize >= 4 else np.dtype(np.float32)


def reduce_rows(rows: Any, op: str, out: Any) -> None:
    """Write into `out` the reduction of rows (members, entries), which are taken in their order."""
    ufunc, wide = UFUNCS[op], working_dtype(rows.dtype)
    with np.errstate(all="ignore"):  # as in MPI
        total = out if wide == rows.dtype else np.empty_like(out, dtype=wide)
        total[...] = rows[0]
        for row in rows[1:]:
            ufunc(total, row.astype(wide, copy=False), out=total)
        if op == "mean":
            np.divide(total, len(rows), out=total)
        if total is not out:
            out[...] = total.astype(rows.dtype)
