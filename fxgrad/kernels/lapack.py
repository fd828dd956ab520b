"""Routines of BLAS and LAPACK that NumPy uses but does not expose: triangular systems, LU and its inverse.

They are called by ctypes, which releases the GIL, in the library that NumPy is linked with (OpenBLAS in its wheels,
Accelerate, MKL, …), or else in SciPy's (`scipy.linalg.cython_lapack`). A library is used if it solves a small test
system. Without one, NumPy computes the same by blocks, and `has_library()` tells callers that NumPy's own functions may
take less time. With FXGRAD_LAPACK=numpy in the environment no library is looked for.

Matrices are in the last two axes, of float32, float64, complex64 or complex128. LAPACK is column-major and reads an
array with contiguous rows as its transpose, so operands are copied only if neither rows nor columns are contiguous.

Names and algorithms are LAPACK's: E. Anderson et al., LAPACK Users' Guide, SIAM 1999.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from ..core.costs import (
    LAPACK_ORDER,
    ONE_THREAD_ENTRIES,
    ONE_THREAD_PRODUCTS,
    STACKED_LAPACK_ORDER,
    TRIANGLE_ORDER,
)

LETTERS = {np.dtype("f4"): "s", np.dtype("f8"): "d", np.dtype("c8"): "c", np.dtype("c16"): "z"}
# How builds spell the name of a routine, and how many bytes its integers may have.
SPELLINGS = (
    ("scipy_{}_64_", (8,)),
    ("{}_64_", (8,)),
    ("{}$NEWLAPACK$ILP64", (8,)),
    ("{}$NEWLAPACK", (4,)),
    ("scipy_{}_", (4,)),
    ("{}_", (8, 4)),
)


# -- the library ------------------------------------------
class Library:
    """Routines by their names, and the dtype of their integers."""

    __slots__ = ("find", "integer", "routines")

    def __init__(self, find: Callable[[str], Any], integer: str):
        self.find, self.integer = find, np.dtype(integer)
        self.routines: dict[str, Any] = {}

    def call(self, name: str, dtype: Any, *arguments: Any) -> int:
        """Call a routine in its version for a dtype, and return the `info` that a routine of LAPACK leaves in its
        last argument. Words are bytes, whose lengths Fortran passes behind the arguments, numbers are integers, and
        an array is passed by its address; an array of integers is of the dtype `integer`."""
        import ctypes

        name = LETTERS[dtype] + name
        routine = self.routines.get(name)
        if routine is None:
            routine = self.routines[name] = self.find(name)
        number = ctypes.c_int64 if self.integer.itemsize == 8 else ctypes.c_int32
        info, lengths, references = number(0), [], []
        for argument in arguments:
            if type(argument) is int:
                references.append(ctypes.byref(number(argument)))
            elif type(argument) is bytes:
                references.append(argument)
                lengths.append(ctypes.c_size_t(1))
            else:
                references.append(ctypes.c_void_p(argument.ctypes.data))
        routine(*references, ctypes.byref(info), *lengths)
        return info.value


def linked_libraries() -> Iterator[Any]:
    """Iterate over the libraries that may contain NumPy's routines: its extension module, whose dependencies are
    searched with it, and on Windows the libraries beside the package."""
    import ctypes
    from pathlib import Path

    package = Path(np.__file__).parent
    extension = getattr(sys.modules.get("numpy.linalg._umath_linalg"), "__file__", None)
    places = [extension] if extension else []
    for folder in (package.parent / "numpy.libs", package / ".libs", package / ".dylibs"):
        places += map(str, sorted(folder.glob("*openblas*")))
    for place in places:
        try:
            yield ctypes.CDLL(place)
        except OSError:
            continue


def scipy_finder() -> Callable[[str], Any]:
    """Return a function that finds SciPy's routines."""
    import ctypes

    modules = [import_module(f"scipy.linalg.cython_{name}") for name in ("blas", "lapack")]
    capsules = {name: capsule for module in modules for name, capsule in module.__pyx_capi__.items()}
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )

    def find(name: str) -> Any:
        return ctypes.CFUNCTYPE(None)(pointer_of(capsules[name], name_of(capsules[name])))

    return find


def candidates() -> Iterator[Library]:
    """Iterate over the libraries that there may be."""

    def finder(linked: Any, spelling: str) -> Callable[[str], Any]:
        def find(name: str) -> Any:
            routine = linked[spelling.format(name)]
            routine.restype = None
            return routine

        return find

    for linked in linked_libraries():
        for spelling, sizes in SPELLINGS:
            yield from (Library(finder(linked, spelling), f"i{size}") for size in sizes)
    yield Library(scipy_finder(), "i4")  # as its documentation says of them


def is_right(library: Library) -> bool:
    """Return whether a library solves a system of order two, after an exchange of rows."""
    try:
        factors, pivots = factor_in(library, np.array([[0.0, 4.0], [2.0, 0.0]]))
        return pivots.tolist() == [1, 1] and factors.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    except (AttributeError, KeyError):  # it has no such routine
        return False


@cache
def find_library() -> Library | None:
    """Return the library of the routines, or None."""
    if os.environ.get("FXGRAD_LAPACK", "") == "numpy":
        return None
    try:
        return next(filter(is_right, candidates()), None)
    except ImportError:  # no ctypes, or no SciPy
        return None


def has_library() -> bool:
    """Return whether there are routines to call."""
    return find_library() is not None


# -- memory by columns ------------------------------------------
def by_columns(a: np.ndarray) -> tuple[np.ndarray, bool, int]:
    """Return (a matrix or its copy, whether its memory read by columns is the transpose, the distance of columns)."""
    m, n = a.shape
    down, across = a.strides
    size = a.itemsize
    if a.flags.aligned:
        if (across == size or n == 1) and down >= n * size and down % size == 0:
            return a, True, down // size
        if (down == size or m == 1) and across >= m * size and across % size == 0:
            return a, False, across // size
    return np.array(a, order="C"), True, max(n, 1)


def each_matrix(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Iterate over the matrices of stacks."""
    if arrays[0].ndim == 2:
        yield arrays
        return
    for index in np.ndindex(arrays[0].shape[:-2]):
        yield tuple([a[index] for a in arrays])


def is_worth_factors(n: int) -> bool:
    """Whether `factor_system` may be worth calling for matrices of order n; for stacks it decides itself."""
    return n >= LAPACK_ORDER and has_library()


def library_for(a: np.ndarray) -> Library | None:
    """Return the library for these matrices, or None for stacks of small matrices, over which NumPy loops faster."""
    return find_library() if a.ndim == 2 or a.shape[-1] >= STACKED_LAPACK_ORDER else None


# -- triangular systems ------------------------------------------
def solve_triangular(a: np.ndarray, b: np.ndarray, lower: bool, unit_diagonal: bool) -> np.ndarray:
    """Return X with AX = B, where only the triangle of A is read, and with `unit_diagonal` only beside the diagonal.
    What depends on a zero of the diagonal is NaN."""
    dtype = np.result_type(a, b)
    a = a.astype(dtype, copy=False)
    x = np.array(b, dtype, order="K" if b.ndim == 2 and b.flags.f_contiguous else "C")
    if not unit_diagonal and not np.all(np.diagonal(a, axis1=-2, axis2=-1)):
        zero = np.diagonal(a, axis1=-2, axis2=-1) == 0
        a = np.where(np.eye(a.shape[-1], dtype=bool) & zero[..., None], 1, a).astype(dtype, copy=False)
        x[zero] = np.nan
    substitute(a, x, lower, unit_diagonal)
    return x


def substitute(
    a: np.ndarray, x: np.ndarray, lower: bool, unit_diagonal: bool, transposed: bool = False
) -> None:
    """Write X with AX = B, or AᵀX = B, in the place of B, which is contiguous by rows, or a matrix by columns."""
    library = library_for(a)
    if not x.size:
        return
    if library is None:
        a = np.swapaxes(a, -1, -2) if transposed else a
        substitute_blocks(a, x, lower != transposed, unit_diagonal)
        return
    for one, right in each_matrix(a, x):
        substitute_in(library, one, right, lower, unit_diagonal, transposed)


def substitute_in(
    library: Library, a: np.ndarray, x: np.ndarray, lower: bool, unit_diagonal: bool, transposed: bool
) -> None:
    """Implement `substitute` for one matrix, by a routine. Little work is done by a few columns at a time: OpenBLAS
    wakes its threads for it otherwise, and waiting for them takes longer."""
    dtype, (n, k), one = x.dtype, x.shape, np.ones(1, x.dtype)
    a, is_transpose, lda = by_columns(a)
    uplo, diag = b"L" if lower != is_transpose else b"U", b"U" if unit_diagonal else b"N"
    same, other = (b"T", b"N") if is_transpose != transposed else (b"N", b"T")
    if k == 1:
        library.call(
            "trsv", dtype, uplo, same, diag, n, a, lda, x, x.strides[0] // x.itemsize if n > 1 else 1
        )
        return
    wide = (
        max(1, ONE_THREAD_ENTRIES // (n * (2 if dtype.kind == "c" else 1)))
        if n * n * k < ONE_THREAD_PRODUCTS
        else k
    )
    by_rows = x.flags.c_contiguous
    for start in range(0, k, wide):
        part = x[:, start : start + wide]
        count = part.shape[1]
        if by_rows:  # XᵀAᵀ = Bᵀ
            library.call("trsm", dtype, b"R", uplo, other, diag, count, n, one, a, lda, part, k)
        else:
            library.call("trsm", dtype, b"L", uplo, same, diag, n, count, one, a, lda, part, n)


def substitute_blocks(a: np.ndarray, x: np.ndarray, lower: bool, unit_diagonal: bool) -> None:
    """Implement `substitute` by NumPy alone: a system for each block of the diagonal, and products beside it."""
    n = a.shape[-1]
    starts = range(0, n, TRIANGLE_ORDER)
    for start in starts if lower else reversed(starts):
        here = slice(start, min(start + TRIANGLE_ORDER, n))
        known = slice(0, start) if lower else slice(here.stop, n)
        block, rest = a[..., here, here], x[..., here, :]
        block = np.tril(block) if lower else np.triu(block)
        if unit_diagonal:
            np.einsum("...ii->...i", block)[...] = 1
        if known.start < known.stop:
            rest = rest - a[..., here, known] @ x[..., known, :]
        x[..., here, :] = np.linalg.solve(block, rest)


# -- LU ------------------------------------------
def factor_matrix(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factor matrices (…, m, n) by Gaussian elimination with partial pivoting, PA = LU.

    Return (L below the diagonal and U in one matrix; the row, counted from 0, with which each was exchanged; the place
    of the first zero on the diagonal of U, counted from 1, or 0)."""
    library = library_for(a)
    packed, pivots = factor_in(library, a) if library else eliminate(a)
    return packed, pivots, first_true(np.diagonal(packed, axis1=-2, axis2=-1) == 0)


def first_true(condition: np.ndarray) -> np.ndarray:
    """Return the 1-based place of the first true entry along the last axis; 0 if there is none."""
    if not condition.shape[-1]:
        return np.zeros(condition.shape[:-1], np.int32)
    return np.where(condition.any(-1), condition.argmax(-1) + 1, 0).astype(np.int32)


def factor_in(library: Library, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Implement `factor_matrix` by routines; the result is contiguous by columns."""
    *batch, m, n = a.shape
    packed = np.array(np.swapaxes(a, -1, -2), order="C").swapaxes(-1, -2)
    rows = np.zeros((*batch, 1, min(m, n)), library.integer)
    if packed.size:
        for one, exchanges in each_matrix(packed, rows):
            library.call("getrf", a.dtype, m, n, one, m, exchanges)
    return packed, rows[..., 0, :].astype(np.intp) - 1


def eliminate(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Implement `factor_matrix` by NumPy alone, for all matrices of a stack at once."""
    *batch, m, n = a.shape
    lu: Any = np.array(a).reshape(prod(batch), m, n)
    every = np.arange(len(lu))
    pivots = np.zeros((len(lu), min(m, n)), np.intp)
    for k in range(min(m, n)):
        size = np.abs(lu[:, k:, k])
        if np.iscomplexobj(lu):  # LAPACK compares |Re| + |Im|
            size = np.abs(lu[:, k:, k].real) + np.abs(lu[:, k:, k].imag)
        found = pivots[:, k] = k + np.argmax(size, axis=1)
        lu[every, k], lu[every, found] = lu[every, found], lu[every, k].copy()
        pivot = lu[:, k, k]
        lu[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)[:, None]
        lu[:, k + 1 :, k + 1 :] -= lu[:, k + 1 :, k, None] * lu[:, k, None, k + 1 :]
    return lu.reshape(a.shape), pivots.reshape(*batch, min(m, n))


def factor_system(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (L and U in one matrix, the row exchanged with each row) for square matrices; triangular matrices need no
    work and no exchanges. What NumPy solves faster is left alone: see `are_factors`."""
    if library_for(a) is None and a.ndim > 2:
        return np.zeros(a.shape, a.dtype), np.full(a.shape[:-1], -1)
    found = factor_triangle(a)
    return factor_matrix(a)[:2] if found is None else found


def are_factors(pivots: np.ndarray) -> bool:
    """Return whether `factor_system` has factored all the matrices."""
    return not (pivots.size and (pivots[..., 0] < 0).any())


def factor_triangle(a: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the result of `factor_system` for triangular matrices, and None for others."""
    if not a.size:
        return None
    if not a[..., 1:, 0].any() and not np.tril(a, -1).any():
        packed = np.array(a)
    elif not a[..., 0, 1:].any() and not np.triu(a, 1).any():
        diagonal = np.diagonal(a, axis1=-2, axis2=-1)
        with np.errstate(all="ignore"):
            packed = a / diagonal[..., None, :]
        np.einsum("...ii->...i", packed)[...] = diagonal
        if not np.isfinite(packed).all():
            return None
    else:
        return None
    return packed, np.broadcast_to(np.arange(a.shape[-1]), a.shape[:-1]).copy()


def order_rows(pivots: np.ndarray, m: int) -> np.ndarray:
    """Return for every row of PA its row number in A, from the exchanges `pivots`."""
    *batch, count = pivots.shape
    exchanges = pivots.reshape(prod(batch), count)
    order = np.tile(np.arange(m), (len(exchanges), 1))
    if len(exchanges) > 64:  # step by step, for all matrices at once
        every = np.arange(len(exchanges))
        for k in range(count):
            order[every, k], order[every, exchanges[:, k]] = (
                order[every, exchanges[:, k]],
                order[every, k].copy(),
            )
    else:
        for row, one in zip(order, exchanges.tolist()):
            rows = list(range(m))
            for i, p in enumerate(one):
                rows[i], rows[p] = rows[p], rows[i]
            row[:] = rows
    return order.reshape(*batch, m)


def solve_by_factors(
    factors: np.ndarray, pivots: np.ndarray, b: np.ndarray, transposed: bool = False
) -> np.ndarray:
    """Return the solution X of AX = B, or AᵀX = B, from the result of `factor_matrix` for A."""
    dtype = np.result_type(factors, b)
    factors = factors.astype(dtype, copy=False)
    library = library_for(factors)
    if library is not None and b.shape[-1] == 1 and np.swapaxes(factors, -1, -2).flags.c_contiguous:
        return solve_vectors(library, factors, pivots, b, transposed)
    order = order_rows(pivots, b.shape[-2])[..., None]
    if transposed:
        y = np.array(b, dtype, order="C")
        substitute(factors, y, False, False, transposed=True)
        substitute(factors, y, True, True, transposed=True)
        x = np.empty_like(y)
        np.put_along_axis(x, order, y, -2)
    else:
        x = np.ascontiguousarray(np.take_along_axis(b, order, -2), dtype)
        substitute(factors, x, True, True)
        substitute(factors, x, False, False)
    return x


def solve_vectors(
    library: Library, factors: np.ndarray, pivots: np.ndarray, b: np.ndarray, transposed: bool
) -> np.ndarray:
    """Implement `solve_by_factors` for single right-hand sides, by one call of a routine for each."""
    n, x = factors.shape[-1], np.array(b, factors.dtype, order="C")
    rows = (pivots + 1).astype(library.integer)[..., None, :]
    if x.size:
        for one, right, exchanges in each_matrix(factors, x, rows):
            side = b"T" if transposed else b"N"
            library.call("getrs", x.dtype, side, n, 1, one, n, exchanges, right, n)
    return x


def invert_factors(factors: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """Return A⁻¹ from the result of `factor_matrix` for A; NaN for a singular matrix."""
    library, n = library_for(factors), factors.shape[-1]
    if library is None:
        singular = ~np.all(np.diagonal(factors, axis1=-2, axis2=-1), axis=-1)[..., None, None]
        regular = np.where(singular, np.eye(n, dtype=factors.dtype), factors)
        one = np.broadcast_to(np.eye(n, dtype=factors.dtype), factors.shape)
        return np.where(singular, np.nan, solve_by_factors(regular, pivots, one))
    inverse = np.array(np.swapaxes(factors, -1, -2), order="C").swapaxes(-1, -2)
    work = np.empty(64 * n, factors.dtype)
    rows = (pivots + 1).astype(library.integer)[..., None, :]
    if inverse.size:
        for one, exchanges in each_matrix(inverse, rows):
            if library.call("getri", factors.dtype, n, one, n, exchanges, work, work.size):
                one[...] = np.nan
    return np.ascontiguousarray(inverse)


def log_determinant(factors: np.ndarray, pivots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (sign, log|det|) from the result of `factor_matrix` for square matrices; (0, −∞) for a singular one."""
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    size = np.abs(diagonal)
    exchanges = np.count_nonzero(pivots != np.arange(pivots.shape[-1]), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        phases = np.where(size == 0, 0, diagonal / size)
        sign = np.prod(phases, axis=-1) * (1 - 2 * (exchanges % 2)).astype(size.dtype)
        return sign, np.sum(np.log(size), axis=-1)


# -- Cholesky ------------------------------------------
def find_indefinite(a: np.ndarray) -> np.ndarray:
    """Return the orders, as int32, of the first leading minors of Hermitian matrices that are not positive, or 0 for
    positive definite matrices. Near singularity the result depends on the rounding of NumPy's factorization."""
    library, n = find_library(), a.shape[-1]
    info = np.zeros((*a.shape[:-2], 1, 1), np.int32)
    if not a.size or is_definite(a):
        return info[..., 0, 0]
    if library is None:
        minors = [[not is_definite(x[:k, :k]) for k in range(1, n + 1)] for x in a.reshape(-1, n, n)]
        return first_true(np.array(minors, bool).reshape(*a.shape[:-2], n))
    for one, found in each_matrix(np.array(a, order="C"), info):
        if not is_definite(one):
            found[...] = library.call("potrf", a.dtype, b"U", n, one, n) or n
    return info[..., 0, 0]


def is_definite(a: np.ndarray) -> bool:
    """Return whether all Hermitian matrices of a stack are positive definite."""
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


# -- banded systems ------------------------------------------
def solve_banded(ab: np.ndarray, b: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """Return the solution X of AX = B for banded matrices, whose entry (i, j) is entry (upper + i − j, j) of `ab`."""
    library, dtype = find_library(), np.result_type(ab, b)
    if library is None:
        return np.linalg.solve(dense_of_band(ab, lower, upper), b)
    *batch, n, k = b.shape
    x = np.array(np.swapaxes(b, -1, -2), dtype, order="C")
    height = 2 * lower + upper + 1
    packed = np.zeros((*batch, n, height), dtype)
    packed[..., lower:] = np.swapaxes(ab, -1, -2)
    if x.size:
        for one, right in each_matrix(packed, x):
            rows = np.zeros(n, library.integer)
            if library.call("gbsv", dtype, n, lower, upper, k, one, height, rows, right, n):
                raise np.linalg.LinAlgError("singular matrix")  # as SciPy says it
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def dense_of_band(ab: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """Return the matrices whose diagonals are the rows of `ab`."""
    n = ab.shape[-1]
    a = np.zeros((*ab.shape[:-2], n, n), ab.dtype)
    for offset in range(-min(lower, n - 1), min(upper, n - 1) + 1):
        j = np.arange(max(offset, 0), n + min(offset, 0))
        a[..., j - offset, j] = ab[..., upper - offset, j]
    return a
