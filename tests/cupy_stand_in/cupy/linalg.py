"""CuPy's linear algebra. It does not wait for the device to say that a matrix is singular: results are NaN."""

from __future__ import annotations

import functools

import numpy as np
from numpy.linalg import LinAlgError

from ._array import ndarray
from ._functions import FUNCTIONS


def without_errors(name: str, function):
    """Return the function, whose results are NaN where NumPy raises LinAlgError."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        for x in args:
            if isinstance(x, ndarray) and x.dtype == np.float16:
                raise TypeError("unsupported dtype float16 (actual: float16)")
        if name not in RESULTS:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except LinAlgError as error:
            if "must be" in str(error):
                raise
            # A matrix at a time, so that one that is singular does not spoil the others.
            a = args[0]
            if a.ndim == 2:
                rest = args[1:2]
                like = rest[0] if rest else a
                return like * 0 + np.nan
            import cupy

            rest = args[1:2]
            parts = [call(a[i], *(r[i] for r in rest), *args[2:], **kwargs) for i in range(len(a))]
            return cupy.stack(parts)

    return call


RESULTS = {"cholesky", "inv", "solve"}


def with_complex_results(function):
    """Return the function, whose results are complex for real matrices, too, and for all their values."""

    def call(a):
        return function(
            a if a.dtype.kind == "c" else a.astype(np.complex64 if a.dtype == np.float32 else complex)
        )

    return call


globals().update({name: without_errors(name, f) for name, f in FUNCTIONS["cupy.linalg"].items()})
eig, eigvals = map(
    with_complex_results, (FUNCTIONS["cupy.linalg"]["eig"], FUNCTIONS["cupy.linalg"]["eigvals"])
)
