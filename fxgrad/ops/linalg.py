"""Linear systems and factorizations of stacks of matrices: the last two axes are those of the matrix, all axes before
are batch axes, the same for all operands. Decompositions into eigen- and singular values are in `spectral`.

Formulas: M. B. Giles, "An extended collection of matrix derivative results", Oxford 2008; for pseudo-inverses and
least squares G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973); for QR S. F. Walter and L. Lehmann (2010).
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import Aval, aval_of, kind_of
from ..core.errors import DTypeError, NotDifferentiableError, ShapeError
from .contraction import LETTERS
from .kinds import General, general, register
from .vocabulary import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# -- matrices in rules ------------------------------------------
@cache
def matmul_spec(ndim: int) -> str:
    batch = LETTERS[: ndim - 2]
    return f"{batch}XY,{batch}YZ->{batch}XZ"


def matrix_product(a: Any, b: Any) -> Any:
    """Multiply stacks of matrices."""
    return ops.contract(a, b, spec=matmul_spec(aval_of(a).ndim))


def matrix_transpose(a: Any) -> Any:
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
    """Make x NaN where there is no derivative: by a product, so that what is derived from it is NaN, too."""
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
            f"{name}: the last two axes must make square matrices, the operand has shape {a.shape}"
        )


def linalg_kernel(name: str, make: Callable[[Any], Callable]) -> Callable[[Any], Callable]:
    """Return a kernel factory that converts operands to the dtype of `compute_dtype` first."""

    def make_kernel(xp: Any) -> Callable:
        kernel = make(xp)
        if xp is not np:
            return kernel

        def compute(*operands: Any, **params: Any) -> Any:
            return kernel(
                *(x if x.dtype in LAPACK_DTYPES else x.astype(compute_dtype(name, x)) for x in operands),
                **params,
            )

        return compute

    return make_kernel


def matrix_function(name: str, make: Any, **rules: Any) -> Callable[..., Any]:
    """Declare an operation on matrices. Its batch axes lead, so that one more of them is nothing new."""

    def batch_rule(*operands: Any, size: int, **params: Any) -> Any:
        return call(*operands, **params)

    call = general(name, linalg_kernel(name, make), batch_rule=batch_rule, **rules)
    return call


class Solver(General):
    """A primitive that is linear in its second operand; with a single matrix, all columns of a batch are solved for
    together."""

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        if is_batched[0]:
            return super().batch(values, is_batched, size, params)
        a, b = values
        ndim, wide = aval_of(b).ndim, aval_of(b).shape[-1]
        b = ops.permute(b, axes=(*range(1, ndim), 0))
        x = self.call(a, ops.reshape(b, shape=(*aval_of(b).shape[:-2], wide * size)), **params)
        x = ops.reshape(x, shape=(*aval_of(x).shape[:-1], wide, size))
        return ops.permute(x, axes=(ndim - 1, *range(ndim - 1))), True


def solver(name: str, make: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a `Solver`."""

    def batch_rule(a: Any, b: Any, *, size: int, **params: Any) -> Any:
        return call(a, b, **params)

    call = register(Solver(name, linalg_kernel(name, make), batch_rule=batch_rule, **rules)).call
    return call


def sum_terms(*terms: Any) -> Any:
    """Sum the terms that are not None."""
    present = [t for t in terms if t is not None]
    result = present[0]
    for term in present[1:]:
        result = ops.add(result, term)
    return result


# -- matrices in kernels ------------------------------------------
def diagonal_mask(xp: Any, a: Any) -> Any:
    """Return the mask of the diagonal, i = j."""
    i = xp.arange(a.shape[-1])
    return i[:, None] == i


def conjugate_transpose(xp: Any, a: Any) -> Any:
    """Aᴴ."""
    flip = xp.matrix_transpose if hasattr(xp, "matrix_transpose") else lambda z: xp.swapaxes(z, -1, -2)
    return xp.conj(flip(a))


# -- linear systems ------------------------------------------
def solve_aval(self: Any, a: Aval, b: Aval, **params: Any) -> Aval:
    require_square(self.name, a)
    if len(b.shape) != len(a.shape) or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"{self.name}: matrices of shape {a.shape}, right-hand sides of shape {b.shape}")
    return Aval(b.shape, compute_dtype(self.name, a, b))


def solve_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁻¹(ḃ − Ȧx)."""
    (a, _), (ta, tb) = primals, tangents
    return solve(a, sum_terms(tb, None if ta is None else -matrix_product(ta, x)))


solve = solver(
    "solve",
    lambda xp: lambda a, b: xp.linalg.solve(a, b),
    abstract_rule=solve_aval,
    tangent_rule=solve_tangent,
    transpose_rule=lambda ct, a, b: [None, solve(matrix_transpose(a), ct)],
)


def triangular_kernel(xp: Any) -> Any:
    """The kernel uses LAPACK's general solver: on two cores it took 0.6 to 1.5 times the time of its triangular one,
    which NumPy does not have, for orders from 3 to 500. A zero on the diagonal gives NaN."""

    def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool) -> Any:
        a, pivots = xp.tril(a) if lower else xp.triu(a), diagonal_mask(xp, a)
        a = xp.where(pivots, 1, a) if unit_diagonal else xp.where(pivots & (a == 0), xp.nan, a)
        return xp.linalg.solve(a, b)

    return triangular_solve


def triangular_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁻¹(ḃ − Ȧx), where Ȧ counts in the triangle only."""
    (a, _), (ta, tb) = primals, tangents
    if ta is not None:
        beyond = params["unit_diagonal"]
        ta = lower_triangle(ta, -beyond) if params["lower"] else upper_triangle(ta, beyond)
    return triangular_solve(a, sum_terms(tb, None if ta is None else -matrix_product(ta, x)), **params)


# Reads one triangle of A, and with `unit_diagonal` not the diagonal.
triangular_solve = solver(
    "triangular_solve",
    triangular_kernel,
    abstract_rule=solve_aval,
    tangent_rule=triangular_tangent,
    transpose_rule=lambda ct, a, b, *, lower, unit_diagonal: [
        None,
        triangular_solve(matrix_transpose(a), ct, lower=not lower, unit_diagonal=unit_diagonal),
    ],
)


def matrix_aval(self: Any, a: Aval, **params: Any) -> Aval:
    require_square(self.name, a)
    return Aval(a.shape, compute_dtype(self.name, a))


def inv_kernel(xp: Any) -> Any:
    def inv(a: Any, *, strict: bool) -> Any:
        if strict:
            return xp.linalg.inv(a)
        if xp is np:  # which says so where the elimination meets a zero pivot
            with suppress(np.linalg.LinAlgError):
                return np.linalg.inv(a)
        singular = xp.linalg.slogdet(a)[0] == 0  # the same elimination meets the same zero pivot
        hollow = xp.where(singular[..., None, None], xp.nan, a)
        return xp.linalg.inv(hollow)

    return inv


def inv_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """−A⁻¹ȦA⁻¹."""
    return -matrix_product(matrix_product(y, tangents[0]), y)


# Of a singular matrix: an error with `strict`, otherwise NaN.
inv = matrix_function("inv", inv_kernel, abstract_rule=matrix_aval, tangent_rule=inv_tangent)


# -- least squares ------------------------------------------
def lstsq_kernel(xp: Any) -> Any:
    def lstsq(a: Any, b: Any, *, rcond: float) -> Any:
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        if s.shape[-1] == 0:
            return xp.zeros(
                (*a.shape[:-2], a.shape[-1], b.shape[-1]), dtype=(a[..., :0] @ b[..., :0, :]).dtype
            )
        large = s > rcond * s[..., :1]
        weight = xp.where(large, 1 / xp.where(large, s, xp.ones_like(s)), xp.zeros_like(s))
        return conjugate_transpose(xp, vh) @ (weight[..., None] * (conjugate_transpose(xp, u) @ b))

    return lstsq


def lstsq_aval(self: Any, a: Aval, b: Aval, *, rcond: float) -> Aval:
    if len(a.shape) < 2 or len(b.shape) != len(a.shape) or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"lstsq: matrices of shape {a.shape}, right-hand sides of shape {b.shape}")
    return Aval((*a.shape[:-2], a.shape[-1], b.shape[-1]), compute_dtype("lstsq", a, b))


def lstsq_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁺(ḃ − Ȧx) + A⁺A⁺ᴴȦᴴ(b − Ax) + (I − A⁺A)ȦᴴA⁺ᴴx, where the rank is constant (Golub and Pereyra)."""
    (a, b), (ta, tb) = primals, tangents
    if ta is None:
        return lstsq(a, tb, **params)
    ah, tah = adjoint(a), adjoint(ta)
    inside = lstsq(ah, matrix_product(tah, b - matrix_product(a, x)), **params)
    aside = matrix_product(tah, lstsq(ah, x, **params))
    change = sum_terms(tb, -matrix_product(ta, x), inside, -matrix_product(a, aside))
    return lstsq(a, change, **params) + aside


# A⁺b: of the x that minimize ‖Ax − b‖ the shortest. Singular values ≤ rcond·(the greatest) count as zeros.
lstsq = solver(
    "lstsq",
    lstsq_kernel,
    abstract_rule=lstsq_aval,
    tangent_rule=lstsq_tangent,
    transpose_rule=lambda ct, a, b, *, rcond: [None, lstsq(matrix_transpose(a), ct, rcond=rcond)],
)


# -- determinants ------------------------------------------
def determinant_aval(self: Any, a: Aval) -> Aval:
    require_square(self.name, a)
    return Aval(a.shape[:-2], compute_dtype(self.name, a))


def trace_of_product(a: Any, b: Any) -> Any:
    """Compute tr(AB)."""
    y = a * matrix_transpose(b)
    return ops.reduce_sum(y, axes=(y.ndim - 2, y.ndim - 1))


# The derivative is tr(adj(A)Ȧ), for singular matrices, too: the adjugate is a polynomial.
det = matrix_function(
    "det",
    lambda xp: lambda a: xp.linalg.det(a),
    abstract_rule=determinant_aval,
    tangent_rule=lambda y, primals, tangents, params: trace_of_product(adjugate(primals[0]), tangents[0]),
)


def products_without_one(xp: Any, s: Any) -> Any:
    """Return the products of all singular values but one."""
    s = s[..., None, :]
    return xp.prod(xp.where(diagonal_mask(xp, s), xp.ones_like(s), s), axis=-1)


def svd_with_phase(xp: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    """Return (Uᴴ, s, V, φ) with A = U diag(s) Vᴴ and adj(A) = φ·V adj(diag(s)) Uᴴ."""
    finite = xp.all(xp.isfinite(a), axis=(-2, -1), keepdims=True)
    u, s, vh = xp.linalg.svd(xp.where(finite, a, xp.zeros_like(a)))  # which may not converge otherwise
    s = xp.where(finite[..., 0], s, xp.full_like(s, xp.nan))
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    return conjugate_transpose(xp, u), s, conjugate_transpose(xp, vh), phase[..., None, None]


def adjugate_kernel(xp: Any) -> Any:
    inverted = inv_kernel(xp)

    def norm(a: Any) -> Any:
        return xp.sqrt(xp.sum(xp.abs(a) ** 2, axis=(-2, -1)))

    def adjugate(a: Any) -> Any:
        inverse = inverted(a, strict=False)
        if xp.all(norm(a) * norm(inverse) < float(xp.finfo(a.dtype).eps) ** (-1 / 3)):
            return xp.linalg.det(a)[..., None, None] * inverse  # well-conditioned: a quarter of the time
        uh, s, v, phase = svd_with_phase(xp, a)
        return phase * (v @ (products_without_one(xp, s)[..., None] * uh))

    return adjugate


# adj(A) = det(A)·A⁻¹ without the quotient, by singular values: right for every rank.
adjugate = matrix_function(
    "adjugate",
    adjugate_kernel,
    abstract_rule=matrix_aval,
    tangent_rule=lambda y, primals, tangents, params: adjugate_slope(primals[0], tangents[0]),
)


def adjugate_slope_kernel(xp: Any) -> Any:
    def adjugate_slope(a: Any, t: Any) -> Any:
        uh, s, v, phase = svd_with_phase(xp, a)
        n = s.shape[-1]
        if n < 2:
            return xp.zeros_like(t)
        # Products without sᵢ and sⱼ, i < j: those without the lesser, sⱼ, divided by the greater, sᵢ. Where sᵢ = 0 a
        # third factor vanishes, too, unless these are the last two.
        divisor = xp.where(s == 0, xp.ones_like(s), s)[..., :, None]
        two = xp.triu(products_without_one(xp, s)[..., None, :] / divisor, k=1)
        last = xp.reshape(xp.arange(n * n) == n * n - n - 1, (n, n))
        two = xp.where(last, xp.prod(s[..., :-2], axis=-1)[..., None, None], two)
        two = two + conjugate_transpose(xp, two)
        e, eye = phase * ((uh @ t) @ v), diagonal_mask(xp, two)
        others = two @ xp.sum(xp.where(eye, e, xp.zeros_like(e)), axis=-1)[..., None]
        return v @ (xp.where(eye, others, -two * e) @ uh)

    return adjugate_slope


def adjugate_slope_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent is the third derivative of det, which is taken by the inverse, and so is NaN where A is singular."""
    (a, t), (x, dt) = primals, tangents
    if x is None:
        return adjugate_slope(a, dt)
    b, volume = inv(a, strict=False), ops.reshape(det(a), shape=(*a.shape[:-2], 1, 1))
    bt, bx = matrix_product(b, t), matrix_product(b, x)

    def trace(m: Any) -> Any:
        return ops.reshape(ops.reduce_sum(diagonal(m), axes=(m.ndim - 2,)), shape=(*m.shape[:-2], 1, 1))

    btbx = matrix_product(bt, bx)
    first = (
        trace(bx) * (b * trace(bt) - matrix_product(bt, b))
        - trace(btbx) * b
        - trace(bt) * matrix_product(bx, b)
    )
    second = volume * (first + matrix_product(btbx + matrix_product(bx, bt), b))
    return second if dt is None else second + adjugate_slope(a, dt)


# The derivative of adj(A) along T. ⟨C, D adj(A)[T]⟩ is symmetric in Cᵀ and T: the second derivative of det.
adjugate_slope = matrix_function(
    "adjugate_slope",
    adjugate_slope_kernel,
    abstract_rule=lambda self, a, t: matrix_aval(self, a),
    tangent_rule=adjugate_slope_tangent,
    transpose_rule=lambda ct, a, t: [None, matrix_transpose(adjugate_slope(a, matrix_transpose(ct)))],
)


def slogdet_aval(self: Any, a: Aval) -> list[Aval]:
    sign = determinant_aval(self, a)
    return [sign, Aval(sign.shape, real_dtype(sign.dtype))]


def slogdet_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """The tangent of log|det| is Re tr(A⁻¹Ȧ), NaN where A is singular. The sign turns by the imaginary part."""
    change = trace_of_product(inv(primals[0], strict=False), tangents[0])
    if not is_complex(change):
        return [None, change]
    return [ys[0] * ops.make_complex(0.0, ops.imag(change)), ops.real(change)]


slogdet = matrix_function(
    "slogdet",
    lambda xp: lambda a: xp.linalg.slogdet(a),
    abstract_rule=slogdet_aval,
    tangent_rule=slogdet_tangent,
    multiple=True,
)


# -- factorizations ------------------------------------------
def mirror_triangle_kernel(xp: Any) -> Any:
    def mirror_triangle(a: Any, *, upper: bool) -> Any:
        i = xp.arange(a.shape[-1])
        given = i[:, None] < i if upper else i[:, None] > i
        mirrored = xp.where(given, a, conjugate_transpose(xp, a))
        return xp.where(i[:, None] == i, xp.real(a), mirrored) if is_complex(a) else mirrored

    return mirror_triangle


# The Hermitian matrix of which one triangle is given, with the derivative of (A + Aᴴ)/2, so that the gradient of a
# function of Hermitian matrices is Hermitian. Off these the two are not of one function; see `checking.hermitian`.
mirror_triangle = matrix_function(
    "mirror_triangle",
    mirror_triangle_kernel,
    abstract_rule=matrix_aval,
    tangent_rule=lambda y, primals, tangents, params: hermitian_part(tangents[0]),
)


def cholesky_kernel(xp: Any) -> Any:
    return lambda a: xp.linalg.cholesky(a * 0.5 + conjugate_transpose(xp, a) * 0.5)


def cholesky_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """LΦ(L⁻¹ȦL⁻ᴴ), where Φ takes the lower triangle and half of the diagonal."""
    n = aval_of(y).shape[-1]
    inverse = triangular_solve(
        y, identity_like(y, n), lower=True, unit_diagonal=False
    )  # once, for two products
    both = matrix_product(matrix_product(inverse, hermitian_part(tangents[0])), adjoint(inverse))
    triangle, main = lower_triangle(both), np.eye(n, dtype=bool)
    return matrix_product(y, ops.where(main, triangle * 0.5, triangle))


# Of the Hermitian part of A, so that gradients are Hermitian.
cholesky = matrix_function(
    "cholesky", cholesky_kernel, abstract_rule=matrix_aval, tangent_rule=cholesky_tangent
)


def qr_aval(self: Any, a: Aval, *, complete: bool) -> list[Aval]:
    if len(a.shape) < 2:
        raise ShapeError(f"qr: the operand has shape {a.shape}, matrices have two axes")
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
        triangular_solve(
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
