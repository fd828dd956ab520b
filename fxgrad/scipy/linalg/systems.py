"""Linear systems, inverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    Axis,
    ConcretizationError,
    ShapeError,
    check_option,
    concretize,
    fit_product,
    ops,
)
from ...numpy import linalg as numpy_linalg
from ...numpy.composite import dtype_of, kind
from ...numpy.linalg.matrices import batch_identity
from ...numpy.linalg.solving import solve_broadcast
from ...numpy.linalg.sources import GILES, cite
from ..reference import scipy_function
from .arguments import (
    as_array,
    as_hermitian_matrix,
    as_matrix,
    as_square_matrix,
    epsilon,
    is_known_true,
    require_regular,
    symmetric_matrix,
)
from .special_matrices import toeplitz

STRUCTURES = {
    None: "general", "gen": "general", "sym": "symmetric", "her": "hermitian", "pos": "positive definite",
    **{name: name for name in ("general", "symmetric", "hermitian", "positive definite", "diagonal", "tridiagonal",
                               "banded", "upper triangular", "lower triangular")},
}  # fmt: skip


def structure_of(assume_a: str | None) -> str:
    """Return the name of a structure; raise ValueError for a word that is none."""
    check_option("solve", "assume_a", assume_a, [s for s in STRUCTURES if s], aliases=(None,))
    return STRUCTURES[assume_a]


def structured_matrix(a: Any, structure: str, lower: bool) -> Any:
    """Return the matrix of which a structure says what is read."""
    n = a.shape[-1]
    if structure in ("hermitian", "positive definite"):
        return as_hermitian_matrix(a, lower)
    if structure == "symmetric":
        return symmetric_matrix(a, lower)
    read = {
        "diagonal": np.eye(n, dtype=bool),
        "tridiagonal": np.tri(n, k=1, dtype=bool) & ~np.tri(n, k=-2, dtype=bool),
        "lower triangular": np.tri(n, dtype=bool),
        "upper triangular": ~np.tri(n, k=-1, dtype=bool),
    }.get(structure)
    return a if read is None else ops.where(read, a, 0)


def solve_columns(primitive: Any, a: Any, b: Any, **params: Any) -> Any:
    """Apply a solver to matrices, or what stands for them, and right-hand sides (n,) or (…, n, k)."""
    a, b = ops.promote_dtypes([a, b])
    if b.ndim < 1 or b.shape[-2 if b.ndim > 1 else 0] != a.shape[-1]:
        raise ShapeError(
            f"incompatible shapes: {a.shape} of the matrix and {b.shape} of the right-hand side",
            hint=fit_product(a.shape, b.shape) if b.ndim else "b[None], which has an axis",
        )
    vector = b.ndim == 1
    x = solve_broadcast(primitive, a, ops.reshape(b, shape=(*b.shape, 1)) if vector else b, **params)
    return ops.reshape(x, shape=x.shape[:-1]) if vector else x


def solve_triangle(a: Any, b: Any, lower: bool, unit_diagonal: bool = False) -> Any:
    """A⁻¹b for a triangle."""
    return solve_columns(ops.triangular_solve, a, b, factors=(), lower=lower, unit_diagonal=unit_diagonal)


def solve_by_cholesky(factor: Any, b: Any, lower: bool) -> Any:
    """A⁻¹b for A = LLᴴ, or UᴴU."""
    lower_factor = factor if lower else ops.adjoint(factor)
    return solve_triangle(ops.adjoint(lower_factor), solve_triangle(lower_factor, b, True), False)


def band_of_tridiagonal(a: Any) -> Any:
    """Return the three diagonals of matrices as the rows of a band."""
    below, main, above = (fnp.diagonal(a, k, -2, -1) for k in (-1, 0, 1))
    batch = [(0, 0)] * (a.ndim - 2)
    rows = [fnp.pad(above, [*batch, (1, 0)]), main, fnp.pad(below, [*batch, (0, 1)])]
    return fnp.stack(rows, -2)


@scipy_function("linalg")
@cite(GILES)
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Array:
    """x with ax = b, for matrices a (…, n, n) and b (…, n, k), or a vector b (n,).

    Args:
        lower: which triangle is read where `assume_a` says that one is.
        assume_a: what a is: "general", "diagonal", "tridiagonal", "banded", "upper triangular", "lower triangular",
            "symmetric", "hermitian", "positive definite". Entries beyond the structure are not read; of symmetric and
            Hermitian matrices the gradient is symmetric or Hermitian.
        transposed: solve aᵀx = b.
        overwrite_a, overwrite_b: ignored for traced values.

    Raises:
        numpy.linalg.LinAlgError: a matrix is singular, or not positive definite where that is assumed.
        ValueError: NaN or infinity with `check_finite`, where values are known.

    >>> a, b = fnp.array([[2.0, 0.0], [0.0, 4.0]]), fnp.array([2.0, 4.0])
    >>> fx.grad(lambda a: linalg.solve(a, b, assume_a="pos").sum())(a)
    array([[-0.5  , -0.375],
           [-0.375, -0.25 ]])
    """
    structure = structure_of(assume_a)
    a, b = as_square_matrix(a, check_finite), as_array(b, check_finite)
    if structure == "tridiagonal":
        a = ops.matrix_transpose(a) if transposed else a
        return solve_columns(ops.banded_solve, band_of_tridiagonal(a), b, factors=(), lower=1, upper=1)
    whole = structured_matrix(a, structure, lower)
    whole = ops.matrix_transpose(whole) if transposed else whole
    if structure == "positive definite":
        return solve_by_cholesky(ops.cholesky(whole, hermitian=True), b, True)
    if structure in ("diagonal", "lower triangular", "upper triangular"):
        require_regular(ops.diagonal(whole))
        return solve_triangle(whole, b, (structure != "upper triangular") != transposed)
    return solve_columns(ops.solve, whole, b)


@scipy_function("linalg")
@cite(GILES)
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """x with ax = b for triangles a (…, n, n) and b (…, n, k), or a vector b (n,).

    One triangle is read, and the gradient is zero beside it.

    Args:
        trans: 0 or "N" for a itself, 1 or "T" for its transpose, 2 or "C" for its adjoint.
        lower: which triangle is read.
        unit_diagonal: ones stand on the diagonal, which is not read.

    Raises:
        numpy.linalg.LinAlgError: a zero on the diagonal, where values are known; elsewhere x is NaN then.
        ValueError: the right-hand side does not fit the matrix, or there is no such `trans`.

    >>> a, b = fnp.array([[2.0, 0.0], [1.0, 4.0]]), fnp.array([2.0, 5.0])
    >>> fx.grad(lambda a: linalg.solve_triangular(a, b, lower=True).sum())(a)
    array([[-0.375,  0.   ],
           [-0.25 , -0.25 ]])
    """
    a, b = as_square_matrix(a, check_finite), as_array(b, check_finite)
    if not unit_diagonal:
        require_regular(ops.diagonal(a))
    a, flipped = apply_transposition(a, trans)
    return solve_triangle(a, b, bool(lower) != flipped, bool(unit_diagonal))


def apply_transposition(a: Any, trans: int | str) -> tuple[Any, bool]:
    """Return a, aᵀ or aᴴ, and whether it was transposed."""
    check_option("the system", "trans", trans, (0, 1, 2, "N", "T", "C"))
    if trans in (0, "N"):
        return a, False
    return (ops.matrix_transpose if trans in (1, "T") else ops.adjoint)(a), True


# -- bands ------------------------------------------
@scipy_function("linalg")
@cite(GILES)
def solve_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """x with ax = b for a banded matrix a, whose diagonals are the rows of `ab`: ab[u + i − j, j] is a[i, j].

    Args:
        l_and_u: the numbers (l, u) of diagonals below and above the main one.
        ab: (…, l + u + 1, n).
        b: (n,) or (…, n, k).

    Raises:
        numpy.linalg.LinAlgError: the matrix is singular.
        ValueError: `ab` has another number of rows.

    >>> ab = fnp.array([[0.0, 1.0], [2.0, 4.0]])  # [[2, 1], [0, 4]]
    >>> fx.grad(lambda ab: linalg.solve_banded((0, 1), ab, fnp.array([3.0, 4.0])).sum())(ab)
    array([[ 0.   , -0.5  ],
           [-0.5  , -0.125]])
    """
    lower, upper = map(int, l_and_u)
    ab, b = as_matrix(ab, check_finite), as_array(b, check_finite)
    if ab.shape[-2] != lower + upper + 1:
        raise ShapeError(
            f"solve_banded: ab has {ab.shape[-2]} rows of diagonals, l_and_u={tuple(l_and_u)} takes "
            f"{lower + upper + 1}",
            hint=f"l_and_u=({ab.shape[-2] // 2}, {ab.shape[-2] - ab.shape[-2] // 2 - 1}), say",
        )
    return solve_columns(ops.banded_solve, ab, b, factors=(), lower=lower, upper=upper)


def complete_band(ab: Any, lower: bool) -> Any:
    """Return all diagonals of the Hermitian matrix that those of one triangle give."""
    count = ab.shape[-2]
    if kind(ab) == "c":  # the main diagonal is real
        main = np.arange(count)[:, None] == (0 if lower else count - 1)
        ab = ops.where(main, ops.make_complex(ops.real(ab), 0.0), ab)
    other = fnp.conj(ops.transpose_band(ab, 0 if lower else count - 1))
    parts = [other[..., :-1, :], ab] if lower else [ab, other[..., 1:, :]]
    return fnp.concatenate(parts, -2)


@scipy_function("linalg")
@cite(GILES)
def solveh_banded(
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array:
    """x with ax = b for a Hermitian positive definite banded matrix, of which the diagonals of one triangle are given.

    The derivative is that by the entries of `ab`, each of which stands for two of the matrix. Traced matrices are not
    checked to be definite.

    Args:
        ab: (…, u + 1, n); ab[u + i − j, j] is a[i, j], or with `lower` ab[i − j, j].
        b: (n,) or (…, n, k).

    Raises:
        ValueError: the right-hand side does not fit the matrix.

    >>> ab = fnp.array([[0.0, 1.0], [2.0, 2.0]])  # [[2, 1], [1, 2]]
    >>> fx.grad(lambda ab: linalg.solveh_banded(ab, fnp.array([3.0, 3.0])).sum())(ab).round(12)
    array([[ 0.        , -0.66666667],
           [-0.33333333, -0.33333333]])
    """
    ab, b = as_matrix(ab, check_finite), as_array(b, check_finite)
    count = ab.shape[-2] - 1
    whole = complete_band(ab, lower)
    return solve_columns(ops.banded_solve, whole, b, factors=(), lower=count, upper=count)


@scipy_function("linalg")
@cite(GILES)
def cho_solve_banded(
    cb_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """A⁻¹b, computed from the result of `cholesky_banded`.

    Raises:
        ValueError: the right-hand side does not fit the matrix.

    >>> def solution(ab):
    ...     return linalg.cho_solve_banded((linalg.cholesky_banded(ab), False), fnp.array([3.0, 3.0]))
    >>> fx.jvp(solution, (fnp.array([[0.0, 1.0], [2.0, 2.0]]),), (fnp.ones((2, 2)),))[1].round(12)
    array([-0.66666667, -0.66666667])
    """
    cb, lower = cb_and_lower
    cb, b = as_matrix(cb, check_finite), as_array(b, check_finite)
    count = cb.shape[-2] - 1
    other = fnp.conj(ops.transpose_band(cb, 0 if lower else count))
    below, above = (cb, other) if lower else (other, cb)
    y = solve_columns(ops.banded_solve, below, b, factors=(), lower=count, upper=0)
    return solve_columns(ops.banded_solve, above, y, factors=(), lower=0, upper=count)


# -- Toeplitz ------------------------------------------
def toeplitz_matrix(c_or_cr: Any, check_finite: bool) -> Any:
    """Return the matrix of a column, or of a column and a row."""
    parts = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    return toeplitz(*(as_array(x, check_finite) for x in parts))


@scipy_function("linalg")
def solve_toeplitz(c_or_cr: Any, b: ArrayLike, check_finite: bool = True) -> Array:
    """x with ax = b for the Toeplitz matrix a of a first column c, or of (c, r) with a first row r.

    Of traced values the matrix is made and factored.

    Args:
        c_or_cr: c of (…, n), for which r is its conjugate, or (c, r).
        b: (n,) or (…, n, k).

    Raises:
        ValueError: the right-hand side does not fit the matrix.

    >>> fx.grad(lambda c: linalg.solve_toeplitz(c, fnp.array([3.0, 3.0])).sum())(fnp.array([2.0, 1.0])).round(12)
    array([-0.66666667, -0.66666667])
    """
    return solve_columns(ops.solve, toeplitz_matrix(c_or_cr, check_finite), as_array(b, check_finite))


@scipy_function("linalg")
def matmul_toeplitz(c_or_cr: Any, x: ArrayLike, check_finite: bool = False, workers: Any = None) -> Array:
    """The product of a Toeplitz matrix (see `solve_toeplitz`) and x of (n,) or (…, n, k).

    >>> fx.grad(lambda c: linalg.matmul_toeplitz((c, fnp.array([1.0, 5.0])), fnp.ones(2)).sum())(fnp.ones(2))
    array([2., 1.])
    """
    return fnp.matmul(toeplitz_matrix(c_or_cr, check_finite), as_array(x, check_finite))


@scipy_function("linalg")
def solve_circulant(
    c: ArrayLike,
    b: ArrayLike,
    singular: str = "raise",
    tol: float | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Array:
    """x with ax = b for the circulant matrix a of a first column c, by Fourier transforms.

    Args:
        singular: "raise" an error for a matrix that is singular, where values are known, or take least squares
            ("lstsq").
        tol: the modulus of an eigenvalue up to which it counts as zero.
        caxis, baxis, outaxis: the axes of vectors in c, b and the result; the others broadcast.

    Raises:
        numpy.linalg.LinAlgError: an eigenvalue counts as zero.
        ValueError: the shapes do not fit, or there is no such `singular`.

    >>> fx.grad(lambda c: linalg.solve_circulant(c, fnp.array([3.0, 3.0])).sum())(fnp.array([2.0, 1.0])).round(12)
    array([-0.66666667, -0.66666667])
    """
    check_option("solve_circulant", "singular", singular, ("raise", "lstsq"))
    c, b = fnp.moveaxis(as_array(c), caxis, -1), fnp.moveaxis(as_array(b), baxis, -1)
    if c.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"solve_circulant: c has shape {c.shape} and b {b.shape}, whose last axes differ",
            hint="caxis= and baxis=, along which their sizes agree",
        )
    real = kind(c) != "c" and kind(b) != "c"
    values, right = fnp.fft.fft(c), fnp.fft.fft(b)
    size = ops.absolute(ops.stop_gradient(values))
    bound = fnp.max(size, -1, keepdims=True) * (size.shape[-1] * epsilon(values)) if tol is None else tol
    zero = ops.less_equal(size, bound)
    if singular == "raise":
        if is_known_true(ops.logical_not(zero)) is False:
            raise np.linalg.LinAlgError("near singular circulant matrix.")
        q = right / values
    else:
        q = ops.where(zero, 0, right / ops.where(zero, 1, values))
    x = fnp.fft.ifft(q)
    return fnp.moveaxis(ops.real(x) if real else x, -1, outaxis)


# -- inverses and least squares ------------------------------------------
@scipy_function("linalg")
@cite(GILES)
def inv(
    a: ArrayLike,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Array:
    """The inverses of matrices (…, n, n); `assume_a` and `lower` as in `solve`.

    Raises:
        numpy.linalg.LinAlgError: a matrix is singular.
        ValueError: there is no such structure `assume_a`.

    >>> fx.grad(lambda a: linalg.inv(a).sum())(fnp.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[-0.25  , -0.125 ],
           [-0.125 , -0.0625]])
    """
    a = as_square_matrix(a, check_finite)
    return numpy_linalg.inv(structured_matrix(a, structure_of(assume_a), lower))


@scipy_function("linalg")
@cite(GILES)
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of matrices (…, n, n), singular ones too: see `fxgrad.numpy.linalg.det`.

    >>> fx.grad(linalg.det)(fnp.array([[1.0, 0.0], [0.0, 0.0]]))
    array([[0., 0.],
           [0., 1.]])
    """
    return numpy_linalg.det(as_square_matrix(a, check_finite))


def known_rank(rank: Any) -> Any:
    """Return a rank as a number, where it is known."""
    try:
        return int(concretize(rank, "the rank"))
    except (ConcretizationError, TypeError, ValueError):
        return rank


def pseudo_inverse(a: Any, atol: float | None, rtol: float | None, return_rank: bool) -> Any:
    """A⁺ of matrices, and the rank if it is wanted."""
    if not a.size:
        empty = fnp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype_of(a))
        return (empty, 0) if return_rank else empty
    u, s, vh = ops.singular_factors_of(a)
    relative = max(a.shape[-2:]) * epsilon(a) if rtol is None else rtol
    absolute = atol or 0.0
    if absolute < 0 or relative < 0:
        raise ShapeError(
            f"pinv: atol={absolute} and rtol={relative}, of which one is negative",
            hint="atol=0, rtol=None, the defaults",
        )
    large = ops.greater(s, s[..., :1] * relative + absolute)
    factors = u, ops.where(large, s, 0), vh
    inverse = ops.lstsq(a, batch_identity(a, a.shape[-2]), *factors, rcond=0.0)
    return (inverse, known_rank(fnp.count_nonzero(large, -1))) if return_rank else inverse


@scipy_function("linalg")
def pinv(
    a: ArrayLike,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The pseudo-inverses (Moore and Penrose) of matrices (…, m, n), and their ranks if `return_rank`.

    Singular values up to atol + rtol·(the greatest) count as zeros; rtol is max(m, n)·ε unless it is given. The
    derivative is that along directions that keep the rank (G. H. Golub and V. Pereyra 1973).

    Raises:
        ValueError: a tolerance is negative.

    >>> fx.grad(lambda a: linalg.pinv(a).sum())(fnp.array([[1.0], [1.0]]))
    array([[-0.5],
           [-0.5]])
    """
    return pseudo_inverse(as_matrix(a, check_finite), atol, rtol, return_rank)


@scipy_function("linalg")
def pinvh(
    a: ArrayLike,
    atol: float | None = None,
    rtol: float | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The pseudo-inverses of Hermitian matrices, of which one triangle is read: see `pinv`. Gradients are Hermitian.

    Source of the derivative: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems", 1973.

    Raises:
        ValueError: a tolerance is negative.

    >>> fx.grad(lambda a: linalg.pinvh(a)[1, 1])(fnp.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[ 0.    ,  0.    ],
           [ 0.    , -0.0625]])
    """
    return pseudo_inverse(as_hermitian_matrix(a, lower, check_finite), atol, rtol, return_rank)


@scipy_function("linalg")
def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Array, Array, Any, Array]:
    """The shortest x among those that minimize ‖ax − b‖, for a matrix a (m, n) and b (m,) or (m, k).

    Source of the derivative: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems", 1973.

    Args:
        cond: singular values up to this part of the greatest count as zeros; ε unless it is given.

    Returns:
        (x, sums of squared residuals, rank, singular values). The second is empty if m ≤ n or the rank is less than n;
        under `jit` and `vmap`, where the rank is not known, it has its entries if m > n.

    >>> a, b = fnp.array([[1.0], [1.0], [1.0], [1.0]]), fnp.array([1.0, 3.0, 5.0, 3.0])
    >>> fx.grad(lambda b: linalg.lstsq(a, b)[0][0])(b).round(12)
    array([0.25, 0.25, 0.25, 0.25])
    """
    a, b = as_matrix(a, check_finite), as_array(b, check_finite)
    x, residuals, rank, s = numpy_linalg.lstsq(a, b, epsilon(a) if cond is None else cond)
    if b.ndim == 1 and residuals.size:
        residuals = ops.reshape(residuals, shape=())
    return x, residuals, known_rank(rank), s


@scipy_function("linalg")
def norm(
    a: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False, check_finite: bool = True
) -> Array:
    """The norm of vectors or matrices: see `fxgrad.numpy.linalg.norm`.

    >>> fx.grad(linalg.norm)(fnp.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    return numpy_linalg.norm(as_array(a, check_finite), ord, axis, keepdims)


__all__ = [
    "cho_solve_banded", "det", "inv", "lstsq", "matmul_toeplitz", "norm", "pinv", "pinvh", "solve", "solve_banded",
    "solve_circulant", "solve_toeplitz", "solve_triangular", "solveh_banded",
]  # fmt: skip
