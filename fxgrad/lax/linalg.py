"""`fxgrad.lax.linalg`: matrix factorizations with the names and signatures of jax.lax.linalg.

The last two axes are those of the matrices. Eigenvalues and singular values follow the conventions of
`fxgrad.numpy.linalg`, unitary forms those of `fxgrad.scipy.linalg`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.errors import ShapeError, StructureError, UnsupportedError
from ..core.face import show_public_names
from ..core.interpreter import api_boundary
from ..core.typing import Array, ArrayLike
from ..numpy.composite import cast, dtype_of, operand
from ..numpy.linalg.matrices import as_matrix, as_square_matrix, hermitian_matrix
from ..numpy.linalg.sources import DE_HOOG, GILES, WALTER, cite
from ..ops.elimination import INFO, take_rows
from ..ops.linalg import adjoint, hermitian_part, lower_triangle, matrix_transpose, real_dtype
from ..ops.reflections import apply_reflections, multiply_reflections


class SvdAlgorithm(enum.Enum):
    """Implementations of singular values, accepted for JAX's signatures; all mean the same here.

    >>> lax.linalg.svd(fnp.eye(1), compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR)
    array([1.])
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"


class EighImplementation(enum.Enum):
    """Implementations of eigenvalues of Hermitian matrices, accepted for JAX's signatures; all mean the same here.

    >>> lax.linalg.eigh(fnp.eye(1), implementation=lax.linalg.EighImplementation.QDWH)[1]
    array([1.])
    """

    QR = "QR"
    JACOBI = "Jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """Implementations of eigenvalues, accepted for JAX's signatures; all mean the same here.

    >>> lax.linalg.eig(fnp.eye(1), implementation=lax.linalg.EigImplementation.LAPACK)[0]
    array([1.+0.j])
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


# -- triangles ------------------------------------------
@api_boundary
@cite(GILES)
def cholesky(a: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """L with A = LLᴴ of Hermitian positive definite matrices (…, n, n).

    Args:
        symmetrize_input: factor the Hermitian part (A + Aᴴ)/2; otherwise the lower triangle is read.

    Raises:
        numpy.linalg.LinAlgError: a matrix is not positive definite.

    >>> fx.grad(lambda a: lax.linalg.cholesky(a)[1, 1])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[ 0.0625, -0.125 ],
           [-0.125 ,  0.25  ]])
    """
    if symmetrize_input:
        return ops.cholesky(as_square_matrix(a), hermitian=False)
    return ops.cholesky(hermitian_matrix(a), hermitian=True)


@api_boundary
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper factor of RᵀR + wwᵀ from `r_matrix` R (n, n) and `w_vector` w (n,), by the QR of R with the row wᵀ.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013.

    Raises:
        ShapeError: the vector has not as many entries as the factor has rows.

    >>> fx.grad(lambda w: lax.linalg.cholesky_update(fnp.array([[3.0]]), w)[0, 0])(fnp.array([4.0]))
    array([0.8])
    """
    r, w = ops.promote_dtypes([as_square_matrix(r_matrix), operand(w_vector)])
    if w.shape != r.shape[:1]:
        raise ShapeError(
            f"cholesky_update: a factor of shape {r.shape} and a vector of shape {w.shape}",
            hint=f"a vector of shape {r.shape[:1]}",
        )
    _, factor = ops.qr(fnp.concatenate([r, w[None]]), complete=False)
    signs = ops.where(ops.less(ops.stop_gradient(fnp.diagonal(factor)), 0), -1, 1)
    return cast(signs, dtype_of(r))[:, None] * factor


@api_boundary
@cite(GILES)
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """x with op(a) x = b if `left_side`, otherwise with x op(a) = b, for triangles a (…, n, n) and matrices b.

    One triangle of a is read; x is NaN where a zero is on its diagonal.

    Args:
        left_side, lower: where op(a) stands, and which triangle of a is read.
        transpose_a, conjugate_a: what op does to a.
        unit_diagonal: ones stand on the diagonal, which is not read.

    >>> a, b = fnp.array([[2.0, 0.0], [0.0, 4.0]]), fnp.array([[2.0, 4.0]])
    >>> fx.grad(lambda a: lax.linalg.triangular_solve(a, b, lower=True).sum())(a)
    array([[-0.5 ,  0.  ],
           [-0.5 , -0.25]])
    """
    a, b = ops.promote_dtypes([as_square_matrix(a), operand(b)])
    vector = b.ndim == a.ndim - 1
    b = ops.reshape(b, shape=(*b.shape, 1) if left_side else (*b.shape[:-1], 1, b.shape[-1])) if vector else b
    a = fnp.conj(a) if conjugate_a else a
    flipped = bool(transpose_a) != (not left_side)
    if flipped:
        a, lower = matrix_transpose(a), not lower
    b = b if left_side else matrix_transpose(b)
    if a.shape[:-2] != b.shape[:-2]:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (ops.broadcast_to(x, shape=(*batch, *x.shape[-2:])) for x in (a, b))
    x = ops.triangular_solve(a, b, lower=bool(lower), unit_diagonal=bool(unit_diagonal))
    x = x if left_side else matrix_transpose(x)
    return ops.reshape(x, shape=x.shape[:-1] if left_side else (*x.shape[:-2], x.shape[-1])) if vector else x


@api_boundary
@cite(GILES)
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """x with ax = b for tridiagonal matrices with d (…, n) on the diagonal, dl below and du above it, and b (…, n, k).

    dl[i] stands in row i, du[i] too: dl[0] and du[n − 1] are not read. `perturb_singular=True` raises
    UnsupportedError.

    Raises:
        ShapeError: the diagonals and right-hand sides do not fit each other.
        UnsupportedError: `perturb_singular=True`.

    >>> z, b = fnp.zeros(2), fnp.array([[2.0], [4.0]])
    >>> fx.grad(lambda d: lax.linalg.tridiagonal_solve(z, d, z, b).sum())(fnp.array([2.0, 4.0]))
    array([-0.5 , -0.25])
    """
    if perturb_singular:
        raise UnsupportedError("tridiagonal_solve: perturb_singular=True", hint="a regular matrix")
    dl, d, du, b = ops.promote_dtypes([operand(x) for x in (dl, d, du, b)])
    if not dl.shape == d.shape == du.shape == b.shape[:-1]:
        raise ShapeError(
            f"tridiagonal_solve: diagonals of shapes {dl.shape}, {d.shape}, {du.shape}, right-hand sides {b.shape}",
            hint="three diagonals of one shape [..., n], padded with a zero, and b [..., n, k]",
        )
    batch = [(0, 0)] * (d.ndim - 1)
    above, below = fnp.pad(du[..., :-1], [*batch, (1, 0)]), fnp.pad(dl[..., 1:], [*batch, (0, 1)])
    return ops.banded_solve(fnp.stack([above, d, below], -2), b, lower=1, upper=1)


# -- elimination and reflections ------------------------------------------
@api_boundary
@cite(DE_HOOG)
def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """(L below the diagonal and U in one matrix, the row with which each was exchanged, the row of A for each of PA).

    >>> fx.grad(lambda a: lax.linalg.lu(a)[0][1, 1])(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[ 0.25, -0.5 ],
           [-0.5 ,  1.  ]])
    """
    packed, pivots, order = ops.lu(as_matrix(x))
    return packed, pivots, cast(order, INFO)


@api_boundary
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The row of A for each row of PA, from the exchanges `pivots` that `lu` gives; `permutation_size` is the number of
    rows.

    >>> lax.linalg.lu_pivots_to_permutation(np.array([2, 1], np.int32), 3)
    array([2, 1, 0], dtype=int32)
    """
    return cast(ops.row_order(operand(pivots), rows=int(permutation_size)), INFO)


@api_boundary
@cite(WALTER)
def qr(
    x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, ...]:
    """(Q, R) with A = QR of matrices (…, m, n), and with `pivoting` the order of columns P with A[:, P] = QR.

    Args:
        x: A.
        pivoting: whether columns are exchanged so that the diagonal of R decreases in modulus.
        full_matrices: whether Q is (m, m), which has no derivative for m > n, or (m, min(m, n)).
        use_magma: accepted for JAX's sake; results do not depend on it.

    >>> fx.grad(lambda a: lax.linalg.qr(a, full_matrices=False)[1][0, 0])(fnp.array([[3.0], [4.0]]))
    array([[-0.6],
           [-0.8]])
    """
    a, order = as_matrix(x), ()
    if pivoting:
        order = (ops.column_order(a),)
        a = matrix_transpose(take_rows(matrix_transpose(a), order[0]))
    return (*ops.qr(a, complete=bool(full_matrices)), *order)


@api_boundary
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of the reflections 1 − τᵢvᵢvᵢᴴ, where vᵢ is below the diagonal of column i of
    `a` (…, m, n) and τᵢ among the `taus` (…, k).

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013.

    >>> fx.grad(lambda t: lax.linalg.householder_product(fnp.array([[1.0], [1.0]]), t).sum())(fnp.array([0.5]))
    array([-2.])
    """
    return multiply_reflections(as_matrix(a), operand(taus))


@api_boundary
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """The product Qc, or cQ without `left`, for the product Q of the reflections that `a` and `taus` give (see
    `householder_product`), and a matrix `c`; of Qᴴ with `transpose`.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013.

    >>> lax.linalg.ormqr(fnp.array([[1.0], [1.0]]), fnp.array([1.0]), fnp.eye(2))
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    a, taus, c = as_matrix(a), operand(taus), as_matrix(c)
    if left:
        return apply_reflections(a, taus, c, bool(transpose))
    return adjoint(apply_reflections(a, taus, adjoint(c), not transpose))


# -- eigen- and singular values ------------------------------------------
@api_boundary
@cite(GILES)
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """[w, left eigenvectors, right eigenvectors] of matrices (…, n, n), as requested, all complex.

    Args:
        x: the matrices.
        compute_left_eigenvectors, compute_right_eigenvectors: what is asked for.
        enable_eigvec_derivs, implementation, use_magma: accepted for JAX's sake; vectors always have derivatives.

    >>> fx.grad(lambda a: fnp.max(lax.linalg.eig(a)[0].real))(fnp.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[0., 0.],
           [1., 1.]])
    """
    w, v = ops.eig(as_square_matrix(x))
    results = [w]
    if compute_left_eigenvectors:
        left = adjoint(ops.inv(v, strict=False))
        results.append(left / fnp.sqrt(fnp.sum(fnp.abs(left) ** 2, -2, keepdims=True)))
    return [*results, v] if compute_right_eigenvectors else results


def columns_of(by_index: tuple[int, int] | None) -> slice:
    """Return which values are wanted, from a first one up to a last one, which is left out."""
    return slice(*by_index) if by_index is not None else slice(None)


@api_boundary
@cite(GILES)
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """(V, w) with A = V·diag(w)·Vᴴ and ascending w, of Hermitian matrices (…, n, n): the vectors come first.

    Args:
        x: A.
        lower: which triangle is read, where not both are.
        symmetrize_input: take the Hermitian part (A + Aᴴ)/2; otherwise one triangle is read.
        sort_eigenvalues, implementation: accepted for JAX's sake; the order is always ascending.
        subset_by_index: from which up to which of the eigenvalues, without the last.

    >>> fx.grad(lambda a: lax.linalg.eigh(a)[1][1])(fnp.array([[2.0, 1.0], [1.0, 2.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    uplo = "L" if lower else "U"
    a = hermitian_part(as_square_matrix(x)) if symmetrize_input else hermitian_matrix(x, uplo)
    w, v = ops.eigh(a, uplo=uplo)
    chosen = columns_of(subset_by_index)
    return v[..., chosen], w[..., chosen]


@api_boundary
@cite(GILES)
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """(U, s, Vᴴ) with A = U·diag(s)·Vᴴ, or s alone: see `fxgrad.numpy.linalg.svd`.

    Args:
        x: A, matrices (…, m, n).
        full_matrices: whether U and V are square.
        compute_uv: whether U and Vᴴ are wanted.
        subset_by_index: from which up to which of the singular values, without the last; not with `full_matrices`.
        algorithm: accepted for JAX's sake; results do not depend on it.

    Raises:
        ValueError: `subset_by_index` with `full_matrices`.

    >>> fx.grad(lambda a: lax.linalg.svd(a, compute_uv=False).sum())(fnp.array([[3.0, 0.0], [0.0, 2.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    a, chosen = as_matrix(x), columns_of(subset_by_index)
    if not compute_uv:
        return ops.svdvals(a)[..., chosen]
    if full_matrices and subset_by_index not in (None, (0, min(a.shape[-2:]))):
        raise StructureError(
            "svd: subset_by_index chooses of the reduced factors, full_matrices=True asks for all",
            hint="full_matrices=False",
        )
    u, s, vh = ops.svd(a, full=bool(full_matrices))
    if subset_by_index is None:
        return u, s, vh
    return u[..., chosen], s[..., chosen], vh[..., chosen, :]


# -- forms ------------------------------------------
@api_boundary
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """(H with the vectors of reflections below, their factors τ) with A = QHQᴴ: see `householder_product`.

    There is no derivative: `fxgrad.scipy.linalg.hessenberg` has one.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013.

    >>> lax.linalg.hessenberg(fnp.array([[1.0, 2.0], [3.0, 4.0]]))[0]
    array([[1., 2.],
           [3., 4.]])
    """
    return tuple(ops.reflected_form(as_square_matrix(a), form="hessenberg"))


@api_boundary
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """(the matrix with the vectors of reflections in a triangle, d, e, τ) with A = QTQᴴ of Hermitian matrices, of which
    one triangle is read, the lower one if `lower`.

    T has d on its diagonal and e beside it. There is no derivative.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013.

    Raises:
        UnsupportedError: `lower=False`.

    >>> lax.linalg.tridiagonal(fnp.array([[1.0, 2.0], [2.0, 4.0]]))[1]
    array([1., 4.])
    """
    a = hermitian_matrix(a, "L" if lower else "U")
    if not lower:
        raise UnsupportedError("tridiagonal: lower=False", hint="lower=True")
    packed, taus = ops.reflected_form(a, form="tridiagonal")
    real = real_dtype(dtype_of(packed))
    d, e = (cast(fnp.real(fnp.diagonal(packed, k, -2, -1)), real) for k in (0, -1))
    return packed, d, e, taus


@api_boundary
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, ...]:
    """(T, Z) with A = ZTZᴴ, real for real matrices, or (T,): see `fxgrad.scipy.linalg.schur`.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 2013.

    Args:
        x: A, matrices (…, n, n).
        compute_schur_vectors: whether Z is wanted.
        sort_eig_vals, select_callable: an order of the eigenvalues, which raises UnsupportedError.

    Raises:
        UnsupportedError: an order of the eigenvalues is asked for.

    >>> fx.grad(lambda a: lax.linalg.schur(a)[0][1, 1])(fnp.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[0., 0.],
           [1., 1.]])
    """
    if sort_eig_vals or select_callable is not None:
        raise UnsupportedError("schur: an order of eigenvalues", hint="sort_eig_vals=False")
    form, z = ops.schur(as_square_matrix(x))
    return (form, z) if compute_schur_vectors else (form,)


@api_boundary
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, int, bool]:
    """The polar decomposition (U, H, 0, True) with A = UH, unitary U and Hermitian H, of matrices (m, n) with m ≥ n.

    It is taken from singular vectors, not by iterations, whose number is 0. See `fxgrad.scipy.linalg.polar`.

    Source: N. J. Higham, Functions of Matrices, 2008, chapter 8.

    Args:
        x: A.
        is_hermitian, max_iterations, eps, dynamic_shape: accepted for JAX's sake; results do not depend on them.

    >>> lax.linalg.qdwh(fnp.array([[3.0, 0.0], [0.0, -2.0]]))[1].round(6)
    array([[3., 0.],
           [0., 2.]])
    """
    a = as_matrix(x)
    u = ops.polar_unitary(a)
    return u, hermitian_part(fnp.matmul(adjoint(u), a)), 0, True


@api_boundary
@cite(GILES)
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """αAAᵀ + βC, for A (…, m, n) and a symmetric C (…, m, m).

    Args:
        a_matrix, c_matrix: A and C.
        alpha, beta: the factors.
        symmetrize_output: the upper triangle of the result is that of the lower one; otherwise it is what it is.

    Raises:
        ShapeError: the matrices do not fit each other.

    >>> fx.grad(lambda a: lax.linalg.symmetric_product(a, fnp.eye(1)).sum())(fnp.array([[3.0, 4.0]]))
    array([[6., 8.]])
    """
    a, c = ops.promote_dtypes([as_matrix(a_matrix), as_square_matrix(c_matrix)])
    if a.shape[:-1] != c.shape[:-1]:
        raise ShapeError(
            f"symmetric_product: matrices of shapes {a.shape} and {c.shape}",
            hint=f"c of shape {(*a.shape[:-1], a.shape[-2])}",
        )
    result = alpha * fnp.matmul(a, matrix_transpose(a)) + beta * c
    if not symmetrize_output:
        return result
    lower = lower_triangle(result)
    return lower + matrix_transpose(lower_triangle(result, -1))


__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_update", "eig", "eigh",
    "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "ormqr", "qdwh", "qr", "schur", "svd",
    "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
]  # fmt: skip

show_public_names(__name__)
