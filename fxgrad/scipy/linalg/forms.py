"""Unitary forms of matrices: polar decomposition, Schur's and Hessenberg's forms."""

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, UnsupportedError, check_option, ops
from ...numpy.composite import kind
from ..reference import scipy_function
from .arguments import as_matrix, as_square_matrix


def polar_unitary(a: Any) -> Any:
    """Return the unitary factor of matrices of any shape."""
    return (
        ops.polar_unitary(a) if a.shape[-2] >= a.shape[-1] else ops.adjoint(ops.polar_unitary(ops.adjoint(a)))
    )


@scipy_function("linalg")
def polar(a: ArrayLike, side: str = "right") -> tuple[Array, Array]:
    """(U, P) with A = UP, or with side="left" A = PU, of matrices (…, m, n).

    U has orthonormal columns or rows, and P is Hermitian positive semidefinite.
    The derivative of U exists
    where A has full rank, also where singular values repeat: N. J. Higham, Functions of Matrices, SIAM 2008, chapter 8.

    Raises:
        ValueError: `side` is neither "right" nor "left".

    >>> fx.grad(lambda a: linalg.polar(a)[0][0, 1])(fnp.array([[2.0, 0.0], [0.0, 2.0]])).round(12)
    array([[ 0.  ,  0.25],
           [-0.25,  0.  ]])
    """
    check_option("polar", "side", side, ("right", "left"))
    a = as_matrix(a)
    u = polar_unitary(a)
    product = fnp.matmul(ops.adjoint(u), a) if side == "right" else fnp.matmul(a, ops.adjoint(u))
    return u, ops.hermitian_part(product)


@scipy_function("linalg")
def orthogonal_procrustes(A: ArrayLike, B: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """(R, scale): the unitary R for which ‖AR − B‖ is least, and the sum of the singular values of AᴴB.

    Source: P. H. Schönemann, "A generalized solution of the orthogonal Procrustes problem", 1966.

    Raises:
        ValueError: the matrices have different shapes.

    >>> a = fnp.array([[2.0, 0.0], [0.0, 2.0]])
    >>> fx.grad(lambda b: linalg.orthogonal_procrustes(a, b)[0][0, 1])(a).round(12)
    array([[ 0.  ,  0.25],
           [-0.25,  0.  ]])
    """
    a, b = as_matrix(A, check_finite), as_matrix(B, check_finite)
    if a.shape != b.shape:
        raise ShapeError(
            f"orthogonal_procrustes: A has shape {a.shape} and B {b.shape}",
            hint="two matrices of one shape: a row for each point, in one order",
        )
    product = fnp.matmul(ops.adjoint(a), b)
    return polar_unitary(product), fnp.sum(ops.svdvals(product), -1)


@scipy_function("linalg")
def schur(
    a: ArrayLike,
    output: str = "real",
    lwork: int | None = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> tuple[Array, Array]:
    """(T, Z) with A = ZTZᴴ, unitary Z and a triangle T, of matrices (…, n, n).

    Real matrices have a real T with blocks of two for pairs of eigenvalues, unless `output` is "complex". The
    derivative keeps the phases of the columns of Z; it is NaN where eigenvalues repeat, and of a T with blocks of two.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013, chapter 7.

    Args:
        output: "real" or "complex".
        sort: an order of eigenvalues, of plain arrays only.

    Raises:
        ValueError: `output` is neither "real" nor "complex".
        UnsupportedError: `sort` of traced values.

    >>> fx.grad(lambda a: linalg.schur(a)[0][1, 1])(fnp.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[0., 0.],
           [1., 1.]])
    """
    check_option("schur", "output", output, ("real", "complex"), aliases=("r", "c"))
    if sort is not None:
        raise UnsupportedError("schur: sort= of traced values", hint="output='complex' and no order")
    a = as_square_matrix(a, check_finite)
    if output[0] == "c" and kind(a) != "c":
        a = ops.make_complex(a, 0.0)
    return tuple(ops.schur(a))


@scipy_function("linalg")
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """(T, Z), the complex Schur form computed from a real one: see `schur`.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013, chapter 7.

    >>> T, Z = fx.scipy.linalg.rsf2csf(fnp.array([[0.0, -1.0], [1.0, 0.0]]), fnp.eye(2))
    >>> fnp.sort(fnp.diag(T).imag).round(6)
    array([-1.,  1.])
    """
    t, z = as_square_matrix(T, check_finite), as_square_matrix(Z, check_finite)
    a = fnp.matmul(fnp.matmul(z, t), ops.adjoint(z))
    return schur(a, output="complex", check_finite=False)


@scipy_function("linalg")
def hessenberg(
    a: ArrayLike, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """H, and Q with `calc_q`, with A = QHQᴴ, unitary Q and zeros of H below the entries under its diagonal.

    The first column of Q is that of the identity. The derivative is NaN where an entry under the diagonal is zero.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013, chapter 7.

    >>> a = fnp.array([[1.0, 0.0, 0.0], [3.0, 1.0, 0.0], [4.0, 0.0, 1.0]])
    >>> fx.grad(lambda a: linalg.hessenberg(a)[1, 0])(a).round(12)
    array([[ 0. ,  0. ,  0. ],
           [-0.6,  0. ,  0. ],
           [-0.8,  0. ,  0. ]])
    """
    form, q = ops.hessenberg(as_square_matrix(a, check_finite))
    return (form, q) if calc_q else form


__all__ = ["hessenberg", "orthogonal_procrustes", "polar", "rsf2csf", "schur"]
