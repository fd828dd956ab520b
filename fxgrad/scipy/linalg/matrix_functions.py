"""Functions of square matrices.

They have Fréchet derivatives: see `fxgrad.ops.matrix_functions`. Traced results for a real matrix are real, because a
dtype cannot depend on values: where the function is complex they are NaN. Pass `A.astype(complex)` to get complex
results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ops, wrong_shape
from ...numpy.composite import dtype_of, is_beyond_numpy, kind
from ..reference import scipy_function
from .arguments import as_square_matrix, real_part_or_nan


@scipy_function("linalg")
def expm(A: ArrayLike) -> Array:
    """eᴬ of matrices (…, n, n), by Padé's approximant, scaling and squaring (N. J. Higham 2005).

    >>> fx.grad(lambda a: linalg.expm(a)[0, 1])(fnp.zeros((2, 2)))
    array([[0., 1.],
           [0., 0.]])
    """
    return ops.matrix_exp(as_square_matrix(A))


@scipy_function("linalg")
def expm_frechet(
    A: ArrayLike,
    E: ArrayLike,
    method: str | None = None,
    compute_expm: bool = True,
    check_finite: bool = True,
) -> Any:
    """(eᴬ, its derivative along E), or the derivative alone without `compute_expm`.

    A. H. Al-Mohy and N. J. Higham, SIAM J. Matrix Anal. Appl. 30 (2009).

    Args:
        method: accepted, and of no effect on traced values.

    Raises:
        ValueError: `A` and `E` have different shapes.

    >>> e = fnp.array([[0.0, 1.0], [0.0, 0.0]])
    >>> fx.grad(lambda a: linalg.expm_frechet(a, e, compute_expm=False)[0, 1])(fnp.zeros((2, 2)))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    a, e = ops.promote_dtypes([as_square_matrix(A, check_finite), as_square_matrix(E, check_finite)])
    if a.shape != e.shape:
        raise wrong_shape("expm_frechet", "E", e.shape, a.shape)
    slope = ops.matrix_exp_slope(a, e)
    return (ops.matrix_exp(a), slope) if compute_expm else slope


@scipy_function("linalg")
def expm_cond(A: ArrayLike, check_finite: bool = True) -> Array:
    """The relative condition number of eᴬ in the Frobenius norm: ‖K‖₂‖A‖/‖eᴬ‖, where K is its derivative as a matrix
    of order n².

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.grad(linalg.expm_cond)(fnp.array([[2.0]])).round(12)
    array([[1.]])
    """
    a = as_square_matrix(A, check_finite)
    n, batch = a.shape[-1], a.shape[:-2]
    shape = (*batch, n * n, n, n)
    along = np.broadcast_to(np.eye(n * n, dtype=dtype_of(a)).reshape(n * n, n, n), shape)
    slopes = ops.matrix_exp_slope(ops.broadcast_to(a[..., None, :, :], shape=shape), along)
    k = ops.reshape(slopes, shape=(*batch, n * n, n * n))
    size = fnp.linalg.matrix_norm(a) / fnp.linalg.matrix_norm(ops.matrix_exp(a))
    return ops.svdvals(k)[..., 0] * size


@scipy_function("linalg")
def logm(A: ArrayLike) -> Array:
    """The principal logarithm of matrices (…, n, n) without eigenvalues that are zero or negative numbers.

    Of a real matrix with such eigenvalues a traced result is NaN; take A.astype(complex). The values are SciPy's
    (A. H. Al-Mohy and N. J. Higham, SIAM J. Sci. Comput. 34, 2012).

    >>> fx.grad(lambda a: linalg.logm(a).sum())(fnp.array([[2.0, 0.0], [0.0, 4.0]]))[0].round(12)
    array([0.5       , 0.34657359])
    """
    return ops.matrix_log(as_square_matrix(A))


@scipy_function("linalg")
def sqrtm(A: ArrayLike) -> Array:
    """The principal square root of matrices (…, n, n) without eigenvalues that are negative numbers.

    Of a real matrix with such eigenvalues a traced result is NaN; take A.astype(complex). The derivative X solves
    √A·X + X·√A = Ȧ, and is NaN or infinite where √A is singular.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.grad(lambda a: linalg.sqrtm(a).sum())(fnp.array([[1.0, 0.0], [0.0, 9.0]])).round(12)
    array([[0.5       , 0.25      ],
           [0.25      , 0.16666667]])
    """
    return ops.matrix_sqrt(as_square_matrix(A))


@scipy_function("linalg")
def signm(A: ArrayLike) -> Array:
    """The matrix sign, the sign of the real part of eigenvalues, of matrices (…, n, n); NaN where one is imaginary.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.grad(lambda a: linalg.signm(a).sum())(fnp.array([[1.0, 0.0], [0.0, -3.0]])).round(12)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    return ops.matrix_sign(as_square_matrix(A))


@scipy_function("linalg")
def fractional_matrix_power(A: ArrayLike, t: float) -> Array:
    """Aᵗ = e^(t·log A) of matrices (…, n, n), for a number t, which may be traced.

    Of a real matrix with eigenvalues that are zero or negative numbers a traced result is NaN; take A.astype(complex).
    The values are SciPy's (N. J. Higham and L. Lin, SIAM J. Matrix Anal. Appl. 32, 2011).

    >>> fx.grad(lambda a: linalg.fractional_matrix_power(a, 0.5)[1, 1])(fnp.array([[1.0, 0.0], [0.0, 4.0]])).round(12)
    array([[0.  , 0.  ],
           [0.  , 0.25]])
    """
    a = as_square_matrix(A)
    if is_beyond_numpy(t):
        return ops.matrix_exp(t * ops.matrix_log(a))
    t = float(t)
    if t.is_integer() and t >= 0:
        return fnp.linalg.matrix_power(a, int(t))
    return ops.fractional_power(a, exponent=t)


@scipy_function("linalg")
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Array:
    """f(A) = V f(w) V⁻¹ of matrices (…, n, n) with a basis V of eigenvectors; derivatives are NaN where eigenvalues
    repeat.

    Source: N. J. Higham, Functions of Matrices, 2008.

    Args:
        func: a function of complex arrays, entry by entry, of `fxgrad.numpy`.

    >>> a = fnp.array([[1.0, 0.0], [0.0, 2.0]])
    >>> fx.grad(lambda a: linalg.funm(a, lambda w: w**3).sum())(a).round(12)
    array([[ 3.,  7.],
           [ 7., 12.]])
    """
    a = as_square_matrix(A)
    w, v = ops.eig(a)
    y = fnp.matmul(v * func(w)[..., None, :], ops.inv(v, strict=False))
    return real_part_or_nan(y, a)


# -- functions of the exponential ------------------------------------------
def phases(a: Any) -> tuple[Any, Any]:
    """(cos A, sin A)."""
    if kind(a) != "c":
        y = ops.matrix_exp(ops.make_complex(0.0, a))
        return ops.real(y), ops.imag(y)
    forward, back = ops.matrix_exp(1j * a), ops.matrix_exp(-1j * a)
    return (forward + back) / 2, (forward - back) / 2j


def growths(a: Any) -> tuple[Any, Any]:
    """(cosh A, sinh A)."""
    forward, back = ops.matrix_exp(a), ops.matrix_exp(-a)
    return (forward + back) / 2, (forward - back) / 2


@scipy_function("linalg")
def cosm(A: ArrayLike) -> Array:
    """The cosine of matrices (…, n, n), by `expm`.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.grad(lambda a: linalg.cosm(a)[0, 1])(fnp.array([[0.0, 1.0], [0.0, 0.0]])).round(12) + 0.0
    array([[-0.5,  0. ],
           [ 0. , -0.5]])
    """
    return phases(as_square_matrix(A))[0]


@scipy_function("linalg")
def sinm(A: ArrayLike) -> Array:
    """The sine of matrices (…, n, n), by `expm`.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.scipy.linalg.sinm(fnp.diag(fnp.array([0.0, fnp.pi / 2]))).round(6)
    array([[0., 0.],
           [0., 1.]])
    """
    return phases(as_square_matrix(A))[1]


@scipy_function("linalg")
def tanm(A: ArrayLike) -> Array:
    """The tangent of matrices (…, n, n), (cos A)⁻¹ sin A.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.scipy.linalg.tanm(fnp.diag(fnp.array([0.0, fnp.pi / 4]))).round(6)
    array([[0., 0.],
           [0., 1.]])
    """
    return fnp.linalg.solve(*phases(as_square_matrix(A)))


@scipy_function("linalg")
def coshm(A: ArrayLike) -> Array:
    """The hyperbolic cosine of matrices (…, n, n), by `expm`.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.scipy.linalg.coshm(fnp.diag(fnp.array([0.0, 1.0]))).round(6)
    array([[1.      , 0.      ],
           [0.      , 1.543081]])
    """
    return growths(as_square_matrix(A))[0]


@scipy_function("linalg")
def sinhm(A: ArrayLike) -> Array:
    """The hyperbolic sine of matrices (…, n, n), by `expm`.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.scipy.linalg.sinhm(fnp.diag(fnp.array([0.0, 1.0]))).round(6)
    array([[0.      , 0.      ],
           [0.      , 1.175201]])
    """
    return growths(as_square_matrix(A))[1]


@scipy_function("linalg")
def tanhm(A: ArrayLike) -> Array:
    """The hyperbolic tangent of matrices (…, n, n), (cosh A)⁻¹ sinh A.

    Source: N. J. Higham, Functions of Matrices, 2008.

    >>> fx.scipy.linalg.tanhm(fnp.diag(fnp.array([0.0, 1.0]))).round(6)
    array([[0.      , 0.      ],
           [0.      , 0.761594]])
    """
    return fnp.linalg.solve(*growths(as_square_matrix(A)))


__all__ = [
    "coshm", "cosm", "expm", "expm_cond", "expm_frechet", "fractional_matrix_power", "funm", "logm", "signm", "sinhm",
    "sinm", "sqrtm", "tanhm", "tanm",
]  # fmt: skip
