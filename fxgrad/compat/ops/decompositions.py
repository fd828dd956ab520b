"""torch.linalg: factorizations, eigenvalues and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import aval_of, ops
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.spaces import expose
from ..errors import TensorError
from .declarers import expose_as_method
from .entries import by_entries
from .linalg import (
    check_floating,
    check_info,
    check_matrix,
    check_pair,
    check_square,
    mirror_to_hermitian,
    solve_systems,
    translate_errors,
)


# -- Cholesky ------------------------------------------
def indefinite_message(name: str) -> Any:
    return lambda which, k: (
        f"{name}: {which}The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {k} is not positive-definite)."
    )


def factor_cholesky(name: str, a, upper: bool) -> Any:
    check_square(name, a)
    fixed = mirror_to_hermitian(a, upper)
    with translate_errors(indefinite_message(name), lambda: ops.indefinite_minor(fixed)):
        factor = ops.cholesky(fixed, hermitian=True)
    return ops.adjoint(factor) if upper else factor


@operation("input", spaces="linalg", node="LinalgCholeskyExBackward0", by_value=True, keeps_results=True)
def linalg_cholesky(input, *, upper: bool = False) -> Any:
    """The Cholesky factor L with A = LLᴴ, or with `upper` its adjoint, of Hermitian positive definite matrices.

    Raises:
        LinAlgError: a matrix is not positive definite.
    """
    return factor_cholesky("linalg.cholesky", input, upper)


@operation("input", by_value=True, keeps_results=True)
def cholesky(input, upper: bool = False) -> Any:
    """The Cholesky factor L with A = LLᴴ: see `linalg.cholesky`."""
    return factor_cholesky("cholesky", input, upper)


@operation(
    "input",
    spaces="linalg",
    results=make_result_type("linalg_cholesky_ex", "L", "info"),
    copies_operands=True,
    by_value=True,
)
def linalg_cholesky_ex(input, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor and error codes: (L, info): info is 0, or the order of the leading minor that is not
    positive; L is NaN then."""
    check_square("linalg.cholesky_ex", input)
    fixed = mirror_to_hermitian(input, upper)
    info = ops.indefinite_minor(fixed)
    if check_errors:
        check_info(info, indefinite_message("linalg.cholesky_ex"))
    wrong = ops.not_equal(info, 0)[..., None, None]
    definite = ops.where(wrong, np.eye(input.shape[-1], dtype=aval_of(input).dtype), fixed)
    factor = ops.where(wrong, np.nan, ops.cholesky(definite, hermitian=True))
    return [ops.adjoint(factor) if upper else factor, info]


def product_tangent(factor, t, upper: bool) -> Any:
    """The tangent of A = LLᴴ, or LᴴL with `upper`, from that of L. As torch's derivatives do, it takes L whole, also
    the triangle that is not read."""
    half = ops.adjoint(t) @ factor if upper else t @ ops.adjoint(factor)
    return half + ops.adjoint(half)


def solve_by_factor(b, factor, upper: bool) -> Any:
    """X with AX = B by the triangle of A."""
    lower = ops.adjoint(factor) if upper else factor
    y = solve_systems("cholesky_solve", ops.triangular_solve, lower, b, True, lower=True, unit_diagonal=False)
    return solve_systems(
        "cholesky_solve", ops.triangular_solve, ops.adjoint(lower), y, True, lower=False, unit_diagonal=False
    )


def cholesky_solve_tangent(x, primals, tangents, params: dict) -> Any:
    """A·dX = dB - dA·X."""
    (_, factor), (tb, tl), upper = primals, tangents, params["upper"]
    moved = tb if tl is None else -(product_tangent(factor, tl, upper) @ x)
    return solve_by_factor(moved if tl is None or tb is None else tb + moved, factor, upper)


@operation("input input2", tangent=cholesky_solve_tangent)
def cholesky_solve(input, input2, upper: bool = False) -> Any:
    """The solution of a system of equations by a Cholesky factor: X with AX = B for A = LLᴴ, or A = LᴴL with
    `upper`."""
    if input.ndim < 2:
        raise TensorError(
            f"b should have at least 2 dimensions, but has {input.ndim} dimensions instead",
            hint="b.unsqueeze(-1), one column",
        )
    check_square("cholesky_solve", input2)
    check_pair("cholesky_solve", input, input2)
    return solve_by_factor(input, input2, upper)


def cholesky_inverse_tangent(inverse, primals, tangents, params: dict) -> Any:
    """d(A⁻¹) = -A⁻¹·dA·A⁻¹."""
    return -(inverse @ product_tangent(primals[0], tangents[0], params["upper"]) @ inverse)


@operation("input", keeps_results=True, tangent=cholesky_inverse_tangent)
def cholesky_inverse(input, upper: bool = False) -> Any:
    """The inverse of a matrix by its Cholesky factor: A⁻¹ for A = LLᴴ, or A = LᴴL with `upper`."""
    check_square("cholesky_inverse", input)
    factor = ops.adjoint(input) if upper else input
    one = ops.identity_like(factor, input.shape[-1])
    inverse = ops.triangular_solve(factor, one, lower=True, unit_diagonal=False)
    return ops.adjoint(inverse) @ inverse


# -- QR ------------------------------------------
def factor_qr(a, mode: str) -> list[Any]:
    if mode not in ("reduced", "complete", "r"):
        raise TensorError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'",
            hint=f"mode={'complete' if mode == 'full' else 'reduced'!r}",
        )
    check_matrix("linalg.qr", a)
    q, r = ops.qr(a, complete=mode == "complete")
    return [np.zeros(0, aval_of(r).dtype) if mode == "r" else q, r]


@operation("A", spaces="linalg", results=make_result_type("linalg_qr", "Q", "R"), keeps_results=True)
def linalg_qr(A, mode: str = "reduced") -> Any:
    """A = QR with orthonormal columns of Q and an upper triangle R; with mode="r" Q is empty."""
    return factor_qr(A, mode)


@operation("input", results=make_result_type("qr", "Q", "R"), node="LinalgQrBackward0", keeps_results=True)
def qr(input, some: bool = True) -> Any:
    """A = QR: see `linalg.qr`."""
    return factor_qr(input, "reduced" if some else "complete")


@operation("input tau", spaces="linalg")
def linalg_householder_product(input, tau) -> Any:
    """The first columns of the product of the reflections 1 − τᵢvᵢvᵢᴴ, where vᵢ is below the diagonal of column i."""
    check_matrix("linalg.householder_product", input)
    m, n = input.shape[-2:]
    if m < n:
        raise TensorError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]",
            hint="A.mT has more rows than columns",
        )
    return ops.multiply_reflections(input, tau)


@expose("function method")
def orgqr(input, input2, *, out=None) -> Any:
    """The function `torch.linalg.householder_product`."""
    return linalg_householder_product(input, input2, out=out)


@operation(
    "input", results=make_result_type("geqrf", "a", "tau"), constant=(0, 1), by_value=True, own_precision=True
)
@by_entries
def geqrf(input) -> Any:
    """The QR decomposition in compact form: (R in the upper triangle and below it the vectors of the reflections
    whose product is Q, the factors τ of these): see `orgqr` and `ormqr`. There is no derivative."""
    if input.ndim < 2:
        raise TensorError(
            f"torch.geqrf: input must have at least 2 dimensions, but has {input.ndim}",
            hint="x.unsqueeze(-1), one column",
        )
    check_floating("torch.geqrf", input)
    (*batch, m, n), dtype = input.shape, input.dtype
    packed, tau = np.empty((*batch, m, n), dtype), np.empty((*batch, min(m, n)), dtype)
    for i in np.ndindex(*batch):
        h, t = np.linalg.qr(input[i], mode="raw")
        packed[i], tau[i] = h.T, t
    return [packed, tau]


@operation("input input2 input3")
def ormqr(input, input2, input3, left: bool = True, transpose: bool = False) -> Any:
    """The product Q·other, or other·Q with `left=False`, for the product Q of reflections that `geqrf` gives; with
    `transpose` for its adjoint."""
    check_matrix("torch.ormqr", input)
    if not left:  # (XQ)ᴴ = QᴴXᴴ
        return ops.adjoint(ops.apply_reflections(input, input2, ops.adjoint(input3), not transpose))
    return ops.apply_reflections(input, input2, input3, transpose)


# -- singular values ------------------------------------------
def check_driver(name: str, driver) -> None:
    if driver is not None:
        raise TensorError(
            f"torch.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
            hint="leave driver out",
        )


@operation("A", spaces="linalg", results=make_result_type("linalg_svd", "U", "S", "Vh"), keeps_results=True)
def linalg_svd(A, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """A = U·diag(S)·Vh with descending S ≥ 0. Derivatives where singular values repeat: see `fxgrad.ops.spectral`.
    Those that are 0 have torch's, uᴴ·dA·v with the null vectors u and v that are returned.

    >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).S.tolist()
    [3.0, 2.0]
    """
    check_matrix("linalg.svd", A)
    check_driver("linalg.svd", driver)
    return ops.svd(A, full=full_matrices, null_vectors=True)


@operation("A", spaces="linalg", node="LinalgSvdBackward0", copies_operands=True)
def linalg_svdvals(A, *, driver: str | None = None) -> Any:
    """The singular values, descending."""
    check_matrix("linalg.svd", A)
    check_driver("linalg.svd", driver)
    return ops.svdvals(A, null_vectors=True)


@operation(
    "input", results=make_result_type("svd", "U", "S", "V"), node="LinalgSvdBackward0", keeps_results=True
)
def svd(input, some: bool = True, compute_uv: bool = True) -> Any:
    """A = U·diag(S)·Vᴴ; without `compute_uv` U and V are zeros."""
    check_matrix("linalg.svd", input)
    if compute_uv:
        u, s, vh = ops.svd(input, full=not some, null_vectors=True)
        return [u, s, ops.adjoint(vh)]
    (*batch, m, n), dtype = input.shape, aval_of(input).dtype
    return [
        np.zeros((*batch, m, m), dtype),
        ops.svdvals(input, null_vectors=True),
        np.zeros((*batch, n, n), dtype),
    ]


# -- eigenvalues ------------------------------------------
def check_uplo(uplo: str) -> str:
    if uplo.upper() not in ("L", "U"):
        raise TensorError(
            f"Expected UPLO argument to be 'L' or 'U', but got {uplo}",
            hint="UPLO='L', the lower triangle, or 'U'",
        )
    return uplo.upper()


@operation(
    "input",
    spaces="linalg",
    results=make_result_type("linalg_eigh", "eigenvalues", "eigenvectors"),
    keeps_results=True,
)
def linalg_eigh(input, UPLO: str = "L") -> Any:
    """Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices, given by a triangle."""
    check_square("linalg.eigh", input)
    return ops.eigh(mirror_to_hermitian(input, check_uplo(UPLO) == "U"), uplo=UPLO.upper())


@operation("input", spaces="linalg", node="LinalgEighBackward0", copies_operands=True)
def linalg_eigvalsh(input, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, ascending."""
    check_square("linalg.eigh", input)
    return ops.eigvalsh(mirror_to_hermitian(input, check_uplo(UPLO) == "U"), uplo=UPLO.upper())


@operation(
    "input",
    spaces="linalg",
    results=make_result_type("linalg_eig", "eigenvalues", "eigenvectors"),
    keeps_results=True,
)
def linalg_eig(input) -> Any:
    """Eigenvalues and eigenvectors of length one, complex in any case."""
    check_square("linalg.eig", input)
    return ops.eig(input)


@operation("input", spaces="linalg", node="LinalgEigBackward0", copies_operands=True)
def linalg_eigvals(input) -> Any:
    """The eigenvalues, complex in any case."""
    check_square("linalg.eig", input)
    return ops.eig(input)[0]


INFO_NONE = np.iinfo(ops.INFO).max


# -- LU ------------------------------------------
def factor_lu(name: str, a, pivot: bool) -> tuple[Any, Any, Any]:
    """Return (L and U in one matrix, pivots counted from 1, the number of the first zero on the diagonal of U)."""
    if a.ndim < 2:
        raise TensorError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead",
            hint="x.unsqueeze(-1), one column",
        )
    check_floating("torch.lu_factor", a)
    if not pivot:
        raise TensorError(
            f"{name}: LU without pivoting is not implemented on the CPU",
            hint="pivot=True; torch.linalg.lu_factor_ex and lu_solve use the pivots",
        )
    packed, pivots, _ = ops.lu(a)
    zero = ops.equal(fnp.diagonal(ops.stop_gradient(packed), axis1=-2, axis2=-1), 0)
    places = np.arange(1, zero.shape[-1] + 1, dtype=ops.INFO)
    first = fnp.min(ops.where(zero, places, INFO_NONE), axis=-1, initial=INFO_NONE)
    return packed, pivots + 1, ops.where(ops.equal(first, INFO_NONE), ops.INFO.type(0), first)


def zero_pivot_message(which: str, k: int) -> str:
    return (
        f"torch.linalg.lu_factor: {which}U[{k},{k}] is zero and using it on lu_solve would result in a division by "
        "zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )


@operation(
    "A",
    spaces="linalg",
    results=make_result_type("linalg_lu_factor", "LU", "pivots"),
    node="LinalgLuFactorExBackward0",
    copies_operands=True,
    by_value=True,
)
def linalg_lu_factor(A, *, pivot: bool = True) -> Any:
    """The LU decomposition in compact form: (L below the diagonal and U in one matrix, pivots counted from 1) with
    PA = LU."""
    packed, pivots, info = factor_lu("linalg.lu_factor", A, pivot)
    check_info(info, zero_pivot_message)
    return [packed, pivots]


@operation(
    "A",
    spaces="linalg",
    results=make_result_type("linalg_lu_factor_ex", "LU", "pivots", "info"),
    copies_operands=True,
    by_value=True,
)
def linalg_lu_factor_ex(A, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """As `lu_factor`, and info: 0, or the place on the diagonal of U that is zero."""
    found = factor_lu("linalg.lu_factor_ex", A, pivot)
    if check_errors:
        check_info(found[2], zero_pivot_message)
    return list(found)


@expose("function")
@with_out
def lu(A, pivot: bool = True, get_infos: bool = False) -> Any:
    """The LU decomposition (LU, pivots), and with `get_infos` error codes: see `linalg.lu_factor`."""
    return tuple(linalg_lu_factor_ex(A, pivot=pivot))[: 3 if get_infos else 2]


expose_as_method(lu, "out")


@operation(
    "A",
    spaces="linalg",
    results=make_result_type("linalg_lu", "P", "L", "U"),
    constant=(0,),
    copies_operands=True,
)
def linalg_lu(A, *, pivot: bool = True) -> Any:
    """The decomposition A = PLU with a permutation P; L has ones on its diagonal."""
    check_matrix("linalg.lu", A)
    if not pivot:
        raise TensorError(
            "linalg.lu_factor: LU without pivoting is not implemented on the CPU",
            hint="pivot=True; torch.linalg.lu_factor_ex and lu_solve use the pivots",
        )
    packed, _, order = ops.lu(A)
    return [ops.permuted_identity(order, A), *ops.lu_triangles(packed)]


@operation(
    "LU_data LU_pivots",
    spaces="function",
    results=make_result_type("lu_unpack", "P", "L", "U"),
    constant=(0,),
)
def lu_unpack(LU_data, LU_pivots, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The matrices (P, L, U) from the result of `lu_factor`; a matrix that is not requested is empty."""
    nothing = np.zeros(0, aval_of(LU_data).dtype)
    p = (
        ops.permuted_identity(ops.row_order(LU_pivots - 1, rows=LU_data.shape[-2]), LU_data)
        if unpack_pivots
        else nothing
    )
    return [p, *(ops.lu_triangles(LU_data) if unpack_data else (nothing, nothing))]


@operation("LU pivots B", spaces="linalg", copies_operands=True)
def linalg_lu_solve(LU, pivots, B, *, left: bool = True, adjoint: bool = False) -> Any:
    """The solution X with AX = B, or XA = B, for the factors of A; with `adjoint` for Aᴴ."""
    if aval_of(pivots).dtype != ops.INFO:
        raise TensorError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32",
            hint="pivots.to(torch.int32), as torch.linalg.lu_factor gives them",
        )
    check_square("linalg.lu_solve", LU, "LU")
    check_pair("linalg.lu_solve", LU, B)
    return solve_factored(LU, pivots, B, left, adjoint)


def solve_factored(packed, pivots, b, left: bool, is_adjoint: bool) -> Any:
    """Solve AX = B, or XA = B, for A = PLU, or for Aᴴ."""
    if not left:  # (XA)ᴴ = AᴴXᴴ
        return ops.adjoint(solve_factored(packed, pivots, ops.adjoint(b), True, not is_adjoint))
    order = ops.row_order(pivots - 1, rows=packed.shape[-1])

    def solve_triangle(factor, b, lower: bool) -> Any:
        factor, lower = (ops.adjoint(factor), not lower) if is_adjoint else (factor, lower)
        return solve_systems(
            "linalg.lu_solve", ops.triangular_solve, factor, b, True, lower=lower, unit_diagonal=False
        )

    l_factor, u_factor = ops.lu_triangles(packed)
    if is_adjoint:
        x = solve_triangle(l_factor, solve_triangle(u_factor, b, False), True)
        return take_rows(x, ops.argsort(order, axis=order.ndim - 1))
    return solve_triangle(u_factor, solve_triangle(l_factor, take_rows(b, order), True), False)


def take_rows(b, order) -> Any:
    """The rows of matrices in an order, which broadcast."""
    batch = np.broadcast_shapes(b.shape[:-2], order.shape[:-1])
    b = ops.broadcast_to(b, shape=(*batch, *b.shape[-2:]))
    order = ops.broadcast_to(order, shape=(*batch, order.shape[-1]))
    return fnp.take_along_axis(b, fnp.expand_dims(order, -1), -2)


@expose("function method")
def lu_solve(input, LU_data, LU_pivots, *, out=None) -> Any:
    """The solution X with AX = b for the factors of A: see `linalg.lu_solve`."""
    return linalg_lu_solve(LU_data, LU_pivots, input, out=out)
