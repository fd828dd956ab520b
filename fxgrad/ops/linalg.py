"""Stacks of matrices in rules and kernels, and QR. The last two axes are those of the matrix; all axes before are batch
axes, equal for all operands. `systems` has linear systems, `determinants` determinants, `hermitian` Cholesky factors,
and `spectral` decompositions into eigenvalues and singular values.

Formulas for QR: S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ..core.advice import SQUARE
from ..core.aval import Aval, aval_of, kind_of
from ..core.errors import DTypeError, NotDifferentiableError, ShapeError
from ..core.typing import Array
from .contraction import LETTERS
from .kinds import general
from .vocabulary import ops


# -- matrices that a kernel refuses ------------------------------------------
def each_or_nan(function: Callable[..., np.ndarray], a: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    """Return what a function of NumPy's gives for stacks of matrices: NaN for those of the first that it refuses."""
    with suppress(np.linalg.LinAlgError):
        return function(a, *rest)
    if a.ndim > 2:
        return np.stack([each_or_nan(function, *matrices) for matrices in zip(a, *rest, strict=True)])
    return np.full_like(function(np.eye(len(a), dtype=a.dtype), *rest), np.nan)


# -- matrices in rules ------------------------------------------
@cache
def matmul_spec(ndim: int) -> str:
    batch = LETTERS[: ndim - 2]
    return f"{batch}XY,{batch}YZ->{batch}XZ"


def matrix_product(a: Any, b: Any) -> Any:
    """Multiply stacks of matrices."""
    return ops.contract(a, b, spec=matmul_spec(aval_of(a).ndim))


def matrix_transpose(a: Any) -> Array:
    """Aᵀ."""
    ndim = aval_of(a).ndim
    return ops.permute(a, axes=(*range(ndim - 2), ndim - 1, ndim - 2))


def is_complex(a: Any) -> bool:
    return kind_of(aval_of(a).dtype) == "c"


def adjoint(a: Any) -> Any:
    """Aᴴ."""
    return ops.conjugate(matrix_transpose(a)) if is_complex(a) else matrix_transpose(a)


def hermitian_part(a: Any) -> Any:
    """(A + Aᴴ)/2."""
    return (a + adjoint(a)) * 0.5


def skew_part(a: Any) -> Any:
    """(A − Aᴴ)/2."""
    return (a - adjoint(a)) * 0.5


def column_matrix(v: Any) -> Any:
    """Return a vector as a matrix of one column."""
    return ops.reshape(v, shape=(*aval_of(v).shape, 1))


def row_matrix(v: Any) -> Any:
    """Return a vector as a matrix of one row."""
    shape = aval_of(v).shape
    return ops.reshape(v, shape=(*shape[:-1], 1, shape[-1]))


def diagonal(a: Any) -> Any:
    """Return the diagonal of square matrices."""
    aval = aval_of(a)
    entries = ops.where(np.eye(aval.shape[-1], dtype=bool), a, 0)
    return ops.reduce_sum(entries, axes=(aval.ndim - 1,))


def lower_triangle(a: Any, k: int = 0) -> Any:
    """Return the entries on and below the k-th diagonal, with zeros above."""
    m, n = aval_of(a).shape[-2:]
    return ops.where(np.tri(m, n, k, dtype=bool), a, 0)


def upper_triangle(a: Any, k: int = 0) -> Any:
    """Return the entries on and above the k-th diagonal, with zeros below."""
    m, n = aval_of(a).shape[-2:]
    return ops.where(~np.tri(m, n, k - 1, dtype=bool), a, 0)


def slice_columns(a: Any, start: int | None, stop: int | None) -> Any:
    """Return the columns from `start` up to `stop`."""
    return ops.getitem(a, index=(*(slice(None),) * (aval_of(a).ndim - 1), slice(start, stop, None)))


def identity_like(a: Any, n: int) -> Any:
    """Return identities of order n, one for each of the matrices a, which are not smaller."""
    corner = ops.getitem(a, index=(*(slice(None),) * (aval_of(a).ndim - 2), slice(n), slice(n)))
    return ops.where(np.eye(n, dtype=bool), ops.full_like(corner, value=1), 0)


def nan_where(x: Any, where: Any) -> Any:
    """Make x NaN where there is no derivative, by a product, so that its derivatives are NaN, too."""
    return x * ops.where(where, np.nan, ops.full_like(x, value=1))


# -- declaring ------------------------------------------
LAPACK_DTYPES = frozenset(map(np.dtype, ("f4", "f8", "c8", "c16")))


def compute_dtype(name: str, *avals: Aval) -> Any:
    """Return the dtype in which LAPACK computes: float64 for integers and booleans; half precisions are refused."""
    for aval in avals:
        if kind_of(aval.dtype) not in "biu" and aval.dtype not in LAPACK_DTYPES:
            raise DTypeError(
                f"{name}: array type {aval.dtype.name} is unsupported in linalg",
                hint="x.astype(np.float32), or another of float32, float64, complex64, complex128",
            )
    dtype = np.result_type(*[a.dtype for a in avals])
    return dtype if dtype in LAPACK_DTYPES else np.dtype(float)


def real_dtype(dtype: Any) -> Any:
    """Return the dtype of the real parts."""
    return np.empty(0, dtype).real.dtype


def require_square(name: str, a: Aval) -> None:
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(
            f"{name}: the last two axes must make square matrices, the operand has shape {a.shape}",
            hint=SQUARE,
        )


def linalg_kernel(
    name: str, make: Callable[[Any], Callable], matrices: int | None = None
) -> Callable[[Any], Callable]:
    """Return a kernel factory that converts operands to the dtype of `compute_dtype` first: all of them, or the first
    `matrices`."""

    def make_kernel(xp: Any) -> Callable:
        kernel = make(xp)
        if xp is not np:
            return kernel

        def compute(*operands: Any, **params: Any) -> Any:
            return kernel(
                *(
                    x if x.dtype in LAPACK_DTYPES else x.astype(compute_dtype(name, x))
                    for x in operands[:matrices]
                ),
                *(operands[matrices:] if matrices else ()),
                **params,
            )

        return compute

    return make_kernel


def matrix_function(name: str, make: Any, **rules: Any) -> Callable[..., Any]:
    """Declare an operation on matrices and what goes along with them. Batch axes lead, so that one more is not new."""

    def batch_rule(*operands: Any, size: int, **params: Any) -> Any:
        return call(*operands, **params)

    call = general(name, linalg_kernel(name, make, matrices=1), batch_rule=batch_rule, **rules)
    return call


def sum_terms(*terms: Any) -> Any:
    """Sum the terms that are not None."""
    present = [t for t in terms if t is not None]
    result = present[0]
    for term in present[1:]:
        result = ops.add(result, term)
    return result


def matrix_aval(self: Any, a: Aval, *factors: Aval, **params: Any) -> Aval:
    require_square(self.name, a)
    return Aval(a.shape, compute_dtype(self.name, a))


# -- matrices in kernels ------------------------------------------
def diagonal_mask(xp: Any, a: Any) -> Any:
    """Return the mask of the diagonal, i = j."""
    i = xp.arange(a.shape[-1])
    return i[:, None] == i


def conjugate_transpose(xp: Any, a: Any) -> Any:
    """Aᴴ."""
    flip = xp.matrix_transpose if hasattr(xp, "matrix_transpose") else lambda z: xp.swapaxes(z, -1, -2)
    return xp.conj(flip(a))


# -- orthogonal and triangular factors ------------------------------------------
def qr_aval(self: Any, a: Aval, *, complete: bool) -> list[Aval]:
    if len(a.shape) < 2:
        raise ShapeError(
            f"qr: the operand has shape {a.shape}, matrices have two axes",
            hint="a[None] for a row, a[:, None] for a column",
        )
    *batch, m, n = a.shape
    k, dtype = m if complete else min(m, n), compute_dtype("qr", a)
    return [Aval((*batch, m, k), dtype), Aval((*batch, k, n), dtype)]


def qr_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """With C = QᴴȦR⁻¹ and Ω its skew part whose lower triangle is that of C: Ṙ = (C − Ω)R, Q̇ = ȦR⁻¹ − Q(C − Ω).

    Of a wide matrix the square block on the left determines Q, and Ṙ = QᴴȦ − QᴴQ̇R holds for all columns. Where R is
    singular, up to rounding in a column, the factors have no derivative: NaN.
    """
    (q, r), (t,) = ys, tangents
    *batch, m, n = aval_of(t).shape
    if params["complete"] and m > n:
        raise NotDifferentiableError(
            f"qr: the last {m - n} columns of Q for mode='complete' and {m}×{n} matrices are an arbitrary basis of a "
            f"complement and have no derivative",
            hint="mode='reduced', or mode='r' where only R is needed",
        )
    k = min(m, n)
    corner = slice_columns(r, None, k)
    size = ops.norm2(corner, axes=(len(batch),))
    deficient = ops.less_equal(
        ops.absolute(diagonal(corner)), size * (8 * k * float(np.finfo(aval_of(size).dtype).eps))
    )
    corner = nan_where(corner, row_matrix(deficient))
    left = matrix_transpose(
        ops.triangular_solve(
            matrix_transpose(corner),
            matrix_transpose(slice_columns(t, None, k)),
            lower=True,
            unit_diagonal=False,
        )
    )
    c = matrix_product(adjoint(q), left)
    turn = lower_triangle(c, -1) - adjoint(lower_triangle(c, -1))
    if is_complex(c):  # the diagonal of R is real
        turn = turn + ops.where(np.eye(k, dtype=bool), ops.make_complex(0.0, ops.imag(c)), 0)
    tq = left - matrix_product(q, c - turn)
    return [tq, upper_triangle(matrix_product(adjoint(q), t) - matrix_product(turn, r))]


qr = matrix_function(
    "qr",
    lambda xp: lambda a, *, complete: xp.linalg.qr(a, mode="complete" if complete else "reduced"),
    abstract_rule=qr_aval,
    tangent_rule=qr_tangent,
    multiple=True,
)
