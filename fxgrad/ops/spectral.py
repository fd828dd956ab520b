"""Eigenvalue and singular value decompositions of stacks of matrices, with correct derivatives at repeated values.

Let A = V diag(w) Vᴴ and E = VᴴȦV. Then ẇᵢ = Eᵢᵢ and V̇ = VX with Xᵢⱼ = Eᵢⱼ/(wⱼ − wᵢ) (Giles 2008; for singular values
J. Townsend 2016). Within a *cluster*, values equal up to rounding, the vectors are an arbitrary basis (the gauge), and
no derivative of a single vector or value exists; that of a function may (T. Kato, Perturbation Theory for Linear
Operators, II.2: the projection onto the cluster's space and the mean of its values are smooth). So the rules give the
right number or NaN:

* Reverse mode knows what the function does. Of values alone: finite where the cotangents within each cluster are equal
  (w.sum(), nuclear norms), otherwise NaN (w[0]). Of vectors alone: finite where the cotangent has no component along
  the rotations of the cluster (projections), otherwise NaN. Of values and vectors of the same cluster (V f(w) Vᴴ): NaN,
  since the coupling of the two is lost; a slice that leaves the cluster out, of either, leaves it out here.
* Forward mode does not. A value has the tangent Eᵢᵢ, which is right for every function of the values alone that is
  differentiable; a vector has the tangent NaN if the direction mixes the cluster, which is Eᵢⱼ ≠ 0.
* Singular values that count as zeros have the derivative 0 by convention, as |x| has at 0; with `null_vectors` they
  have Eᵢᵢ as the others do (torch's convention, for `compat`), though their vectors are an arbitrary pair.
* The phase of a complex vector is arbitrary as well: reverse mode gives NaN to functions that depend on it.

The test is a necessary condition only: a cotangent that happens to vanish along the rotations although the function
depends on the basis (V[0, 0]² where V is the identity) cannot be distinguished from that of a projection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from ..core.primitive import Primitive
from ..core.pullback import PullbackRule
from .kinds import General, general, register
from .linalg import (
    adjoint,
    column_matrix,
    compute_dtype,
    conjugate_transpose,
    diagonal,
    hermitian_part,
    linalg_kernel,
    matrix_product,
    matrix_transpose,
    nan_where,
    real_dtype,
    require_square,
    row_matrix,
    skew_part,
    slice_columns,
    sum_terms,
)
from .masked import Masked
from .systems import inv
from .vocabulary import ops


class Decomposition(General):
    """A decomposition into values and vectors. In reverse mode its tangent rule has two more operands: which positions
    of the values, and which of the vectors, have a say in the function. The supports of the cotangents tell; zeros may
    be coincidence.

    `vector_axes` gives for every result the axis along which its vectors run, None for the values.
    """

    def __init__(self, *args: Any, vector_axes: Sequence[int | None], **rules: Any):
        self.vector_axes = vector_axes
        super().__init__(*args, **rules)

    def extra_operands(self, cts: dict, outs: Sequence[Aval]) -> Sequence[Any]:
        count = outs[self.vector_axes.index(None)].shape[-1]
        marks = [EVERY_POSITION, EVERY_POSITION]
        for i, ct in cts.items():
            kind = int(self.vector_axes[i] is not None)
            mark = support_positions(ct, self.vector_axes[i], count)
            marks[kind] = mark if marks[kind] is EVERY_POSITION else ops.logical_or(marks[kind], mark)
        return marks


EVERY_POSITION = np.ones(1, dtype=bool)


def support_positions(ct: Any, vector_axis: int | None, count: int) -> Any:
    """Return the mask of the positions, among the first `count`, that are in the support of a cotangent."""
    if type(ct) is not Masked:
        return np.ones(1, dtype=bool)
    shape = aval_of(ct.value).shape
    mask = ops.broadcast_to(ct.support.force(), shape=shape)
    if vector_axis is not None:
        mask = ops.reduce_any(mask, axes=(len(shape) + vector_axis,))
    return slice_columns(mask, None, count)


def decomposition(name: str, make: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a `Decomposition` operation."""

    def batch_rule(a: Any, *, size: int, **params: Any) -> Any:
        return call(a, **params)

    call = register(
        Decomposition(name, linalg_kernel(name, make), batch_rule=batch_rule, multiple=True, **rules)
    ).call
    return call


class SpectralValues(Primitive, PullbackRule):
    """The values of a decomposition, without the vectors, which take longer. Where there is a derivative it is the
    decomposition that is carried out: the rule for its vectors is to know of the values, too."""

    def __init__(self, name: str, make: Any, full_decomposition: Any, **params: Any):
        self.full_decomposition, self.params = full_decomposition.primitive, params
        self.index = self.full_decomposition.vector_axes.index(None)
        super().__init__(name, linalg_kernel(name, make))

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        return self.full_decomposition.abstract_eval(avals, {**self.params, **params})[self.index]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        if tangents[0] is None:
            return self.call(*primals, **params), None
        ys, ts = self.full_decomposition.jvp(primals, tangents, {**self.params, **params})
        return ys[self.index], ts[self.index]

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        apply = self.full_decomposition.kernel if apply is self.kernel else self.full_decomposition.call
        ys, rule, residuals = self.full_decomposition.vjp(
            apply, values, needed, {**self.params, **params}, snapshot
        )
        return ys[self.index], self, (rule, residuals)

    def pull(self, ct: Any, rule: Any, residuals: Any) -> Sequence[Any]:
        """See `PullbackRule`. The residuals contain vectors, too, which are no results."""
        return rule.pull({self.index: ct}, *residuals)

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return self.call(*values, **params), True


# -- quotients by gaps ------------------------------------------
# The kernels of this section are written in operations, which know the namespaces: so are the transposes.
def epsilon(x: Any) -> float:
    return float(np.finfo(aval_of(x).dtype).eps)


def cluster_tolerance(w: Any) -> float:
    """Return the relative distance below which values are one cluster: LAPACK's error is a few ε of the greatest."""
    return 8 * aval_of(w).shape[-1] * epsilon(w)


def max_modulus(x: Any) -> Any:
    """Return the greatest modulus in each matrix, with axes of length one."""
    size = ops.absolute(ops.stop_gradient(x))
    axes = (size.ndim - 2, size.ndim - 1)
    reduce = ops.reduce_sum if 0 in size.shape else ops.reduce_max
    return ops.restore_axes(reduce(size, axes=axes), size.shape, axes)


def is_negligible(part: Any, whole: Any) -> Any:
    """Return where a part of `full_decomposition` is zero up to the rounding errors of sums of products."""
    return ops.less_equal(ops.absolute(ops.stop_gradient(part)), max_modulus(whole) * epsilon(whole) ** 0.75)


def is_zero_relative(d: Any) -> Any:
    """Return where an entry of a matrix counts as zero beside the greatest."""
    d = ops.stop_gradient(d)
    return ops.less_equal(ops.absolute(d), max_modulus(d) * cluster_tolerance(d))


def gaps(w: Any) -> tuple[Any, Any]:
    """Return (wⱼ − wᵢ, the mask of the pairs that are one cluster)."""
    values = ops.stop_gradient(w)
    distance = ops.absolute(row_matrix(values) - column_matrix(values))
    return row_matrix(w) - column_matrix(w), ops.less_equal(
        distance, max_modulus(row_matrix(w)) * cluster_tolerance(w)
    )


def divide_or_nan(x: Any, d: Any, near: Any, fine: Any) -> Any:
    """Divide x by d; where d counts as zero, the quotient is 0 if that is fine, otherwise NaN."""
    nothing = ops.logical_and(near, fine)
    chosen = ops.where(nothing, ops.zeros_like(x), x / ops.where(near, 1, d))
    return nan_where(chosen, ops.logical_and(near, ops.logical_not(fine)))


def quotient_tangent(y: Any, td: Any, d: Any, near: Any) -> Any:
    """Return the tangent of a quotient y along that of its divisor; where that counts as zero, y is 0 or NaN, as y · 0
    is."""
    return -y * ops.where(near, 0, td / ops.where(near, 1, d))


def divisors(s: Any, turning: bool) -> Any:
    """Return sᵢ + sⱼ for every pair, or sⱼ for every column."""
    return row_matrix(s) + column_matrix(s) if turning else row_matrix(s)


def singular_quotient_kernel(x: Any, s: Any, *, turning: bool) -> Any:
    part, d = skew_part(x) if turning else x, divisors(s, turning)
    return divide_or_nan(part, d, is_zero_relative(d), is_negligible(part, x))


def singular_quotient_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (_, s), (tx, ts) = primals, tangents
    change = None if tx is None else singular_quotient(tx, s, **params)
    if ts is None:
        return change
    d = divisors(s, **params)
    slope = quotient_tangent(y, divisors(ts, **params), d, is_zero_relative(d))
    return slope if change is None else change + slope


# xᵢⱼ/sⱼ, or for the skew part of x (`turning`) xᵢⱼ/(sᵢ + sⱼ). Where the divisor counts as zero it is 0 if x does, too.
singular_quotient = general(
    "singular_quotient",
    lambda xp: singular_quotient_kernel,
    abstract_rule=lambda self, x, s, *, turning: x,
    batch_rule=lambda x, s, *, size, turning: singular_quotient(x, s, turning=turning),
    tangent_rule=singular_quotient_tangent,
    transpose_rule=lambda ct, x, s, *, turning: [singular_quotient(ct, s, turning=turning), None],
)


def zero_values_mask(w: Any, kind: str) -> Any:
    """Return the mask of singular values that count as zero, as a row."""
    return is_zero_relative(row_matrix(w)) if kind == "singular" else np.zeros(1, bool)


def perturbation_kernel(e: Any, w: Any, by_values: Any, by_vectors: Any, *, kind: str) -> list[Any]:
    gap, near = gaps(w)
    zero, one = zero_values_mask(w, kind), np.eye(aval_of(w).shape[-1], dtype=bool)
    rates, part = diagonal(e), e
    if kind != "general":
        rates, part = ops.real(rates), hermitian_part(e)
    if kind == "singular":
        rates = ops.where(ops.reshape(zero, shape=aval_of(w).shape), 0, rates)
    fine = ops.logical_or(is_negligible(part, e), ops.logical_and(one, ops.logical_not(zero)))
    return [rates, divide_or_nan(part, gap, near, fine)]


def perturbation_transpose(
    cts: Any, e: Aval, w: Any, by_values: Any, by_vectors: Any, *, kind: str
) -> list[Any]:
    """Transpose both results at once, since within a cluster each cotangent is admissible only without the other."""
    values, vectors = cts
    gap, near = gaps(w)
    zero, one = zero_values_mask(w, kind), np.eye(e.shape[-1], dtype=bool)
    single = ops.logical_and(one, ops.logical_not(zero))
    terms, wrong = [], np.zeros(1, bool)
    if vectors is not None:
        part = vectors if kind == "general" else skew_part(vectors)
        fine = is_negligible(part, vectors)
        terms.append(divide_or_nan(part, gap, near, ops.logical_or(fine, one) if kind == "general" else fine))
    if values is not None:
        values = row_matrix(values)
        uneven = ops.logical_not(is_negligible(values - matrix_transpose(values), values))
        terms.append(ops.convert(ops.where(single, values, 0), dtype=e.dtype))
        wrong = ops.logical_and(uneven, ops.logical_not(zero))
        if vectors is not None:
            pairs = [ops.logical_or(row_matrix(by), column_matrix(by)) for by in (by_values, by_vectors)]
            both = ops.logical_and(*pairs)
            wrong = ops.logical_or(wrong, ops.logical_and(both, ops.logical_not(single)))
    return [nan_where(sum_terms(*terms), ops.logical_and(near, wrong)), None, None, None]


def perturbation_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    (_, w, *marks), (te, tw, *_) = primals, tangents
    rates, turn = (None, None) if te is None else spectral_perturbation(te, w, *marks, **params)
    if tw is not None:
        slope = quotient_tangent(ys[1], row_matrix(tw) - column_matrix(tw), *gaps(w))
        turn = slope if turn is None else turn + slope
    return [rates, turn]


def perturbation_batch(e: Any, w: Any, *marks: Any, size: int, kind: str) -> Any:
    """Batch over a leading axis. The marks may lack axes of stacks, whose place the batch axis must not take."""
    rank = aval_of(w).ndim
    shapes = [aval_of(m).shape for m in marks]
    aligned = [ops.reshape(m, shape=(size, *(1,) * (rank - len(s)), *s[1:])) for m, s in zip(marks, shapes)]
    return spectral_perturbation(e, w, *aligned, kind=kind)


# From E: the tangents of the values w, and X for those of the vectors, V̇ = VX. The kinds are "hermitian", "singular"
# (the Hermitian part of E turns left and right vectors together; values that are zero stay so), "singular, null
# vectors" and "general". Last operands: see `Decomposition`.
spectral_perturbation = general(
    "spectral_perturbation",
    lambda xp: perturbation_kernel,
    batch_rule=perturbation_batch,
    abstract_rule=lambda self, e, w, *marks, kind: [
        Aval(w.shape, e.dtype if kind == "general" else real_dtype(e.dtype)),
        e,
    ],
    tangent_rule=perturbation_tangent,
    transpose_rule=perturbation_transpose,
    multiple=True,
)


# -- decompositions ------------------------------------------
def eigh_kernel(xp: Any) -> Any:
    def eigh(a: Any, *, uplo: str) -> Any:
        a = a * 0.5 + conjugate_transpose(xp, a) * 0.5
        return xp.linalg.eigh(a, UPLO=uplo) if xp is np else xp.linalg.eigh(a)

    return eigh


def eigh_aval(self: Any, a: Aval, *, uplo: str) -> list[Aval]:
    require_square("eigh", a)
    dtype = compute_dtype("eigh", a)
    return [Aval(a.shape[:-1], real_dtype(dtype)), Aval(a.shape, dtype)]


def eigh_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    w, v = ys
    e = matrix_product(adjoint(v), matrix_product(hermitian_part(tangents[0]), v))
    values, turn = spectral_perturbation(
        e, w, *(primals[1:] or (EVERY_POSITION, EVERY_POSITION)), kind="hermitian"
    )
    return [values, matrix_product(v, turn)]


# Of the Hermitian part of A, so that gradients are Hermitian. Which triangle LAPACK works on shows in the signs of V.
eigh = decomposition(
    "eigh", eigh_kernel, abstract_rule=eigh_aval, tangent_rule=eigh_tangent, vector_axes=(None, -2)
)


def eigvalsh_kernel(xp: Any) -> Any:
    def eigvalsh(a: Any, *, uplo: str) -> Any:
        a = a * 0.5 + conjugate_transpose(xp, a) * 0.5
        return xp.linalg.eigvalsh(a, UPLO=uplo) if xp is np else xp.linalg.eigvalsh(a)

    return eigvalsh


eigvalsh = register(SpectralValues("eigvalsh", eigvalsh_kernel, eigh)).call


def svd_aval(self: Any, a: Aval, *, full: bool, null_vectors: bool = False) -> list[Aval]:
    if len(a.shape) < 2:
        raise ShapeError(
            f"svd: the operand has shape {a.shape}, matrices have two axes",
            hint="a[None] for a row, a[:, None] for a column",
        )
    *batch, m, n = a.shape
    k, dtype = min(m, n), compute_dtype("svd", a)
    return [
        Aval((*batch, m, m if full else k), dtype),
        Aval((*batch, k), real_dtype(dtype)),
        Aval((*batch, n if full else k, n), dtype),
    ]


def singular_vector_tangent(all_vectors: Any, turn: Any, along: Any, s: Any) -> Any:
    """Return the tangent of singular vectors: they turn among themselves, and move by what of `along`/s leads out of
    their space. Vectors beyond the thin part are an arbitrary basis: their tangents are NaN unless they vanish."""
    k = aval_of(s).shape[-1]
    *batch, m, count = aval_of(all_vectors).shape
    vectors = slice_columns(all_vectors, None, k)
    result = matrix_product(vectors, turn)
    if m > k:
        outward = along - matrix_product(vectors, matrix_product(adjoint(vectors), along))
        outward = singular_quotient(outward, s, turning=False)
        result = result + outward
        if count > k:
            others = ops.stop_gradient(slice_columns(all_vectors, k, None))
            back = matrix_product(vectors, matrix_product(adjoint(outward), others))
            nothing = ops.zeros_like(ops.reduce_sum(ops.absolute(others), axes=(len(batch),)))
            result = ops.concatenate(
                result, singular_quotient(back, nothing, turning=False), axis=len(batch) + 1
            )
    return result


def svd_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """With E = UᴴȦV the left vectors turn by X + Z and the right ones by X − Z, where Xᵢⱼ = Hᵢⱼ/(sⱼ − sᵢ) and
    Zᵢⱼ = Kᵢⱼ/(sⱼ + sᵢ) for the Hermitian part H and the skew part K of E: no squares of singular values."""
    (u, s, vh), t = ys, tangents[0]
    k, v = aval_of(s).shape[-1], adjoint(vh)
    along_u = matrix_product(t, slice_columns(v, None, k))
    along_v = matrix_product(adjoint(t), slice_columns(u, None, k))
    e = matrix_product(adjoint(slice_columns(u, None, k)), along_u)
    kind = "singular, null vectors" if params.get("null_vectors") else "singular"
    values, together = spectral_perturbation(
        e, s, *(primals[1:] or (EVERY_POSITION, EVERY_POSITION)), kind=kind
    )
    apart = singular_quotient(e, s, turning=True)
    return [
        singular_vector_tangent(u, together + apart, along_u, s),
        values,
        adjoint(singular_vector_tangent(v, together - apart, along_v, s)),
    ]


svd = decomposition(
    "svd",
    lambda xp: lambda a, *, full, null_vectors=False: xp.linalg.svd(a, full_matrices=full),
    abstract_rule=svd_aval,
    tangent_rule=svd_tangent,
    vector_axes=(-2, None, -1),
)


def svdvals_kernel(xp: Any) -> Any:
    if hasattr(xp.linalg, "svdvals"):
        return lambda a, *, null_vectors=False: xp.linalg.svdvals(a)
    return lambda a, *, null_vectors=False: xp.linalg.svd(a, compute_uv=False)


svdvals = register(SpectralValues("svdvals", svdvals_kernel, svd, full=False)).call


def eig_kernel(xp: Any) -> Any:
    def eig(a: Any) -> Any:
        w, v = xp.linalg.eig(a)
        if xp is np:  # which gives real results where all are
            w, v = (z.astype(np.result_type(z, np.complex64)) for z in (w, v))
        return w, v

    return eig


def eig_aval(self: Any, a: Aval) -> list[Aval]:
    require_square("eig", a)
    dtype = np.result_type(compute_dtype("eig", a), np.complex64)
    return [Aval(a.shape[:-1], dtype), Aval(a.shape, dtype)]


def max_row_sum(a: Any) -> Any:
    """Return the greatest sum of moduli in a row, with axes of length one."""
    size = ops.absolute(ops.stop_gradient(a))
    return max_modulus(column_matrix(ops.reduce_sum(size, axes=(size.ndim - 1,))))


def eig_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """E = V⁻¹ȦV; vectors keep length one. Without a basis of eigenvectors (a matrix that is not diagonalizable, or not
    up to rounding) there is no derivative: NaN."""
    w, v = ys
    inverse = inv(v, strict=False)
    spread = max_row_sum(v) * max_row_sum(inverse)
    inverse = nan_where(inverse, ops.logical_not(ops.less(spread, 0.01 / epsilon(v))))
    e = matrix_product(inverse, matrix_product(tangents[0], v))
    values, turn = spectral_perturbation(
        e, w, *(primals[1:] or (EVERY_POSITION, EVERY_POSITION)), kind="general"
    )
    tv = matrix_product(v, turn)
    stretch = ops.reduce_sum(ops.real(ops.conjugate(v) * tv), axes=(v.ndim - 2,))
    return [values, tv - v * row_matrix(stretch)]


# Results are complex for all operands, since their dtype cannot depend on values.
eig = decomposition(
    "eig", eig_kernel, abstract_rule=eig_aval, tangent_rule=eig_tangent, vector_axes=(None, -2)
)
