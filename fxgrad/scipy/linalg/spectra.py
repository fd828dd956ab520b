"""Eigenvalues and singular values, and functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    ConcretizationError,
    ShapeError,
    StructureError,
    UnsupportedError,
    check_option,
    concretize,
    ops,
)
from ...numpy.composite import dtype_of, known_value
from ...numpy.linalg.sources import GILES, cite
from ..reference import scipy_function
from .arguments import as_array, as_hermitian_matrix, as_matrix, as_square_matrix, epsilon
from .systems import complete_band, solve_triangle


# -- singular values ------------------------------------------
@scipy_function("linalg")
@cite(GILES)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """(U, s, Vᴴ) with A = U·diag(s)·Vᴴ and descending s ≥ 0, or s alone: see `fxgrad.numpy.linalg.svd`.

    >>> fx.grad(lambda a: linalg.svd(a, compute_uv=False).sum())(fnp.array([[3.0, 0.0], [0.0, 2.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    a = as_matrix(a, check_finite)
    return tuple(ops.svd(a, full=bool(full_matrices))) if compute_uv else ops.svdvals(a)


@scipy_function("linalg")
@cite(GILES)
def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The singular values of matrices, descending: see `svd`.

    >>> fx.scipy.linalg.svdvals(fnp.array([[3.0, 0.0], [0.0, -4.0]])).round(6)
    array([4., 3.])
    """
    return ops.svdvals(as_matrix(a, check_finite))


def known_rank(a: Any, rcond: float | None, name: str) -> int:
    """Return the number of singular values that do not count as zeros, which fixes a shape."""
    s = ops.svdvals(ops.stop_gradient(a))
    rcond = epsilon(a) * max(a.shape[-2:]) if rcond is None else rcond
    count = fnp.count_nonzero(ops.greater(s, s[..., :1] * rcond))
    return int(
        known_value(count, f"the rank in {name}", "slice the vectors of svd, by a rank that is a number")
    )


@scipy_function("linalg")
def orth(A: ArrayLike, rcond: float | None = None) -> Array:
    """An orthonormal basis (m, k) of the range of a matrix (m, n) of rank k.

    The derivative is along directions that keep the rank, of a basis that does not turn within the space: the right one
    for functions of the space, such as QQᴴ.

    Args:
        rcond: singular values up to this part of the greatest count as zeros; ε·max(m, n) unless it is given.

    Raises:
        ConcretizationError: under `jit` and `vmap`, where the rank is not known.

    >>> def shadow(a):
    ...     q = linalg.orth(a)
    ...     return (q @ q.T)[0, 1]
    >>> fx.grad(shadow)(fnp.array([[1.0], [0.0]])).round(12) + 0.0
    array([[0.],
           [1.]])
    """
    a = as_matrix(A)
    (q,) = ops.space_basis(a, rank=known_rank(a, rcond, "orth"), null=False)
    return q


@scipy_function("linalg")
def null_space(
    A: ArrayLike,
    rcond: float | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array:
    """An orthonormal basis (n, n − k) of the null space of a matrix (m, n) of rank k: see `orth`.

    >>> abs(fx.scipy.linalg.null_space(fnp.array([[1.0, 1.0]]))).round(6)
    array([[0.707107],
           [0.707107]])
    """
    a = as_matrix(A, check_finite)
    (q,) = ops.space_basis(a, rank=known_rank(a, rcond, "null_space"), null=True)
    return q


@scipy_function("linalg")
def subspace_angles(A: ArrayLike, B: ArrayLike) -> Array:
    """The angles between the spaces of the columns of A (m, k) and B (m, n), of full rank, descending.

    Small angles are taken by their sines, great ones by their cosines (A. V. Knyazev and M. E. Argentati, SIAM J. Sci.
    Comput. 23, 2002).

    Raises:
        ValueError: the matrices have different numbers of rows.

    >>> b = fnp.array([[1.0], [0.0]])
    >>> fx.grad(lambda a: linalg.subspace_angles(a, b)[0])(fnp.array([[1.0], [1.0]]))
    array([[-0.5],
           [ 0.5]])
    """
    qa, qb = (ops.qr(x, complete=False)[0] for x in ops.promote_dtypes([as_matrix(A), as_matrix(B)]))
    if qa.shape[-2] != qb.shape[-2]:
        raise ShapeError(
            f"subspace_angles: A has {qa.shape[-2]} rows and B {qb.shape[-2]}",
            hint="A.T, B.T where vectors are rows",
        )
    if qa.shape[-1] < qb.shape[-1]:
        qa, qb = qb, qa
    between = fnp.matmul(ops.adjoint(qa), qb)
    cosines = ops.svdvals(between)
    sines = ops.svdvals(qb - fnp.matmul(qa, between))[..., ::-1][..., : cosines.shape[-1]]
    small = ops.greater(ops.stop_gradient(cosines), 0.5**0.5)
    by_sine = fnp.arcsin(ops.where(small, fnp.clip(sines, -1, 1), 0))
    by_cosine = fnp.arccos(ops.where(small, 0, fnp.clip(cosines, -1, 1)))
    return ops.where(small, by_sine, by_cosine)[..., ::-1]


# -- eigenvalues ------------------------------------------
def unit_columns(v: Any) -> Any:
    """Return vectors of length one."""
    return v / fnp.sqrt(fnp.sum(fnp.abs(v) ** 2, -2, keepdims=True))


@scipy_function("linalg")
@cite(GILES)
def eig(
    a: ArrayLike,
    b: ArrayLike | None = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues w and eigenvectors of length one, av = wv, or av = wbv, of matrices (…, n, n).

    Derivatives are for functions that do not depend on the phases of vectors: see `fxgrad.numpy.linalg.eig`. Of traced
    values b must be regular.

    Args:
        left, right: which vectors are wanted: uᴴa = wuᴴb, and av = wbv.

    Returns:
        w, or (w, right vectors), (w, left vectors), (w, left vectors, right vectors), all complex.

    Raises:
        UnsupportedError: `homogeneous_eigvals` of traced values.

    >>> fx.grad(lambda a: fnp.max(linalg.eig(a)[0].real))(fnp.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[0., 0.],
           [1., 1.]])
    """
    if homogeneous_eigvals:
        raise UnsupportedError("eig: homogeneous eigenvalues of traced values", hint="w, their quotients")
    a = as_square_matrix(a, check_finite)
    if b is not None:
        b = as_square_matrix(b, check_finite)
        a, b = ops.promote_dtypes([a, b])
        a = fnp.linalg.solve(b, a)
    w, v = ops.eig(a)
    if not left:
        return (w, v) if right else w
    others = ops.adjoint(ops.inv(v, strict=False))
    if b is not None:
        others = fnp.linalg.solve(ops.adjoint(ops.convert(b, dtype=dtype_of(v))), others)
    others = unit_columns(others)
    return (w, others, v) if right else (w, others)


@scipy_function("linalg")
@cite(GILES)
def eigvals(
    a: ArrayLike,
    b: ArrayLike | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Array:
    """The eigenvalues of matrices, complex and unordered: see `eig`.

    >>> fx.scipy.linalg.eigvals(fnp.array([[2.0, 1.0], [0.0, 3.0]])).real
    array([2., 3.])
    """
    return eig(a, b, False, False, overwrite_a, False, check_finite, homogeneous_eigvals)


def chosen_positions(w: Any, by_index: Any, by_value: Any) -> slice | Any:
    """Return which of ascending eigenvalues are wanted."""
    n = w.shape[-1]
    if by_index is not None and by_value is not None:
        raise StructureError(
            "both subset_by_index and subset_by_value are given",
            hint="subset_by_index=(low, high), or subset_by_value",
        )
    if by_index is not None:
        low, high = (int(i) for i in by_index)
        if not 0 <= low <= high < n:
            raise StructureError(
                f"the eigenvalues {low} to {high} of {n}",
                hint=f"0 <= low <= high <= {n - 1}, in rising order of eigenvalues",
            )
        return slice(low, high + 1)
    if by_value is not None:
        low, high = by_value
        if not low < high:
            raise StructureError(
                f"eigenvalues above {low} and up to {high}",
                hint="(low, high) with low < high, -fnp.inf and fnp.inf for no bound",
            )
        try:
            known = concretize(ops.stop_gradient(w), "eigenvalues")
        except ConcretizationError as error:
            raise ConcretizationError(error.args[0], hint="subset_by_index") from None
        return np.flatnonzero((known > low) & (known <= high))
    return slice(None)


def subset(w: Any, v: Any, by_index: Any, by_value: Any) -> Any:
    """Return the eigenvalues that are wanted, with their vectors if these are given."""
    chosen = chosen_positions(w, by_index, by_value)
    return w[..., chosen] if v is None else (w[..., chosen], v[..., chosen])


@scipy_function("linalg")
@cite(GILES)
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Ascending eigenvalues w and eigenvectors V of Hermitian matrices (…, n, n), one triangle of which is read.

    With a positive definite b = LLᴴ they are those of L⁻¹aL⁻ᴴ or LᴴaL. Where eigenvalues repeat see
    `fxgrad.numpy.linalg.eigh`; gradients are Hermitian.

    Args:
        b: Hermitian positive definite, of which the same triangle is read.
        type: the problem: 1 for av = wbv with VᴴbV = 1, 2 for abv = wv with VᴴbV = 1, 3 for bav = wv with Vᴴb⁻¹V = 1.
        eigvals_only: return w alone.
        subset_by_index: (the first, the last) of the eigenvalues that are wanted.
        subset_by_value: (low, high], where values are known.

    Returns:
        (w, V) of shapes (…, n) and (…, n, n), or w.

    Raises:
        ValueError: there is no such selection of eigenvalues, or no such `type`.
        ConcretizationError: those between bounds are asked for, of a traced matrix: their number is not known.
        StructureError: positions of eigenvalues that a traced matrix has not.

    >>> a, b = fnp.array([[2.0, 1.0], [1.0, 2.0]]), 2 * fnp.eye(2)
    >>> fx.grad(lambda a: linalg.eigh(a, b, eigvals_only=True)[1])(a)
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    a = as_hermitian_matrix(a, lower, check_finite)
    check_option("eigh", "type", type, (1, 2, 3))
    factor: Any = None
    if b is not None:
        a, b = ops.promote_dtypes([a, as_hermitian_matrix(b, lower, check_finite)])
        factor = ops.cholesky(b, hermitian=True)
        if type == 1:
            half = solve_triangle(factor, a, True)
            a = ops.adjoint(solve_triangle(factor, ops.adjoint(half), True))
        else:
            a = fnp.matmul(ops.adjoint(factor), fnp.matmul(a, factor))
    uplo = "L" if lower else "U"
    if eigvals_only:
        return subset(ops.eigvalsh(a, uplo=uplo), None, subset_by_index, subset_by_value)
    w, v = ops.eigh(a, uplo=uplo)
    if factor is not None:
        v = fnp.matmul(factor, v) if type == 3 else solve_triangle(ops.adjoint(factor), v, False)
    return subset(w, v, subset_by_index, subset_by_value)


@scipy_function("linalg")
@cite(GILES)
def eigvalsh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Array:
    """The eigenvalues of Hermitian matrices, ascending: see `eigh`.

    >>> fx.scipy.linalg.eigvalsh(fnp.array([[2.0, 1.0], [1.0, 2.0]])).round(6)
    array([1., 3.])
    """
    return eigh(
        a, b, lower=lower, eigvals_only=True, type=type, check_finite=check_finite,
        subset_by_index=subset_by_index, subset_by_value=subset_by_value,
    )  # fmt: skip


# -- few diagonals ------------------------------------------
def select_eigenvalues(a: Any, eigvals_only: bool, select: str, select_range: Any) -> Any:
    """Return the eigenvalues of Hermitian matrices that `select` wants, and their vectors."""
    words = {0: "a", "all": "a", 1: "v", "value": "v", 2: "i", "index": "i"}
    select = words.get(select, select)
    check_option("eigh_tridiagonal", "select", select, ("a", "v", "i"))
    chosen = {"i": (select_range, None), "v": (None, select_range)}.get(select, (None, None))
    if eigvals_only:
        return subset(ops.eigvalsh(a, uplo="L"), None, *chosen)
    return subset(*ops.eigh(a, uplo="L"), *chosen)


@scipy_function("linalg")
@cite(GILES)
def eig_banded(
    a_band: ArrayLike,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian banded matrix: see `solveh_banded` for the band, `eigh` for the rest.

    Of traced values the whole matrix is decomposed.

    Args:
        select, select_range: "a" for all, "i" for those from a first to a last position, "v" for those in (low, high].

    Raises:
        ValueError: there is no such selection of eigenvalues.
        ConcretizationError: those between bounds are asked for, of a traced matrix: their number is not known.
        StructureError: positions of eigenvalues that a traced matrix has not.

    >>> fx.scipy.linalg.eig_banded(fnp.array([[0.0, 1.0], [2.0, 2.0]]))[0].round(6)
    array([1., 3.])
    """
    ab = as_matrix(a_band, check_finite)
    whole = ops.whole_matrix(complete_band(ab, lower), ab.shape[-2] - 1)
    return select_eigenvalues(whole, eigvals_only, select, select_range)


@scipy_function("linalg")
@cite(GILES)
def eigvals_banded(
    a_band: ArrayLike,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Array:
    """The eigenvalues of a Hermitian banded matrix: see `eig_banded`.

    >>> fx.scipy.linalg.eigvals_banded(fnp.array([[0.0, 1.0], [2.0, 2.0]])).round(6)
    array([1., 3.])
    """
    return eig_banded(
        a_band, lower, True, select=select, select_range=select_range, check_finite=check_finite
    )


@scipy_function("linalg")
@cite(GILES)
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues and eigenvectors of the symmetric matrix with diagonal d (…, n) and e (…, n − 1) beside it.

    Of traced values the whole matrix is decomposed; see `eig_banded` for `select`, `eigh` for derivatives.

    Raises:
        ValueError: `d` has not one entry more than `e`.

    >>> fx.grad(lambda e: linalg.eigh_tridiagonal(fnp.ones(2), e, eigvals_only=True)[1])(fnp.array([3.0]))
    array([1.])
    """
    d, e = ops.promote_dtypes([as_array(d, check_finite), as_array(e, check_finite)])
    if d.shape[-1] != e.shape[-1] + 1:
        raise ShapeError(
            f"eigh_tridiagonal: d has shape {d.shape} and e {e.shape}",
            hint=f"e[:{d.shape[-1] - 1}], one entry fewer than d",
        )
    ab = fnp.stack([d, fnp.pad(e, [(0, 0)] * (e.ndim - 1) + [(0, 1)])], -2)
    return eig_banded(ab, True, eigvals_only, select=select, select_range=select_range, check_finite=False)


@scipy_function("linalg")
@cite(GILES)
def eigvalsh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Array:
    """The eigenvalues of a symmetric tridiagonal matrix: see `eigh_tridiagonal`.

    >>> fx.scipy.linalg.eigvalsh_tridiagonal(fnp.array([2.0, 2.0]), fnp.array([1.0])).round(6)
    array([1., 3.])
    """
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite)


__all__ = [
    "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals", "eigvals_banded", "eigvalsh",
    "eigvalsh_tridiagonal", "null_space", "orth", "subspace_angles", "svd", "svdvals",
]  # fmt: skip
