"""`jax.numpy.linalg`: what differs from `fxgrad.numpy.linalg`."""

from __future__ import annotations

from functools import partial, wraps
from inspect import unwrap
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core import pytree
from ...core.interpreter import Tracer
from ...core.surface import is_object
from ...numpy import linalg as here
from ...numpy.linalg.matrices import as_inexact, as_square_matrix, hermitian_matrix
from ...numpy.linalg.solving import solve_broadcast
from .avals import ShapeDtypeStruct, shaped_of
from .callbacks import pure_callback
from .kinks import absolute
from .lifting import lift
from .numpy import asarray

__all__ = [
    "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_norm", "matrix_power", "norm", "pinv",
    "qr", "solve", "svd", "svdvals", "vector_norm",
]  # fmt: skip


def symmetrized(function: Any) -> Any:
    """Return a function of a Hermitian matrix as JAX has it: of the Hermitian part of any matrix."""
    lifted = lift(function)

    @wraps(function)
    def of_part(a: Any, *args: Any, symmetrize_input: bool = True, **options: Any) -> Any:
        if symmetrize_input:
            a = asarray(a)
            a = a * 0.5 + a.mT.conj() * 0.5
        return lifted(a, *args, **options)

    return of_part


eigh, eigvalsh = map(symmetrized, (here.eigh, here.eigvalsh))


# -- matrices that NumPy refuses -------------------------------------------------------------------------------------
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return L with A = LLᴴ, or with `upper` its adjoint: NaN for a matrix that is not definite. The Hermitian part is
    factored, or else one triangle is read."""
    return factor(a, upper, symmetrize_input)


@lift
def factor(a: Any, upper: bool, of_part: bool) -> Any:
    """Return the factor of a matrix, or of the one of which a triangle is given."""
    whole = as_square_matrix(a) if of_part else hermitian_matrix(a, "U" if upper else "L")
    lower = ops.cholesky(whole, hermitian=not of_part, strict=False)
    return ops.adjoint(lower) if upper else lower


@lift
def inv(a: Any) -> Any:
    """Return the inverse, which is NaN for a singular matrix."""
    return ops.inv(as_square_matrix(a), strict=False)


@lift
def solve(a: Any, b: Any) -> Any:
    """Return x with ax = b, whose entries are NaN or infinite for a singular matrix."""
    a, b = ops.promote_dtypes([as_square_matrix(a), as_inexact(fnp.asarray(b))])
    columns = ops.reshape(b, shape=(*b.shape, 1)) if b.ndim == 1 else b
    x = solve_broadcast(ops.solve, a, columns, strict=False)
    return ops.reshape(x, shape=x.shape[:-1]) if b.ndim == 1 else x


def matrix_power(a: Any, n: int) -> Any:
    """Return a power of a square matrix, for a negative one of the inverse."""
    return power_of_matrix(inv(a), -n) if n < 0 else power_of_matrix(a, n)


power_of_matrix = lift(here.matrix_power)


def nan_unless_finite(function: Any) -> Any:
    """Return a function of matrices whose results are NaN for those with entries that are not finite."""
    lifted, choose = lift(function), lift(fnp.where)

    @wraps(function)
    def of_finite(a: Any, *args: Any, **options: Any) -> Any:
        a = asarray(a)
        is_finite = lift(fnp.isfinite)(a).all((-2, -1))
        if not isinstance(is_finite._fx_value, Tracer) and np.asarray(is_finite).all():
            return lifted(a, *args, **options)

        def fill(y: Any) -> Any:
            ones = (1,) * (y.ndim - is_finite.ndim)
            return choose(is_finite.reshape(*is_finite.shape, *ones), y, np.nan)

        finite = choose(is_finite.reshape(*is_finite.shape, 1, 1), a, 0)
        return pytree.map(fill, lifted(finite, *args, **options), is_leaf=is_object)

    return of_finite


def as_complex(function: Any) -> Any:
    """Return a function of matrices whose results are complex numbers, also where those are real."""

    @wraps(function, updated=())  # without the function of NumPy's that it is on plain arrays
    def of_complex(a: Any) -> Any:
        a = as_inexact(fnp.asarray(a))
        return function(a.astype(np.result_type(a.dtype, np.complex64)))

    return of_complex


pinv, svd, svdvals = map(nan_unless_finite, (here.pinv, here.svd, here.svdvals))
eig, eigvals = [nan_unless_finite(as_complex(function)) for function in (here.eig, here.eigvals)]


def lstsq(a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False) -> Any:
    """Return the least squares solution, the residuals, the rank and the singular values; there are always residuals
    unless NumPy's are asked for, which has none of matrices without full rank or more rows than columns."""
    x, residuals, rank, values = least_squares(a, b, rcond)
    if not numpy_resid and not residuals.size:
        rest = asarray(b) - matrix_product(a, x)
        residuals = (abs(rest) ** 2).sum(0).reshape(-1)
    return x, residuals, rank.astype(int), values


least_squares, matrix_product = lift(here.lstsq), lift(here.matmul)


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return the factors of A = QR; for `mode="raw"` LAPACK's reflections, which have no derivative."""
    if mode != "raw":
        return lift(here.qr)(a, mode)
    *batch, m, n = (aval := shaped_of(a)).shape
    shapes = [ShapeDtypeStruct(shape, aval.dtype) for shape in ((*batch, n, m), (*batch, min(m, n)))]
    factor = partial(np.linalg.qr, mode="raw")
    return pure_callback(lambda a: tuple(factor(np.asarray(a))), tuple(shapes), a, vmap_method="expand_dims")


# -- norms: at the origin the Euclidean one has the slope NaN, and a sum of moduli 1 ---------------------------------
def euclidean_norm(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the root of a sum of squares."""
    return fnp.sqrt(fnp.sum(fnp.real(fnp.conj(x) * x), axis, keepdims=keepdims))


@lift
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of vectors (one axis) or matrices (two axes); without `axis` and `ord`, of all entries."""
    x = as_inexact(fnp.asarray(x))
    is_of_vectors = (x.ndim if axis is None else np.size(axis)) == 1
    if ord in ((None, 2) if is_of_vectors else (None, "fro")):
        return euclidean_norm(x, axis, keepdims)
    if ord == 1 and is_of_vectors:
        return fnp.sum(modulus(x), axis, keepdims=keepdims)
    return here.norm(x, ord, axis, keepdims)


@lift
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm of the entries along axes, taken as one vector."""
    x = as_inexact(fnp.asarray(x))
    if ord in (None, 2):
        return euclidean_norm(x, axis, keepdims)
    return (
        fnp.sum(modulus(x), axis, keepdims=keepdims)
        if ord == 1
        else here.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    )


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


modulus = unwrap(absolute)
