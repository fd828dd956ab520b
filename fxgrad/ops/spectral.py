"""Eigen- and singular value decompositions of stacks of matrices, and what their derivatives are where values repeat.

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
* Singular values that count as zeros have the derivative 0 by convention, as |x| has at 0.
* The phase of a complex vector is arbitrary as well: reverse mode gives NaN to functions that depend on it.

What is tested is a necessary condition: a cotangent that happens to vanish along the rotations although the function
depends on the basis (V[0, 0]² where V is the identity) cannot be told from that of a projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from ..core.primitive import Primitive
from ..core.pullback import PullbackRule
from .kinds import General, general, register
from .linalg import (
    adjoint,
    column,
    columns,
    daggered,
    diagonal,
    field,
    hermitian,
    inv,
    product,
    real_field,
    refused,
    row,
    skew,
    square,
    supported,
    total,
    transposed,
)
from .masked import Masked
from .vocabulary import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Spectral(General):
    """A decomposition. In reverse mode its tangent rule has two more operands: which positions of the values, and which
    of the vectors, have a say in the function. The supports of the cotangents tell; zeros may be coincidence.

    `along` gives for every result the axis along which its vectors run, None for the values.
    """

    def __init__(self, *args: Any, along: Sequence[int | None], **rules: Any):
        self.along = along
        super().__init__(*args, **rules)

    def further(self, cts: dict, outs: Sequence[Aval]) -> Sequence[Any]:
        count = outs[self.along.index(None)].shape[-1]
        marks = [EVERY, EVERY]
        for i, ct in cts.items():
            kind, mark = int(self.along[i] is not None), marked(ct, self.along[i], count)
            marks[kind] = mark if marks[kind] is EVERY else ops.logical_or(marks[kind], mark)
        return marks


EVERY = np.ones(1, dtype=bool)


def marked(ct: Any, along: int | None, count: int) -> Any:
    """The positions, among the first `count`, that are in the support of a cotangent."""
    if type(ct) is not Masked:
        return np.ones(1, dtype=bool)
    shape = aval_of(ct.value).shape
    mask = ops.broadcast_to(ct.support.force(), shape=shape)
    if along is not None:
        mask = ops.reduce_any(mask, axes=(len(shape) + along,))
    return columns(mask, None, count)


def decomposition(name: str, make: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a `Spectral` operation."""

    def batched(a: Any, *, size: int, **params: Any) -> Any:
        return call(a, **params)

    call = register(Spectral(name, supported(name, make), batched=batched, multiple=True, **rules)).call
    return call


class Values(Primitive, PullbackRule):
    """The values of a decomposition, without the vectors, which take longer. Where there is a derivative it is the
    decomposition that is carried out: the rule for its vectors is to know of the values, too."""

    def __init__(self, name: str, make: Any, whole: Any, **params: Any):
        self.whole, self.params = whole.primitive, params
        self.index = self.whole.along.index(None)
        super().__init__(name, supported(name, make))

    def abstract(self, avals: Sequence[Aval], params: dict) -> Aval:
        return self.whole.abstract(avals, {**self.params, **params})[self.index]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        if tangents[0] is None:
            return self.call(*primals, **params), None
        ys, ts = self.whole.jvp(primals, tangents, {**self.params, **params})
        return ys[self.index], ts[self.index]

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        apply = self.whole.kernel if apply is self.kernel else self.whole.call
        ys, rule, residuals = self.whole.linearize(apply, values, needed, {**self.params, **params}, own)
        return ys[self.index], self, (rule, residuals)

    def pull(self, ct: Any, rule: Any, residuals: Any) -> Sequence[Any]:
        """See `PullbackRule`. What is kept are vectors, too, which are no results."""
        return rule.pull({self.index: ct}, *residuals)

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return self.call(*values, **params), True


# -- quotients by gaps ------------------------------------------
# The kernels of this section are written in operations, which know the namespaces: so are the transposes.
def epsilon(x: Any) -> float:
    return float(np.finfo(aval_of(x).dtype).eps)


def rounding(w: Any) -> float:
    """Values nearer to each other than this part of the greatest are a cluster: LAPACK's error is a few ε."""
    return 8 * aval_of(w).shape[-1] * epsilon(w)


def greatest(x: Any) -> Any:
    """The greatest modulus in each matrix, with axes of length one."""
    size = ops.absolute(ops.stop_gradient(x))
    axes = (size.ndim - 2, size.ndim - 1)
    reduce = ops.reduce_sum if 0 in size.shape else ops.reduce_max
    return ops.expanded(reduce(size, axes=axes), size.shape, axes)


def negligible(part: Any, whole: Any) -> Any:
    """Where a part of `whole` is zero up to the rounding errors of sums of products."""
    return ops.less_equal(ops.absolute(ops.stop_gradient(part)), greatest(whole) * epsilon(whole) ** 0.75)


def vanishing(d: Any) -> Any:
    """Where an entry of a matrix counts as zero beside the greatest."""
    d = ops.stop_gradient(d)
    return ops.less_equal(ops.absolute(d), greatest(d) * rounding(d))


def gaps(w: Any) -> tuple[Any, Any]:
    """(wⱼ − wᵢ, where these are one cluster)."""
    values = ops.stop_gradient(w)
    distance = ops.absolute(row(values) - column(values))
    return row(w) - column(w), ops.less_equal(distance, greatest(row(w)) * rounding(w))


def quotient(x: Any, d: Any, near: Any, fine: Any) -> Any:
    """x/d; where d counts as zero, 0 if that is fine, otherwise NaN."""
    nothing = ops.logical_and(near, fine)
    chosen = ops.where(nothing, ops.zeros_like(x), x / ops.where(near, 1, d))
    return refused(chosen, ops.logical_and(near, ops.logical_not(fine)))


def rescaled(y: Any, td: Any, d: Any, near: Any) -> Any:
    """The tangent of a quotient y along that of its divisor; where that counts as zero, y is 0 or NaN, as y · 0 is."""
    return -y * ops.where(near, 0, td / ops.where(near, 1, d))


def divisors(s: Any, turning: bool) -> Any:
    """sᵢ + sⱼ for every pair, or sⱼ for every column."""
    return row(s) + column(s) if turning else row(s)


def ratio_forward(x: Any, s: Any, *, turning: bool) -> Any:
    part, d = skew(x) if turning else x, divisors(s, turning)
    return quotient(part, d, vanishing(d), negligible(part, x))


def ratio_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (_, s), (tx, ts) = primals, tangents
    change = None if tx is None else ratio(tx, s, **params)
    if ts is None:
        return change
    d = divisors(s, **params)
    slope = rescaled(y, divisors(ts, **params), d, vanishing(d))
    return slope if change is None else change + slope


# xᵢⱼ/sⱼ, or for the skew part of x (`turning`) xᵢⱼ/(sᵢ + sⱼ). Where the divisor counts as zero it is 0 if x does, too.
ratio = general(
    "ratio",
    lambda xp: ratio_forward,
    abstract=lambda self, x, s, *, turning: x,
    batched=lambda x, s, *, size, turning: ratio(x, s, turning=turning),
    tangent=ratio_tangent,
    transposed=lambda ct, x, s, *, turning: [ratio(ct, s, turning=turning), None],
)


def zeros(w: Any, kind: str) -> Any:
    """Where a singular value counts as zero, as a row."""
    return vanishing(row(w)) if kind == "singular" else np.zeros(1, bool)


def motion_forward(e: Any, w: Any, by_values: Any, by_vectors: Any, *, kind: str) -> list[Any]:
    gap, near = gaps(w)
    zero, one = zeros(w, kind), np.eye(aval_of(w).shape[-1], dtype=bool)
    rates, part = diagonal(e), e
    if kind != "general":
        rates, part = ops.real(rates), hermitian(e)
    if kind == "singular":
        rates = ops.where(ops.reshape(zero, shape=aval_of(w).shape), 0, rates)
    fine = ops.logical_or(negligible(part, e), ops.logical_and(one, ops.logical_not(zero)))
    return [rates, quotient(part, gap, near, fine)]


def motion_transposed(cts: Any, e: Aval, w: Any, by_values: Any, by_vectors: Any, *, kind: str) -> list[Any]:
    """Both cotangents at once, since within a cluster each is admissible only in the absence of the other."""
    values, vectors = cts
    gap, near = gaps(w)
    zero, one = zeros(w, kind), np.eye(e.shape[-1], dtype=bool)
    single = ops.logical_and(one, ops.logical_not(zero))
    terms, wrong = [], np.zeros(1, bool)
    if vectors is not None:
        part = vectors if kind == "general" else skew(vectors)
        fine = negligible(part, vectors)
        terms.append(quotient(part, gap, near, ops.logical_or(fine, one) if kind == "general" else fine))
    if values is not None:
        values = row(values)
        uneven = ops.logical_not(negligible(values - transposed(values), values))
        terms.append(ops.convert(ops.where(single, values, 0), dtype=e.dtype))
        wrong = ops.logical_and(uneven, ops.logical_not(zero))
        if vectors is not None:
            pairs = [ops.logical_or(row(by), column(by)) for by in (by_values, by_vectors)]
            both = ops.logical_and(*pairs)
            wrong = ops.logical_or(wrong, ops.logical_and(both, ops.logical_not(single)))
    return [refused(total(*terms), ops.logical_and(near, wrong)), None, None, None]


def motion_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    (_, w, *marks), (te, tw, *_) = primals, tangents
    rates, turn = (None, None) if te is None else motion(te, w, *marks, **params)
    if tw is not None:
        slope = rescaled(ys[1], row(tw) - column(tw), *gaps(w))
        turn = slope if turn is None else turn + slope
    return [rates, turn]


def motion_batched(e: Any, w: Any, *marks: Any, size: int, kind: str) -> Any:
    """The marks may lack axes of stacks, into whose place the batch axis must not come."""
    rank = aval_of(w).ndim
    shapes = [aval_of(m).shape for m in marks]
    aligned = [ops.reshape(m, shape=(size, *(1,) * (rank - len(s)), *s[1:])) for m, s in zip(marks, shapes)]
    return motion(e, w, *aligned, kind=kind)


# From E: the tangents of the values w, and X for those of the vectors, V̇ = VX. The kinds are "hermitian", "singular"
# (the Hermitian part of E turns left and right vectors together) and "general". For the last operands see `Spectral`.
motion = general(
    "motion",
    lambda xp: motion_forward,
    batched=motion_batched,
    abstract=lambda self, e, w, *marks, kind: [
        Aval(w.shape, e.dtype if kind == "general" else real_field(e.dtype)),
        e,
    ],
    tangent=motion_tangent,
    transposed=motion_transposed,
    multiple=True,
)


# -- decompositions ------------------------------------------
def eigh_kernel(xp: Any) -> Any:
    def eigh(a: Any, *, uplo: str) -> Any:
        a = a * 0.5 + daggered(xp, a) * 0.5
        return xp.linalg.eigh(a, UPLO=uplo) if xp is np else xp.linalg.eigh(a)

    return eigh


def eigh_aval(self: Any, a: Aval, *, uplo: str) -> list[Aval]:
    square("eigh", a)
    dtype = field("eigh", a)
    return [Aval(a.shape[:-1], real_field(dtype)), Aval(a.shape, dtype)]


def eigh_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    w, v = ys
    e = product(adjoint(v), product(hermitian(tangents[0]), v))
    values, turn = motion(e, w, *(primals[1:] or (EVERY, EVERY)), kind="hermitian")
    return [values, product(v, turn)]


# Of the Hermitian part of A, so that gradients are Hermitian. Which triangle LAPACK works on shows in the signs of V.
eigh = decomposition("eigh", eigh_kernel, abstract=eigh_aval, tangent=eigh_tangent, along=(None, -2))


def eigvalsh_kernel(xp: Any) -> Any:
    def eigvalsh(a: Any, *, uplo: str) -> Any:
        a = a * 0.5 + daggered(xp, a) * 0.5
        return xp.linalg.eigvalsh(a, UPLO=uplo) if xp is np else xp.linalg.eigvalsh(a)

    return eigvalsh


eigvalsh = register(Values("eigvalsh", eigvalsh_kernel, eigh)).call


def svd_aval(self: Any, a: Aval, *, full: bool) -> list[Aval]:
    if len(a.shape) < 2:
        raise ShapeError(f"svd: the operand has shape {a.shape}, matrices have two axes")
    *batch, m, n = a.shape
    k, dtype = min(m, n), field("svd", a)
    return [
        Aval((*batch, m, m if full else k), dtype),
        Aval((*batch, k), real_field(dtype)),
        Aval((*batch, n if full else k, n), dtype),
    ]


def turned(all_vectors: Any, turn: Any, along: Any, s: Any) -> Any:
    """The tangent of singular vectors: turned among themselves, and `along`/s, of which is taken what leads out of
    their space. Vectors beyond the thin part are an arbitrary basis: their tangents are NaN unless they vanish."""
    k = aval_of(s).shape[-1]
    *batch, m, count = aval_of(all_vectors).shape
    vectors = columns(all_vectors, None, k)
    result = product(vectors, turn)
    if m > k:
        outward = along - product(vectors, product(adjoint(vectors), along))
        outward = ratio(outward, s, turning=False)
        result = result + outward
        if count > k:
            others = ops.stop_gradient(columns(all_vectors, k, None))
            back = product(vectors, product(adjoint(outward), others))
            nothing = ops.zeros_like(ops.reduce_sum(ops.absolute(others), axes=(len(batch),)))
            result = ops.concatenate(result, ratio(back, nothing, turning=False), axis=len(batch) + 1)
    return result


def svd_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """With E = UᴴȦV the left vectors turn by X + Z and the right ones by X − Z, where Xᵢⱼ = Hᵢⱼ/(sⱼ − sᵢ) and
    Zᵢⱼ = Kᵢⱼ/(sⱼ + sᵢ) for the Hermitian part H and the skew part K of E: no squares of singular values."""
    (u, s, vh), t = ys, tangents[0]
    k, v = aval_of(s).shape[-1], adjoint(vh)
    along_u, along_v = product(t, columns(v, None, k)), product(adjoint(t), columns(u, None, k))
    e = product(adjoint(columns(u, None, k)), along_u)
    values, together = motion(e, s, *(primals[1:] or (EVERY, EVERY)), kind="singular")
    apart = ratio(e, s, turning=True)
    return [
        turned(u, together + apart, along_u, s),
        values,
        adjoint(turned(v, together - apart, along_v, s)),
    ]


svd = decomposition(
    "svd",
    lambda xp: lambda a, *, full: xp.linalg.svd(a, full_matrices=full),
    abstract=svd_aval,
    tangent=svd_tangent,
    along=(-2, None, -1),
)


def svdvals_kernel(xp: Any) -> Any:
    if hasattr(xp.linalg, "svdvals"):
        return lambda a: xp.linalg.svdvals(a)
    return lambda a: xp.linalg.svd(a, compute_uv=False)


svdvals = register(Values("svdvals", svdvals_kernel, svd, full=False)).call


def eig_kernel(xp: Any) -> Any:
    def eig(a: Any) -> Any:
        w, v = xp.linalg.eig(a)
        if xp is np:  # which gives real results where all are
            w, v = (z.astype(np.result_type(z, np.complex64)) for z in (w, v))
        return w, v

    return eig


def eig_aval(self: Any, a: Aval) -> list[Aval]:
    square("eig", a)
    dtype = np.result_type(field("eig", a), np.complex64)
    return [Aval(a.shape[:-1], dtype), Aval(a.shape, dtype)]


def row_sum_norm(a: Any) -> Any:
    """The greatest sum of moduli in a row, with axes of length one."""
    size = ops.absolute(ops.stop_gradient(a))
    return greatest(column(ops.reduce_sum(size, axes=(size.ndim - 1,))))


def eig_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """E = V⁻¹ȦV; vectors keep length one. Without a basis of eigenvectors (a matrix that is not diagonalizable, or not
    up to rounding) there is no derivative: NaN."""
    w, v = ys
    inverse = inv(v, strict=False)
    spread = row_sum_norm(v) * row_sum_norm(inverse)
    inverse = refused(inverse, ops.logical_not(ops.less(spread, 0.01 / epsilon(v))))
    e = product(inverse, product(tangents[0], v))
    values, turn = motion(e, w, *(primals[1:] or (EVERY, EVERY)), kind="general")
    tv = product(v, turn)
    stretch = ops.reduce_sum(ops.real(ops.conjugate(v) * tv), axes=(v.ndim - 2,))
    return [values, tv - v * row(stretch)]


# Results are complex for all operands, since their dtype cannot depend on values.
eig = decomposition("eig", eig_kernel, abstract=eig_aval, tangent=eig_tangent, along=(None, -2))
