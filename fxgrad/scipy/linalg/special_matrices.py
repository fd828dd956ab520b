"""Structured matrices. Constant ones are SciPy's own; for the others, SciPy determines where the entries of the
arguments are placed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, ops
from ...numpy import contraction
from ...numpy.composite import cast, dtype_of, kind, operand
from ...numpy.contraction import kron
from ...numpy.creation import tri
from ..reference import library, scipy_function
from .arguments import as_array, is_known_true


# -- entries at places ------------------------------------------
def arrange(build: Callable[..., Any], *blocks: Any, axes: int = 1) -> Any:
    """Build a matrix of the entries of arrays, all of the same batch axes before the last `axes`: `build` does so of
    NumPy's arrays."""
    blocks = tuple(ops.promote_dtypes(list(blocks)))
    batch = np.broadcast_shapes(*[x.shape[: x.ndim - axes] for x in blocks])
    sizes = [prod(x.shape[x.ndim - axes :]) for x in blocks]
    starts = np.cumsum([1, *sizes])
    places = [
        np.arange(start, start + size).reshape(x.shape[x.ndim - axes :])
        for x, start, size in zip(blocks, starts, sizes)
    ]
    table = np.asarray(build(*places)).astype(np.intp)
    parts = [
        ops.broadcast_to(ops.reshape(x, shape=(*x.shape[: x.ndim - axes], n)), shape=(*batch, n))
        for x, n in zip(blocks, sizes)
    ]
    entries = fnp.concatenate([fnp.zeros((*batch, 1), dtype_of(blocks[0])), *parts], -1)
    return fnp.take(entries, table, axis=-1)


def scipy_builder(name: str) -> Callable[..., Any]:
    """Return SciPy's function for a form."""
    return getattr(library("linalg", f"fxgrad.scipy.linalg.{name}"), name)


def at_least_vector(value: Any) -> Any:
    """Return an argument of one axis or more."""
    x = operand(value)
    return ops.reshape(x, shape=(1,)) if x.ndim == 0 else x


def as_vector(value: ArrayLike, name: str) -> Array:
    """Return an argument of one axis or more, and of some entries."""
    x = at_least_vector(value)
    if not x.shape[-1]:
        raise ShapeError(f"{name}: a vector without entries, of shape {x.shape}", hint="look at x.size first")
    return x


@scipy_function("linalg")
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The Toeplitz matrices (…, m, n) of first columns c (…, m) and first rows r (…, n), whose first entry is not read.

    r is the conjugate of c unless it is given.

    >>> fx.grad(lambda c: linalg.toeplitz(c).sum())(fnp.array([1.0, 2.0, 3.0]))
    array([3., 4., 2.])
    """
    column = at_least_vector(c)
    return arrange(scipy_builder("toeplitz"), column, fnp.conj(column) if r is None else at_least_vector(r))


@scipy_function("linalg")
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The Hankel matrices (…, m, n) of first columns c (…, m) and last rows r (…, n), whose first entry is not read.

    r is zero unless it is given.

    Raises:
        ValueError: a vector has no entries.

    >>> fx.grad(lambda c: linalg.hankel(c).sum())(fnp.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    c = as_vector(c, "hankel")
    return arrange(scipy_builder("hankel"), c, *([] if r is None else [as_vector(r, "hankel")]))


@scipy_function("linalg")
def circulant(c: ArrayLike) -> Array:
    """The circulant matrices (…, n, n) of first columns c (…, n).

    Raises:
        ValueError: a vector has no entries.

    >>> fx.grad(lambda c: linalg.circulant(c)[0].sum())(fnp.array([1.0, 2.0, 3.0]))
    array([1., 1., 1.])
    """
    return arrange(scipy_builder("circulant"), as_vector(c, "circulant"))


@scipy_function("linalg")
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """The Leslie matrices of fecundities f (…, n) and survival rates s (…, n − 1).

    Raises:
        ValueError: a vector has no entries.

    >>> fx.grad(lambda s: linalg.leslie(fnp.array([0.1, 2.0]), s)[1, 0])(fnp.array([0.5]))
    array([1.])
    """
    return arrange(scipy_builder("leslie"), as_vector(f, "leslie"), as_vector(s, "leslie"))


@scipy_function("linalg")
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrices whose product with v of (n,) is convolve(a, v, mode).

    Raises:
        ValueError: a vector has no entries.

    >>> fx.grad(lambda a: linalg.convolution_matrix(a, 2).sum())(fnp.array([1.0, 2.0, 3.0]))
    array([2., 2., 2.])
    """
    build = scipy_builder("convolution_matrix")
    return arrange(lambda places: build(places, n, mode), as_vector(a, "convolution_matrix"))


@scipy_function("linalg")
def block_diag(*arrs: ArrayLike) -> Array:
    """The matrices with blocks (…, mᵢ, nᵢ) on the diagonal; vectors count as rows.

    >>> fx.grad(lambda x: linalg.block_diag(x, x).sum())(fnp.array([1.0, 2.0]))
    array([2., 2.])
    """
    blocks = [fnp.atleast_2d(operand(x)) for x in arrs]
    return arrange(scipy_builder("block_diag"), *blocks, axes=2)


@scipy_function("linalg")
def diagsvd(s: ArrayLike, M: int, N: int) -> Array:
    """The matrix (M, N) with singular values on its diagonal.

    Raises:
        ValueError: a vector has no entries.

    >>> fx.grad(lambda s: linalg.diagsvd(s, 2, 3)[1, 1])(fnp.array([2.0, 1.0]))
    array([0., 1.])
    """
    build = scipy_builder("diagsvd")
    return arrange(lambda places: build(places, M, N), as_vector(s, "diagsvd"))


def affine_form(name: str, a: Any) -> Any:
    """Return the matrix of a monic polynomial, which is affine in its other coefficients: the differences that each of
    them makes say how."""
    a = as_array(a)
    if a.shape[-1] < 2:
        raise ShapeError(
            f"{name}: at least two coefficients are needed, the operand has shape {a.shape}",
            hint="the coefficients of a polynomial of degree 1 or more, the highest first",
        )
    if is_known_true(ops.not_equal(ops.stop_gradient(a[..., 0]), 0)) is False:
        raise ShapeError(f"{name}: the first coefficient must not be zero", hint='fnp.trim_zeros(a, "f")')
    count, build = a.shape[-1] - 1, scipy_builder(name)
    constant = build(np.eye(1, count + 1)[0])
    slopes = np.stack([build(row) - constant for row in np.eye(1, count + 1) + np.eye(count, count + 1, 1)])
    return cast(constant, dtype_of(a)) + contraction.tensordot(
        a[..., 1:] / a[..., :1], cast(slopes, dtype_of(a)), 1
    )


@scipy_function("linalg")
def companion(a: ArrayLike) -> Array:
    """The companion matrices (…, n − 1, n − 1) of polynomials with coefficients a (…, n), the leading one first.

    Raises:
        ValueError: there are fewer than two coefficients, or the first is 0.

    >>> fx.grad(lambda a: linalg.companion(a).sum())(fnp.array([1.0, 2.0, 3.0]))
    array([ 5., -1., -1.])
    """
    return affine_form("companion", a)


@scipy_function("linalg")
def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrices, of five diagonals, of polynomials: see `companion`.

    Raises:
        ValueError: there are fewer than two coefficients, or the first is 0.

    >>> fx.grad(lambda a: linalg.fiedler_companion(a).sum())(fnp.array([1.0, 2.0, 3.0]))
    array([ 5., -1., -1.])
    """
    return affine_form("fiedler_companion", a)


@scipy_function("linalg")
def fiedler(a: ArrayLike) -> Array:
    """The matrices |aᵢ − aⱼ| of a (…, n); the derivative of |0| is 0.

    Raises:
        ValueError: a vector has no entries.

    >>> fx.grad(lambda a: linalg.fiedler(a).sum())(fnp.array([1.0, 2.0, 4.0]))
    array([-4.,  0.,  4.])
    """
    a = as_vector(a, "fiedler")
    return fnp.abs(a[..., :, None] - a[..., None, :])


@scipy_function("linalg")
def khatri_rao(a: ArrayLike, b: ArrayLike) -> Array:
    """The matrices whose columns are the Kronecker products of those of a (…, m, k) and b (…, n, k).

    Raises:
        ValueError: the matrices have different numbers of columns.

    >>> fx.grad(lambda a: linalg.khatri_rao(a, fnp.ones((3, 2))).sum())(fnp.ones((1, 2)))
    array([[3., 3.]])
    """
    a, b = operand(a), operand(b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"khatri_rao: a has shape {a.shape} and b {b.shape}, whose columns are not equally many",
            hint="a[:, None] makes one column of a vector; .T turns rows into columns",
        )
    product = a[..., :, None, :] * b[..., None, :, :]
    return ops.reshape(product, shape=(*product.shape[:-3], a.shape[-2] * b.shape[-2], a.shape[-1]))


# -- constants ------------------------------------------
@scipy_function("linalg", derivative="")
def hilbert(n: int) -> Array:
    """The Hilbert matrix 1/(i + j + 1) of order n.

    >>> fx.scipy.linalg.hilbert(2).round(6)
    array([[1.      , 0.5     ],
           [0.5     , 0.333333]])
    """
    return scipy_builder("hilbert")(n)


@scipy_function("linalg", derivative="")
def invhilbert(n: int, exact: bool = False) -> Array:
    """The inverse of the Hilbert matrix of order n; with `exact` of integers.

    >>> fx.scipy.linalg.invhilbert(2)
    array([[ 4., -6.],
           [-6., 12.]])
    """
    return scipy_builder("invhilbert")(n, exact)


@scipy_function("linalg", derivative="")
def hadamard(n: int, dtype: Any = int) -> Array:
    """The Hadamard matrix of order n, a power of two: ValueError for others.

    >>> fx.scipy.linalg.hadamard(2)
    array([[ 1,  1],
           [ 1, -1]])
    """
    return scipy_builder("hadamard")(n, dtype)


@scipy_function("linalg", derivative="")
def pascal(n: int, kind: str = "symmetric", exact: bool = True) -> Array:
    """The Pascal matrix of binomial coefficients of order n: "symmetric", "lower" or "upper".

    >>> fx.scipy.linalg.pascal(3, "lower").astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 2, 1]])
    """
    return scipy_builder("pascal")(n, kind, exact)


@scipy_function("linalg", derivative="")
def invpascal(n: int, kind: str = "symmetric", exact: bool = True) -> Array:
    """The inverse of the Pascal matrix of order n.

    >>> fx.scipy.linalg.invpascal(2).astype(int)
    array([[ 2, -1],
           [-1,  1]])
    """
    return scipy_builder("invpascal")(n, kind, exact)


@scipy_function("linalg", derivative="")
def dft(n: int, scale: str | None = None) -> Array:
    """The matrix of the discrete Fourier transform of order n; `scale` is None, "sqrtn" or "n".

    >>> fx.scipy.linalg.dft(2).real.round(6)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    return scipy_builder("dft")(n, scale)


@scipy_function("linalg", derivative="")
def helmert(n: int, full: bool = False) -> Array:
    """The Helmert matrix of order n, without its first, constant row unless `full`.

    >>> fx.scipy.linalg.helmert(2).round(6)
    array([[ 0.707107, -0.707107]])
    """
    return scipy_builder("helmert")(n, full)


# -- questions ------------------------------------------
def is_within(difference: Any, a: Any, atol: float | None, rtol: float | None) -> Any:
    """Return whether differences from a are zero, up to tolerances if any is given."""
    size = ops.absolute(difference)
    return ops.less_equal(size, (atol or 0.0) + (rtol or 0.0) * ops.absolute(a))


def matches(a: Any, other: Any, atol: float | None, rtol: float | None) -> Any:
    """Return whether matrices equal others."""
    return ops.reduce_all(is_within(a - other, other, atol, rtol), axes=(a.ndim - 2, a.ndim - 1))


@scipy_function("linalg", derivative="")
def issymmetric(a: ArrayLike, atol: float | None = None, rtol: float | None = None) -> Any:
    """Whether square matrices equal their transposes, to atol + rtol·|a|. It has no derivative.

    >>> fx.scipy.linalg.issymmetric(fnp.array([[1.0, 2.0], [2.0, 1.0]]))
    True
    """
    a = ops.stop_gradient(operand(a))
    return matches(a, fnp.matrix_transpose(a), atol, rtol)


@scipy_function("linalg", derivative="")
def ishermitian(a: ArrayLike, atol: float | None = None, rtol: float | None = None) -> Any:
    """Whether square matrices equal their adjoints, to atol + rtol·|a|. It has no derivative.

    >>> fx.scipy.linalg.ishermitian(fnp.array([[1.0, 2j], [-2j, 1.0]]))
    True
    """
    a = ops.stop_gradient(operand(a))
    other = fnp.matrix_transpose(a)
    return matches(a, fnp.conj(other) if kind(a) == "c" else other, atol, rtol)


@scipy_function("linalg", derivative="")
def bandwidth(a: ArrayLike) -> Any:
    """(the number of diagonals below the main one that are not zero, the number above). It has no derivative.

    >>> fx.scipy.linalg.bandwidth(fnp.array([[1.0, 0.0], [2.0, 1.0]]))
    (1, 0)
    """
    a = ops.stop_gradient(operand(a))
    m, n = a.shape[-2:]
    offset = np.arange(n) - np.arange(m)[:, None]
    used = ops.not_equal(a, 0)
    return tuple(fnp.max(ops.where(used, sign * offset, 0), (-2, -1), initial=0) for sign in (-1, 1))


__all__ = [
    "bandwidth", "block_diag", "circulant", "companion", "convolution_matrix", "dft", "diagsvd", "fiedler",
    "fiedler_companion", "hadamard", "hankel", "helmert", "hilbert", "invhilbert", "invpascal", "ishermitian",
    "issymmetric", "khatri_rao", "kron", "leslie", "pascal", "toeplitz", "tri",
]  # fmt: skip
