"""Polynomials as one-dimensional arrays of coefficients, the highest power first.

The functions are NumPy's, with one exception: NumPy drops leading coefficients that happen to be zero, while leading
coefficients of traced values are kept, because shapes cannot depend on unknown values.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from .. import ops
from ..core.common_errors import check_ndim
from ..core.errors import DTypeError, ShapeError
from ..core.interpreter import concretize
from ..core.typing import Array, ArrayLike
from .composite import cast, composite, dtype_of, operand
from .contraction import outer
from .creation import vander
from .documentation import LINEAR
from .dtypes import finfo
from .elementwise import to_floating
from .joining import append
from .manipulation import atleast_1d, expand_dims, ravel, slice_axis
from .reductions import sum
from .signal import convolve
from .ufuncs import sqrt


# -- arithmetic ------------------------------------------
def combine_coefficients(a1: Any, a2: Any, function: Any) -> Any:
    """Apply an elementwise function to the coefficients of the same powers."""
    arrays = [atleast_1d(a) for a in (a1, a2)]
    count = max(a.size for a in arrays)
    return function(*[ops.pad(a, widths=((count - a.size, 0),)) for a in arrays])


@composite(np.polyadd, derivative=LINEAR)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The coefficients of the sum of two polynomials; the highest power comes first.

    >>> fnp.polyadd(fnp.array([1.0, 2.0]), fnp.array([1.0, 0.0, 0.0]))
    array([1., 1., 2.])
    """
    return combine_coefficients(a1, a2, ops.add)


@composite(np.polysub, derivative=LINEAR)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The coefficients of the difference of two polynomials; the highest power comes first.

    >>> fnp.polysub(fnp.array([1.0, 2.0]), fnp.array([1.0, 0.0, 0.0]))
    array([-1.,  1.,  2.])
    """
    return combine_coefficients(a1, a2, ops.subtract)


@composite(np.polymul)
def polymul(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The coefficients of the product of two polynomials; the highest power comes first. Leading zeros are dropped
    where they are known.

    >>> fnp.polymul(fnp.array([1.0, 2.0]), fnp.array([1.0, -2.0]))
    array([ 1.,  0., -4.])
    """
    return convolve(a1, a2)


@composite(np.polydiv)
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Any, Any]:
    """Divide two polynomials; return (quotient, remainder).

    The remainder of traced ones has as many coefficients as `v` has after the first, zeros among them.

    >>> quotient, remainder = fx.jacobian(lambda u: fnp.polydiv(u, [1.0, 2.0]))(fnp.ones(3))
    >>> remainder
    array([[ 4., -2.,  1.]])
    """
    u, v, _ = ops.promote_dtypes([*map(atleast_1d, (u, v)), 0.0])
    quotient, rest = [], u
    for _ in range(u.size - v.size + 1):
        coefficient = ops.divide(rest[:1], v[:1])
        quotient.append(coefficient)
        head = rest[1 : v.size] - coefficient * v[1:]
        rest = ops.concatenate(head, rest[v.size :], axis=0)
    zero = ops.full_like(u[:1], value=0)
    return (ops.concatenate(*quotient, axis=0) if quotient else zero), (rest if rest.shape[0] else zero)


# -- derivatives and values ------------------------------------------
@composite(np.polyder, derivative=LINEAR)
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The coefficients of the m-th derivative of a polynomial; ValueError for negative m.

    Raises:
        ValueError: `m` is negative.

    >>> fnp.polyder(fnp.array([1.0, 0.0, 5.0]))
    array([2., 0.])
    """
    found = coefficients("polyder", p)
    if m < 0:
        raise ShapeError(f"polyder: the order m={m} is negative", hint=f"fnp.polyint(p, {-m})")
    for _ in range(m):
        found = ops.multiply(slice_axis(found, 0, None, -1), np.arange(found.size - 1, 0, -1))
    return found


def coefficients(name: str, p: ArrayLike) -> Any:
    """Return the coefficients of a polynomial along one axis.

    Raises:
        ShapeError: they have more axes.
    """
    p = operand(p)
    if p.ndim > 1:
        raise ShapeError(f"{name}: coefficients of shape {p.shape}", hint=f"fx.vmap(fnp.{name})(p)")
    return ravel(p)


@composite(np.polyint, derivative=LINEAR)
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Array:
    """The coefficients of the m-th antiderivative of a polynomial; ValueError for negative m.

    Args:
        k: the constants of integration, one for every order: zeros unless given.

    Raises:
        ValueError: `m` is negative, or `k` has fewer than `m` entries, and not one.

    >>> fnp.polyint(fnp.array([2.0, 5.0]))
    array([1., 5., 0.])
    """
    found = coefficients("polyint", p)
    if m < 0:
        raise ShapeError(f"polyint: the order m={m} is negative", hint=f"fnp.polyder(p, {-m})")
    constants = ravel(0.0 if k is None else k)
    if constants.size == 1:
        constants = ops.broadcast_to(constants, shape=(m,))
    if constants.size < m:
        raise ShapeError(
            f"polyint: {constants.size} constants k for the order m={m}",
            hint=f"k of {m} constants, or one for all",
        )
    for i in range(m):
        found = append(ops.divide(found, np.arange(found.size, 0, -1)), constants[i : i + 1])
    return found


@composite(np.polyval)
def polyval(p: ArrayLike, x: ArrayLike) -> Array:
    """The values of a polynomial at points, by Horner's scheme.

    >>> fx.grad(lambda p: fnp.polyval(p, 3.0))(fnp.ones(3))
    array([9., 3., 1.])
    """
    p, x = operand(p), operand(x)
    y: Any = ops.full_like(x, value=0)
    for coefficient in p:
        y = ops.add(ops.multiply(y, x), coefficient)
    return y


# -- roots ------------------------------------------
@composite(np.roots)
def roots(p: ArrayLike) -> Array:
    """The zeros of a polynomial: the eigenvalues of its companion matrix, in no particular order.

    They are complex where `p` is traced. At multiple zeros no derivative exists. How many leading and trailing
    coefficients are zero must be known.

    Raises:
        ValueError: `p` has more than one axis.

    >>> fnp.sort(fnp.roots(fnp.array([1.0, -3.0, 2.0]))).round(6)
    array([1., 2.])
    """
    from .linalg import eigvals

    p = atleast_1d(p)
    check_ndim("roots", "p", p, 1)
    (known,) = np.nonzero(concretize(p, "roots"))
    start, stop = (int(known[0]), int(known[-1]) + 1) if known.size else (p.size, p.size)
    dtype = np.result_type(dtype_of(p), np.complex64)
    zeros = np.zeros(p.size - stop, dtype)
    p = cast(slice_axis(p, 0, start, stop), dtype)
    if p.size < 2:
        return zeros
    below = np.eye(p.size - 2, p.size - 1, dtype=dtype)
    top = ops.reshape(ops.divide(ops.negative(p[1:]), p[:1]), shape=(1, p.size - 1))
    return append(eigvals(ops.concatenate(top, below, axis=0)), zeros)


@composite(np.poly)
def poly(seq_of_zeros: ArrayLike) -> Array | float:
    """The coefficients of the polynomial with the given zeros, or the characteristic one of a square matrix.

    Zeros that are traced and complex give complex coefficients, also where they come in conjugate pairs.

    Raises:
        ValueError: neither a sequence of roots nor a square matrix.

    >>> fnp.poly(fnp.array([1.0, 2.0]))
    array([ 1., -3.,  2.])
    """
    zeros = atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.size:
        from .linalg import eigvals

        zeros = eigvals(zeros)
    elif zeros.ndim != 1:
        raise ShapeError(
            f"poly: seq_of_zeros has shape {zeros.shape}", hint="a sequence of zeros, or a square matrix"
        )
    if not zeros.size:
        return 1.0
    dtype = np.dtype(np.mintypecode(dtype_of(zeros).char))
    zeros, result = cast(zeros, dtype), np.ones(1, dtype)
    for i in range(zeros.size):
        result = ops.convolve(result, append(np.ones(1, dtype), ops.negative(zeros[i : i + 1])))
    return result


# -- fits ------------------------------------------
@overload
def polyfit(
    x: ArrayLike, y: ArrayLike, deg: Any, rcond: Any = None, full: Literal[False] = False, w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...  # fmt: skip
@overload
def polyfit(
    x: ArrayLike, y: ArrayLike, deg: Any, rcond: Any = None, full: bool = False, w: ArrayLike | None = None,
    cov: bool | str = False,
) -> tuple[Any, ...]: ...  # fmt: skip
@composite(np.polyfit)
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients of the least-squares polynomial of degree `deg` through points.

    The columns of the Vandermonde matrix are scaled to unit length and the problem goes to `linalg.lstsq`: where the
    points do not determine the polynomial, that is the solution of least norm (of which NumPy warns on plain arrays).

    Args:
        x, y: the points, `y` with shape (n,) or (n, k) for k fits at once.
        rcond: singular values below `rcond` times the greatest count as zero; by default n·eps.
        full: give (coefficients, residuals, rank, singular values, rcond).
        w: weights of the residuals, shape (n,).
        cov: give (coefficients, covariance matrix), the latter scaled by the residuals unless cov="unscaled".

    Raises:
        TypeError: `x` is no sequence or empty, or `y` or `w` has another length.
        ValueError: `deg` is negative, or there are too few points for the covariance.

    >>> slope = fx.grad(lambda y: fnp.polyfit([0.0, 1.0, 2.0], y, 1)[0])
    >>> print(fnp.allclose(slope(fnp.array([1.0, 2.0, 4.0])), [-0.5, 0.0, 0.5]))
    True
    """
    from .linalg import inv, lstsq, qr

    deg, x, y = int(deg), to_floating(x), to_floating(y)
    if deg < 0:
        raise ShapeError(f"polyfit: deg={deg}", hint="a degree from 0 on, 1 for a line")
    if x.ndim != 1 or not x.size:
        raise DTypeError(
            f"polyfit: x has shape {x.shape}, expected one axis", hint="fnp.ravel(x), of one entry at least"
        )
    if y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise DTypeError(
            f"polyfit: y has shape {y.shape}, x {x.shape}",
            hint=f"y of shape {x.shape}, or ({x.size}, k) for k fits at once",
        )
    matrix, target = ops.promote_dtypes([vander(x, deg + 1), y])
    if w is not None:
        w = to_floating(w)
        if w.shape != x.shape:
            raise DTypeError(f"polyfit: w has shape {w.shape}, x {x.shape}", hint=f"w of shape {x.shape}")
        matrix, target = apply_by_rows(ops.multiply, matrix, w), apply_by_rows(ops.multiply, target, w)
    scale = sqrt(sum(ops.multiply(matrix, matrix), 0))
    matrix = ops.divide(matrix, scale)
    rcond = x.size * finfo(dtype_of(x)).eps if rcond is None else rcond
    scaled, residuals, rank, singular = lstsq(matrix, target, rcond)
    coefficients = apply_by_rows(ops.divide, scaled, scale)
    if full:
        return coefficients, residuals, rank, singular, rcond
    if not cov:
        return coefficients
    # (AᵀA)⁻¹ = R⁻¹R⁻ᵀ for A = QR, without the square of the condition number.
    inverse = inv(qr(matrix)[1])
    covariance = ops.divide(inverse @ inverse.T, outer(scale, scale))
    if cov == "unscaled":
        return coefficients, covariance
    freedom = x.size - deg - 1
    if freedom <= 0:
        raise ShapeError(
            f"polyfit: {x.size} points for {deg + 1} coefficients leave nothing to estimate a covariance from",
            hint='a lower deg, more points, or cov="unscaled"',
        )
    apart = ops.subtract(target, matrix @ scaled)
    variance = ops.divide(sum(ops.multiply(apart, apart), 0), freedom)
    return coefficients, ops.multiply(covariance if y.ndim == 1 else expand_dims(covariance, 2), variance)


def apply_by_rows(function: Any, x: Any, factors: Any) -> Any:
    """Apply an elementwise function to the rows (or entries) of x and one factor each."""
    return function(x, ops.reshape(factors, shape=(factors.size, *(1,) * (x.ndim - 1))))


__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]
