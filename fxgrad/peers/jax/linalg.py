"""`jax.numpy.linalg`: what differs from `fxgrad.numpy.linalg`."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...numpy import linalg as here
from ...numpy.linalg.matrices import as_inexact, as_square_matrix, hermitian_matrix
from ...numpy.linalg.solving import solve_broadcast
from .avals import ShapeDtypeStruct, shaped_of
from .callbacks import pure_callback
from .lifting import lift
from .numpy import asarray

__all__ = ["cholesky", "eigh", "eigvalsh", "inv", "lstsq", "qr", "solve"]


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
