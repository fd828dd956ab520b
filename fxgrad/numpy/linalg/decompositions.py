"""Factorizations, eigenvalues and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.common_errors import check_option
from ...core.errors import UnsupportedError
from ...core.typing import Array, ArrayLike
from ...ops.linalg import adjoint
from ..composite import composite
from .matrices import as_matrix, as_square_matrix, hermitian_matrix
from .sources import GILES, WALTER, cite

# NumPy's named tuples, which are pytrees.
EigResult: Any = type(np.linalg.eig(np.eye(1)))
EighResult: Any = type(np.linalg.eigh(np.eye(1)))
QRResult: Any = type(np.linalg.qr(np.eye(1)))
SVDResult: Any = type(np.linalg.svd(np.eye(1)))
SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


@composite(np.linalg.cholesky)
@cite(GILES)
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """L with A = LLᴴ, or with `upper` its adjoint, of Hermitian positive definite matrices (…, n, n).

    One triangle is read, the upper one with `upper`, and the derivative is that of a function of Hermitian matrices:
    see `eigh`.

    Raises:
        numpy.linalg.LinAlgError: a matrix is not positive definite.

    >>> a = fnp.array([[4.0, 2.0], [2.0, 5.0]])
    >>> fx.grad(lambda a: fnp.linalg.cholesky(a)[1, 1])(a)
    array([[ 0.0625, -0.125 ],
           [-0.125 ,  0.25  ]])
    """
    factor = ops.cholesky(hermitian_matrix(a, "U" if upper else "L"), hermitian=True)
    return adjoint(factor) if upper else factor


@composite(np.linalg.qr)
@cite(WALTER)
def qr(a: ArrayLike, mode: str = "reduced") -> Array:
    """A = QR with orthonormal columns of Q and an upper triangle R, of matrices (…, m, n).

    Args:
        mode: "reduced" for shapes (m, k), (k, n) with k = min(m, n); "complete" for (m, m), (m, n); "r" for R alone;
            "raw" for LAPACK's form, of plain arrays only.

    Returns:
        (Q, R), or R. NaN as derivatives where R is singular.

    Raises:
        NotDifferentiableError: the derivative for mode="complete" and m > n, where columns of Q are arbitrary.
        ValueError: there is no such `mode`.
        UnsupportedError: `mode` is "raw" and values are traced: LAPACK's own form has no derivative.

    >>> fx.grad(lambda a: fnp.linalg.qr(a, mode="r")[0, 0])(fnp.array([[3.0], [4.0]]))
    array([[-0.6],
           [-0.8]])
    """
    if mode == "raw":
        raise UnsupportedError(
            "qr: mode='raw' is LAPACK's own form, which has no derivative rule",
            hint="mode='reduced', 'complete' or 'r'",
        )
    check_option("qr", "mode", mode, ("reduced", "complete", "r"))
    q, r = ops.qr(as_matrix(a), complete=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@composite(np.linalg.svd)
@cite(GILES)
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Array:
    """A = U·diag(s)·Vᴴ with descending s ≥ 0, of matrices (…, m, n).

    Derivatives are for functions that do not depend on what is arbitrary in U and V: a common sign or phase of uᵢ and
    vᵢ, the basis where singular values repeat, and with `full_matrices` the columns beyond min(m, n). Others get NaN,
    as far as that is noticed: see `fxgrad.ops.spectral`. A singular value that is zero (relative to the greatest, up
    to rounding) has derivative 0.

    Args:
        full_matrices: whether U is (m, m) and Vᴴ (n, n), or (m, k) and (k, n) with k = min(m, n).
        compute_uv: whether U and Vᴴ are wanted, or s alone.
        hermitian: A is Hermitian; its lower triangle is read.

    Returns:
        (U, S, Vh), or s.

    >>> fx.grad(lambda a: fnp.linalg.svd(a, compute_uv=False).sum())(fnp.array([[3.0, 0.0], [0.0, 2.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    a = hermitian_matrix(a) if hermitian else as_matrix(a)
    return SVDResult(*ops.svd(a, full=bool(full_matrices))) if compute_uv else ops.svdvals(a)


@composite(np.linalg.svdvals)
@cite(GILES)
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, descending. See `svd`.

    >>> fnp.linalg.svdvals(fnp.array([[3.0, 0.0], [0.0, -4.0]])).round(6)
    array([4., 3.])
    """
    return svd(x, compute_uv=False)


@composite(np.linalg.eigh)
@cite(GILES)
def eigh(a: ArrayLike, UPLO: str = "L") -> Array:
    """Ascending eigenvalues w and orthonormal eigenvectors V, A = V·diag(w)·Vᴴ, of Hermitian matrices (…, n, n).

    The triangle `UPLO` is read, as by NumPy. The derivative is that of a function of Hermitian matrices, along the
    Hermitian part of a direction: the gradient is Hermitian, whichever triangle is read, and `check=True` and the
    checks of `fx.testing` move such matrices so. Of others the two are not of one function: take
    (a + a.conj().mT) / 2 first.

    Where eigenvalues repeat, single eigenvectors and single eigenvalues have no derivative: the gradient is NaN. It is
    finite for functions of eigenvalues alone that treat equal ones alike (`w.sum()`), and for functions of eigenvectors
    alone that depend on the space they span (V₁V₁ᴴ, with all columns for the repeated value in V₁). Functions
    V·diag(f(w))·Vᴴ get NaN. See `fxgrad.ops.spectral`.

    Returns:
        (eigenvalues, eigenvectors) of shapes (…, n) and (…, n, n).

    >>> a = fnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> fx.grad(lambda a: fnp.linalg.eigh(a).eigenvalues[1])(a)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> fx.grad(lambda a: fnp.linalg.eigh(a).eigenvalues[1])(2 * fnp.eye(2))  # no derivative: a kink
    array([[nan, nan],
           [nan, nan]])
    """
    return EighResult(*ops.eigh(hermitian_matrix(a, UPLO), uplo=UPLO.upper()))


@composite(np.linalg.eigvalsh)
@cite(GILES)
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Array:
    """The eigenvalues of Hermitian matrices, ascending. The triangle `UPLO` is read, and the gradient is Hermitian: see
    `eigh`.

    >>> fnp.linalg.eigvalsh(fnp.array([[2.0, 1.0], [1.0, 2.0]])).round(6)
    array([1., 3.])
    """
    return ops.eigvalsh(hermitian_matrix(a, UPLO), uplo=UPLO.upper())


@composite(np.linalg.eig)
@cite(GILES)
def eig(a: ArrayLike) -> Array:
    """Eigenvalues w and eigenvectors V of length one, AV = V·diag(w), of matrices (…, n, n).

    Of traced values the results are complex, also where all are real: a dtype cannot depend on values. Derivatives are
    for functions that do not depend on the phase of eigenvectors. They are NaN where there is no basis of eigenvectors,
    and as for `eigh` where eigenvalues repeat.

    Returns:
        (eigenvalues, eigenvectors) of shapes (…, n) and (…, n, n).

    >>> a = fnp.array([[1.0, 2.0], [0.0, 3.0]])
    >>> fx.grad(lambda a: fnp.max(fnp.linalg.eig(a).eigenvalues.real))(a)
    array([[0., 0.],
           [1., 1.]])
    """
    return EigResult(*ops.eig(as_square_matrix(a)))


@composite(np.linalg.eigvals)
@cite(GILES)
def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, unordered, complex if traced and from NumPy 2.5 on. See `eig`.

    >>> fnp.linalg.eigvals(fnp.array([[2.0, 1.0], [0.0, 3.0]])).real
    array([2., 3.])
    """
    return ops.eig(as_square_matrix(a))[0]


@composite(np.linalg.det)
@cite(GILES)
def det(a: ArrayLike) -> Array:
    """The determinants of matrices (…, n, n).

    The derivative is the adjugate, a polynomial, and so is right for singular matrices, and so is the second. The third
    is NaN there.

    >>> fx.grad(fnp.linalg.det)(fnp.array([[1.0, 0.0], [0.0, 0.0]]))
    array([[0., 0.],
           [0., 1.]])
    """
    a = as_square_matrix(a)
    return ops.det(a, *ops.factors_of(a))


@composite(np.linalg.slogdet)
@cite(GILES)
def slogdet(a: ArrayLike) -> Array:
    """Return (sign, log|det|) of matrices (…, n, n). For a singular matrix this is (0, −inf), and the derivative is
    NaN.

    >>> fx.grad(lambda a: fnp.linalg.slogdet(a).logabsdet)(fnp.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = as_square_matrix(a)
    return SlogdetResult(*ops.slogdet(a, *ops.factors_of(a)))


__all__ = [
    "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "qr", "slogdet", "svd", "svdvals",
]  # fmt: skip
