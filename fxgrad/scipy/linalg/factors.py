"""Factors of matrices: Cholesky, LU, LDLᴴ, QR and RQ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, UnsupportedError, check_option, ops
from ...numpy.composite import cast, dtype_of
from ...numpy.linalg.sources import DE_HOOG, GILES, WALTER, cite
from ..reference import scipy_function
from .arguments import as_array, as_hermitian_matrix, as_matrix, as_square_matrix, symmetric_matrix
from .systems import apply_transposition, complete_band, solve_by_cholesky, solve_triangle


# -- Cholesky ------------------------------------------
@scipy_function("linalg")
@cite(GILES)
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """U with A = UᴴU, or with `lower` L with A = LLᴴ, of Hermitian positive definite matrices (…, n, n).

    One triangle is read, and the gradient is Hermitian: see `fxgrad.numpy.linalg.cholesky`.

    Raises:
        numpy.linalg.LinAlgError: a matrix is not positive definite.

    >>> fx.grad(lambda a: linalg.cholesky(a)[1, 1])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[ 0.0625, -0.125 ],
           [-0.125 ,  0.25  ]])
    """
    factor = ops.cholesky(as_hermitian_matrix(a, lower, check_finite), hermitian=True)
    return factor if lower else ops.adjoint(factor)


@scipy_function("linalg")
@cite(GILES)
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """(the factor of `cholesky`, lower), for `cho_solve`. Traced factors have zeros beside their triangle.

    >>> fx.grad(lambda a: linalg.cho_factor(a)[0][0, 0])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


@scipy_function("linalg")
@cite(GILES)
def cho_solve(
    c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """A⁻¹b, computed from the result of `cho_factor`, for b (n,) or (…, n, k).

    >>> factor = linalg.cho_factor(fnp.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> fx.grad(lambda b: linalg.cho_solve(factor, b).sum())(fnp.ones(2))
    array([0.25, 1.  ])
    """
    c, lower = c_and_lower
    return solve_by_cholesky(as_square_matrix(c, check_finite), as_array(b, check_finite), lower)


@scipy_function("linalg")
@cite(GILES)
def cholesky_banded(
    ab: ArrayLike, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Array:
    """The factor of a banded Hermitian matrix, as a band: see `solveh_banded` and `cho_solve_banded`.

    Of traced values the whole matrix is factored.

    Raises:
        numpy.linalg.LinAlgError: the matrix is not positive definite.

    >>> fx.grad(lambda ab: linalg.cholesky_banded(ab)[1, 0])(fnp.array([[0.0, 1.0], [4.0, 2.0]]))
    array([[0.  , 0.  ],
           [0.25, 0.  ]])
    """
    ab = as_matrix(ab, check_finite)
    count = ab.shape[-2] - 1
    factor = ops.cholesky(ops.whole_matrix(complete_band(ab, lower), count), hermitian=False)
    factor, sign = (factor, -1) if lower else (ops.adjoint(factor), 1)
    batch = [(0, 0)] * (ab.ndim - 2)
    rows = [
        fnp.pad(fnp.diagonal(factor, sign * k, -2, -1), [*batch, (0, k) if lower else (k, 0)])
        for k in range(count + 1)
    ]
    return fnp.stack(rows if lower else rows[::-1], -2)


# -- LU ------------------------------------------
@scipy_function("linalg")
@cite(DE_HOOG)
def lu(
    a: ArrayLike,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Array, ...]:
    """(P, L, U) with A = PLU, of matrices (…, m, n): L has ones on its diagonal, and P does not move.

    Args:
        permute_l: return (PL, U).
        p_indices: P as positions, with A = L[P] U.

    >>> fx.grad(lambda a: linalg.lu(a)[1][1, 0])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[-0.125,  0.   ],
           [ 0.25 ,  0.   ]])
    """
    a = as_matrix(a, check_finite)
    packed, _, order = ops.lu(a)
    lower, upper = ops.lu_triangles(packed)
    back = fnp.argsort(order, -1)
    if permute_l:
        return ops.take_rows(lower, back), upper
    real = np.real(np.empty(0, dtype_of(a)))
    return (cast(back, ops.INFO) if p_indices else ops.permuted_identity(order, real)), lower, upper


@scipy_function("linalg")
@cite(DE_HOOG)
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """(L below the diagonal and U in one matrix, the row with which each was exchanged), of matrices (…, m, n).

    >>> fx.grad(lambda a: linalg.lu_factor(a)[0][1, 1])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[ 0.25, -0.5 ],
           [-0.5 ,  1.  ]])
    """
    packed, pivots, _ = ops.lu(as_matrix(a, check_finite))
    return packed, pivots


@scipy_function("linalg")
@cite(GILES)
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """A⁻¹b, computed from the result of `lu_factor`, for b (n,) or (…, n, k); with `trans` 1 or 2 for Aᵀ or Aᴴ.

    Raises:
        ValueError: the right-hand side does not fit the factors.

    >>> def solution(a):
    ...     return linalg.lu_solve(linalg.lu_factor(a), fnp.ones(2))
    >>> fx.jacobian(solution)(fnp.array([[2.0, 0.0], [0.0, 4.0]]))[1]
    array([[ 0.    ,  0.    ],
           [-0.125 , -0.0625]])
    """
    packed, pivots = lu_and_piv
    packed, b = as_square_matrix(packed, check_finite), as_array(b, check_finite)
    n, vector = packed.shape[-1], b.ndim == 1
    b = ops.reshape(b, shape=(*b.shape, 1)) if vector else b
    if b.shape[-2] != n:
        raise ShapeError(
            f"Shapes of lu {packed.shape} and b {b.shape} are incompatible", hint=f"b of {n} rows"
        )
    order = ops.row_order(pivots, rows=n)
    batch = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    order = ops.broadcast_to(order, shape=(*batch, n))
    lower, upper = ops.lu_triangles(packed)
    lower, transposed = apply_transposition(lower, trans)
    upper, _ = apply_transposition(upper, trans)
    b = ops.broadcast_to(b, shape=(*batch, *b.shape[-2:]))
    if transposed:
        x = solve_triangle(lower, solve_triangle(upper, b, True), False, True)
        x = ops.take_rows(x, fnp.argsort(order, -1))
    else:
        x = solve_triangle(upper, solve_triangle(lower, ops.take_rows(b, order), True, True), False)
    return ops.reshape(x, shape=x.shape[:-1]) if vector else x


# -- LDL ------------------------------------------
@scipy_function("linalg")
@cite(DE_HOOG)
def ldl(
    A: ArrayLike,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array, Array]:
    """(L, D, perm) with A = LDLᴴ, or LDLᵀ, of a Hermitian or symmetric matrix, by Bunch and Kaufman's pivoting.

    L[perm] is a triangle with ones on its diagonal, D has blocks of one and two; perm and the places of blocks do not
    move. One triangle of A is read, and the gradient is Hermitian or symmetric.

    Args:
        lower: which triangle is read; without it L is an upper triangle.
        hermitian: whether a complex A is Hermitian, or symmetric.

    >>> fx.grad(lambda a: linalg.ldl(a)[1][1, 1])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[ 0.25, -0.5 ],
           [-0.5 ,  1.  ]])
    """
    a = as_square_matrix(A, check_finite)
    whole = as_hermitian_matrix(a, lower) if hermitian else symmetric_matrix(a, lower)
    return tuple(ops.ldl(whole, lower=bool(lower), hermitian=bool(hermitian)))


# -- QR ------------------------------------------
def shape_of_mode(mode: str, words: tuple[str, ...]) -> str:
    """Check a mode, with SciPy's error."""
    check_option("qr", "mode", mode, words)
    if mode == "raw":
        raise UnsupportedError(
            "qr: mode='raw' is LAPACK's own form, which has no derivative rule",
            hint="mode='economic', 'full' or 'r'",
        )
    return mode


@scipy_function("linalg")
@cite(WALTER)
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """(Q, R) with A = QR, unitary Q and an upper triangle R, of matrices (…, m, n).

    Args:
        mode: "full" for shapes (m, m), (m, n); "economic" for (m, k), (k, n) with k = min(m, n); "r" for (R,) alone.
        pivoting: A[:, P] = QR, with moduli on the diagonal of R that do not grow; P comes last, and does not move.

    Raises:
        NotDifferentiableError: the derivative for mode="full" and m > n, where columns of Q are arbitrary.
        ValueError: there is no such `mode`.
        UnsupportedError: `mode` is "raw" and values are traced: LAPACK's own form has no derivative.

    >>> fx.grad(lambda a: linalg.qr(a, mode="economic")[1][0, 0])(fnp.array([[3.0], [4.0]]))
    array([[-0.6],
           [-0.8]])
    """
    shape_of_mode(mode, ("full", "qr", "r", "economic", "raw"))
    a = as_matrix(a, check_finite)
    m, n = a.shape[-2:]
    order: tuple = ()
    if pivoting:
        order = (ops.column_order(a),)
        a = ops.matrix_transpose(ops.take_rows(ops.matrix_transpose(a), order[0]))
    if mode == "r":  # without a Q, whose last columns would have no derivative
        _, r = ops.qr(a, complete=False)
        if m > n:
            r = fnp.pad(r, [(0, 0)] * (r.ndim - 2) + [(0, m - n), (0, 0)])
        return (r, *order)
    return (*ops.qr(a, complete=mode != "economic"), *order)


@scipy_function("linalg")
@cite(WALTER)
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """(cQ, R), or with mode="left" (Qc, R), for the economic QR of a, and the pivots if they are asked for.

    Args:
        c: a matrix, or a vector that stands for a row, or with mode="left" for a column.
        conjugate: the conjugate of Q stands for Q.

    Raises:
        ValueError: `mode` is neither "left" nor "right".
        UnsupportedError: the product takes columns of Q beyond those of R, which are an arbitrary basis.

    >>> a = fnp.array([[3.0], [4.0]])
    >>> fx.grad(lambda c: linalg.qr_multiply(a, c)[0].sum())(fnp.ones((1, 2)))
    array([[-0.6, -0.8]])
    """
    check_option("qr_multiply", "mode", mode, ("left", "right"))
    q, *others = qr(a, mode="economic", pivoting=pivoting)
    q, c = fnp.conj(q) if conjugate else q, as_array(c)
    if mode == "left" and c.shape[-1 if c.ndim == 1 else -2] == q.shape[-2] > q.shape[-1]:
        raise UnsupportedError(
            "qr_multiply: a product with all columns of Q, which are an arbitrary basis beyond those of R",
            hint="c of as many rows as R has",
        )
    return (fnp.matmul(c, q) if mode == "right" else fnp.matmul(q, c), *others)


@scipy_function("linalg")
@cite(WALTER)
def rq(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """(R, Q) with A = RQ, unitary Q and an upper triangle R, of matrices (…, m, n); R alone with mode="r".

    Args:
        mode: "full" for shapes (m, n), (n, n); "economic" for (m, k), (k, n) with k = min(m, n).

    Raises:
        ValueError: there is no such `mode`.
        UnsupportedError: `mode` is "raw" and values are traced: LAPACK's own form has no derivative.

    >>> fx.grad(lambda a: linalg.rq(a, mode="economic")[0][0, 0])(fnp.array([[3.0, 4.0]]))
    array([[-0.6, -0.8]])
    """
    shape_of_mode(mode, ("full", "r", "economic"))
    a = as_matrix(a, check_finite)
    m, n = a.shape[-2:]

    def reverse(x: Any) -> Any:
        return fnp.flip(x, (-2, -1))

    q, r = ops.qr(ops.adjoint(reverse(a)), complete=mode == "full")
    r, q = reverse(ops.adjoint(r)), reverse(ops.adjoint(q))
    if mode == "r":
        return fnp.pad(r, [(0, 0)] * (a.ndim - 2) + [(0, 0), (n - m, 0)]) if n > m else r
    return r, q


__all__ = [
    "cho_factor", "cho_solve", "cholesky", "cholesky_banded", "ldl", "lu", "lu_factor", "lu_solve", "qr",
    "qr_multiply", "rq",
]  # fmt: skip
