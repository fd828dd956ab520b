"""The functions of fxgrad.numpy are NumPy's: in value, dtype and error, on plain arrays and on traced ones.

A line of a table is a call, written as Python; its names are functions of NumPy or of fxgrad.numpy, and the
operands below. Names of operands that the call mentions are what is traced.
"""

import ast
import inspect
from functools import cache

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core import pytree
from tests.together import together
from tests.ways import agree

rng = np.random.default_rng(7)


def distinct(*shape):
    """Values of either sign, no two of them near each other, none near an integer."""
    count = int(np.prod(shape))
    return (rng.permutation(count).reshape(shape) - count // 2 + rng.uniform(0.2, 0.8, shape)) / 2.1


OPERANDS = {
    "s": np.float64(1.7),
    "v": distinct(3),
    "w": distinct(3),
    "x": distinct(2, 3),
    "y": distinct(2, 3),
    "m": distinct(3, 3),
    "t": distinct(2, 3, 4),
    "r": distinct(2, 4, 5),
    "p": rng.uniform(1.1, 2.5, (2, 3)),
    "u": rng.uniform(-0.9, 0.9, (2, 3)),  # within the unit interval
    "e0": np.zeros((0, 3)),
    "n": distinct(5)[::-2],  # negative stride
}
FIXED = {
    "b": rng.random((2, 3)) < 0.5,
    "b3": np.array([True, False, True]),
    "i": np.array([[2, 0, 1], [1, 1, 0]]),
    "k": np.array([2, 0, -1]),
}

ELEMENTWISE = """
    absolute(x) | abs(x) | fabs(x) | negative(x) | positive(x) | sign(x) | square(x) | reciprocal(x)
    sqrt(p) | cbrt(x) | exp(x) | exp2(x) | expm1(x) | log(p) | log2(p) | log10(p) | log1p(p)
    logaddexp(x, y) | logaddexp2(x, y) | sin(x) | cos(x) | tan(u) | arcsin(u) | arccos(u) | arctan(x)
    asin(u) | acos(u) | atan(x) | arctan2(x, y) | atan2(x, v) | sinh(u) | cosh(u) | tanh(x) | arcsinh(x)
    arccosh(1 + p) | arctanh(u) | asinh(x) | acosh(1 + p) | atanh(u) | degrees(x) | radians(x) | deg2rad(x)
    rad2deg(x) | hypot(x, y) | copysign(x, y) | heaviside(x, v) | nextafter(x, y) | add(x, v)
    subtract(x, s) | multiply(x, y) | divide(x, p) | true_divide(x, v) | floor_divide(x, y)
    remainder(x, y) | mod(x, 1.3) | fmod(x, y) | divmod(x, y) | power(p, y) | power(x, 2) | power(x, 3)
    power(p, 1.5) | power(2.0, x) | pow(p, -1) | power(x, 0) | float_power(p, y) | float_power(p, 2)
    ldexp(x, i) | frexp(x) | sinc(x) | sinc(u) | spacing(x) | maximum(x, y) | minimum(x, 0.0) | fmax(x, y) | fmin(x, v)
    clip(x, -0.5, 0.5) | clip(x, None, v) | clip(x, min=u, max=p) | floor(x) | ceil(x) | trunc(x) | rint(x)
    round(x) | round(x, 1) | around(x, decimals=2) | fix(x) | modf(x) | real(x) | imag(x) | conj(x)
    conjugate(x) | angle(x) | angle(x, deg=True) | nan_to_num(x) | signbit(x) | equal(x, y)
    not_equal(x, x) | less(x, y) | less_equal(x, v) | greater(x, 0) | greater_equal(x, y) | isnan(x)
    isinf(x) | isfinite(x) | isposinf(x) | isneginf(x) | isreal(x) | iscomplex(x) | isclose(x, y)
    isclose(x, x) | logical_and(x, y) | logical_or(x, y) | logical_xor(x, y) | logical_not(x)
"""

REDUCTIONS = """
    sum(x) | sum(x, axis=1) | sum(x, 0, keepdims=True) | sum(t, axis=(0, -1)) | sum(x, initial=s)
    sum(x, where=b) | sum(x, axis=()) | sum(e0, axis=0) | sum(e0, axis=1) | sum(x, dtype=float32) | sum(n)
    sum(s) | sum(x, where=True) | prod(x) | prod(x, axis=0) | prod(t, axis=(0, 2), keepdims=True)
    prod(x, 1, where=b, initial=2) | prod(e0) | max(x) | max(x, axis=1) | amax(t, (0, 1))
    max(x, axis=0, where=b, initial=-9) | max(e0, axis=1) | max(x, initial=0) | min(x)
    min(x, axis=-1, keepdims=True) | amin(x, 0) | min(e0, axis=0, initial=3.0) | ptp(x) | ptp(x, axis=1)
    mean(x) | mean(x, 0) | mean(x, axis=1, keepdims=True) | mean(x, where=b)
    mean(x, axis=0, dtype=float32) | mean(t, (0, 2)) | var(x) | var(x, axis=0) | var(x, ddof=1)
    var(x, correction=1) | var(x, axis=1, keepdims=True) | var(x, where=b) | std(x) | std(x, 1)
    std(x, axis=0, ddof=1) | std(t, axis=(0, 2)) | std(x, where=b, keepdims=True) | var(x, mean=v, axis=0)
    average(x) | average(x, 1) | average(x, weights=p) | average(x, 1, weights=v)
    average(x, 0, weights=p, returned=True) | average(x, returned=True)
    average(t, (2, 0), weights=ones((4, 2))) | average(x, 1, p, keepdims=True) | any(x) | any(b, axis=0)
    any(x > 0, 1, keepdims=True) | all(x) | all(x > 0, axis=1) | all(x > 0, where=b) | count_nonzero(x)
    count_nonzero(x > 0, axis=1) | argmax(x) | argmax(x, axis=1) | argmin(x, 0, keepdims=True)
    argmin(x, keepdims=True) | cumsum(x) | cumsum(x, axis=1) | cumprod(x, 0) | cumprod(x)
    cumulative_sum(v) | cumulative_sum(x, axis=1) | cumulative_sum(x, axis=0, include_initial=True)
    cumulative_prod(v, include_initial=True) | cumsum(e0, axis=0) | nansum(x) | nanprod(x, 0)
    nanmean(x, axis=1) | nanvar(x) | nanstd(x, 1) | nanmax(x, 0) | nanmin(x) | diff(x) | diff(x, axis=0)
    diff(v, 2) | diff(x, prepend=0) | diff(v, append=w) | diff(t, axis=1, prepend=0.0, append=s)
    trapezoid(x) | trapezoid(x, dx=0.5, axis=0) | trapezoid(x, v) | trapezoid(x, p, axis=1)
"""

SHAPES = """
    reshape(x, 6) | reshape(x, (3, 2)) | reshape(x, -1) | reshape(t, (4, -1))
    reshape(x, (3, 2), order="F") | reshape(s, (1, 1)) | ravel(x) | ravel(x, "F") | transpose(x)
    transpose(t, (2, 0, 1)) | transpose(t, (-1, 0, 1)) | permute_dims(t, (1, 0, 2)) | matrix_transpose(t)
    moveaxis(t, 0, -1) | moveaxis(t, (0, 1), (2, 0)) | swapaxes(t, 0, 2) | rollaxis(t, 2)
    rollaxis(t, 0, 3) | squeeze(x[None]) | squeeze(x[:, :, None], axis=2)
    squeeze(x[None, :, None], (0, -2)) | expand_dims(x, 0) | expand_dims(x, (0, -1))
    broadcast_to(v, (2, 3)) | broadcast_to(s, 4) | broadcast_arrays(x, v, s) | atleast_1d(s)
    atleast_1d(s, x) | atleast_2d(s) | atleast_2d(v) | atleast_3d(s) | atleast_3d(v) | atleast_3d(x, t)
    concatenate([x, y]) | concatenate((x, y), axis=1) | concatenate([x, v], axis=None) | concat([x, e0])
    stack([v, w]) | stack([v, w], -1) | stack([s, 2.0]) | stack((x, y), axis=1) | vstack([x, v])
    vstack((v, w)) | hstack([v, w]) | hstack([x, y]) | dstack([x, y]) | dstack([v, w])
    column_stack([v, w]) | column_stack([v, m]) | block([[x, y], [y, x]]) | block([v, s]) | append(x, s)
    append(x, y, 1) | unstack(x) | unstack(t, axis=1) | split(v, 3) | split(x, [1, 2], axis=1)
    array_split(v, 2) | hsplit(x, 3) | vsplit(x, 2) | dsplit(t, 2) | tile(v, 2) | tile(x, (2, 1))
    tile(v, (2, 1, 2)) | tile(x, 0) | repeat(x, 2) | repeat(x, 3, axis=1) | repeat(x, [1, 0, 2], axis=1)
    flip(x) | flip(x, 0) | flip(t, (0, 2)) | fliplr(x) | flipud(x) | roll(v, 1) | roll(x, 2)
    roll(x, -1, axis=1) | roll(x, (1, 2), (0, 1)) | rot90(x) | rot90(x, 2) | rot90(x, -1)
    rot90(t, 1, (1, 2)) | roll(e0, 1, axis=0) | rot90(x, 4) | pad(x, 1) | pad(x, (1, 2))
    pad(x, ((1, 0), (0, 2))) | pad(v, 2, constant_values=3.0) | pad(x, 1, constant_values=((1, 2), (3, 4)))
    pad(x, 2, "edge") | pad(v, 2, mode="reflect") | pad(v, (1, 4), "symmetric")
    pad(x, ((0, 1), (2, 3)), "wrap") | diag(v) | diag(v, 1) | diag(m) | diag(x, -1) | diag(x, 5)
    diagonal(m) | diagonal(t, 1, 1, 2) | diagonal(t, -1, 2, 0) | diagflat(x) | diagflat(v, -2) | tril(m)
    tril(t, 1) | triu(x) | triu(m, -1) | trace(m) | trace(x, 1) | trace(t, 0, 1, 2) | meshgrid(v, w)
    meshgrid(v, w, indexing="ij") | meshgrid(v, s, w, sparse=True) | delete(v, 1)
    delete(x, [0, 2], axis=1) | delete(x, slice(0, 1), 0) | resize(x, (2, 2)) | resize(v, (2, 4))
    resize(x, 0)
"""

INDEXING = """
    take(x, k) | take(x, k, axis=1) | take(x, 1) | take(x, i, 1) | take(v, [4, -5], mode="wrap")
    take(v, [4, -5], mode="clip") | take(x, i, axis=0, mode="wrap") | take_along_axis(x, i, 1)
    take_along_axis(x, i) | take_along_axis(x, i[:, :1], axis=1) | take_along_axis(x, k, None)
    take_along_axis(x, i[:1] // 2, axis=0) | compress(b3, v) | compress([True, False], x, axis=0)
    extract(b, x) | where(b, x, y) | where(b3, x, 0) | where(i, x, s) | where(x > 0, x, -x)
    select([x > 1, x > 0], [x, y], s) | select([b, b3], [x, 0.0], 7.0) | choose(i, [x, y, 1.0])
    choose(i, [x, v], mode="wrap") | choose([0, 1, 2], [v, w, s])
"""

CONTRACTIONS = """
    matmul(x, m) | matmul(v, m) | matmul(x, v) | matmul(v, w) | matmul(t, r) | matmul(t, r[0])
    matmul(x, t) | matmul(t[:1], r) | matmul(t[:, None], r) | matmul(v, t) | matmul(t, ones(4))
    matmul(e0, m) | dot(x, m) | dot(v, w) | dot(x, v) | dot(s, x) | dot(x, 2.0) | dot(t, r)
    dot(t, ones(4)) | vdot(x, y) | vdot(s, s) | inner(v, w) | inner(x, y) | inner(t, r.swapaxes(1, 2))
    inner(s, x) | outer(v, w) | outer(x, v) | outer(s, v) | tensordot(x, m, 1) | tensordot(x, y)
    tensordot(v, w, 0) | tensordot(t, r, ([0, 2], [0, 1])) | tensordot(t, r, (2, 1))
    tensordot(x, y, ((-1, 0), (-1, 0))) | kron(x, m) | kron(v, x) | kron(s, v) | vecdot(x, y) | vecdot(x, v)
    vecdot(t, x[:, :, None], axis=1) | matvec(t, ones(4)) | matvec(m, x) | vecmat(v, m) | vecmat(x, m)
    cross(v, w) | cross(x, y) | cross(x, v) | cross(m, m, axisa=0, axisc=0) | einsum("ij,jk->ik", x, m)
    einsum("ij,jk", x, m) | einsum("ij->ji", x) | einsum("ii", m) | einsum("ii->i", m) | einsum("ij->", x)
    einsum("i,i", v, w) | einsum("i,j->ij", v, w) | einsum("...j,j->...", t[:, :, :3], v)
    einsum("aij,ajk->aik", t, r) | einsum("ij,ij,j->i", x, y, v) | einsum("ij,jk,k,i->", x, m, v, v[:2])
    einsum("ij,ij->ij", x[:1], y) | einsum("i...->...", t) | einsum(x, [0, 1], m, [1, 2])
    einsum(x, [0, 1], m, [1, 2], [2, 0]) | einsum(t, [0, ...], [..., 0]) | einsum("ij,kl->", x, y)
    einsum("ij,jk,kl->il", x, m, m, optimize=True) | einsum("iij,j->i", ones((2, 2, 3)), v)
    einsum("b i, i -> b", x, v) | einsum(",ij", s, x) | einsum("i,i->", v[:1], w) | einsum("ij,ik->i", x, y)
"""

CREATION = """
    asarray(x) | asarray([v, w]) | array([[s, 1.0], [2.0, s]]) | array(x, dtype=float32) | array(s, ndmin=2)
    asanyarray(x) | copy(x) | ascontiguousarray(s) | astype(x, float32) | astype(x, int) | full((2, 3), s)
    full(3, s, dtype=float32) | full((2, 3), v) | full_like(x, 2) | full_like(x, s)
    full_like(x, v, dtype=float32) | zeros_like(x) | zeros_like(x, dtype=int) | ones_like(x)
    ones_like(x, shape=(4,)) | linspace(s, 3, 5) | linspace(v, w, 4) | linspace(0, s, 4, endpoint=False)
    linspace(v, s, 3, retstep=True) | linspace(v, w, 3, axis=-1) | linspace(s, 1, 1) | linspace(s, 1, 0)
    linspace(0, s, 3, dtype=float32) | logspace(s, 2, 3) | logspace(0, s, 3, base=2.0) | geomspace(s, 8, 4)
    geomspace(p, 8.0, 4, axis=1) | geomspace(-s, -8, 3) | vander(v) | vander(v, 2, increasing=True)
"""

NORMS = """
    linalg.norm(x) | linalg.norm(v) | linalg.norm(x, axis=1) | linalg.norm(x, axis=0, keepdims=True)
    linalg.norm(x, keepdims=True) | linalg.norm(v, 1) | linalg.norm(v, inf) | linalg.norm(v, -inf)
    linalg.norm(v, 0) | linalg.norm(v, 3) | linalg.norm(v, 2.5) | linalg.norm(v, -1) | linalg.norm(x, 1)
    linalg.norm(x, -1) | linalg.norm(x, inf) | linalg.norm(x, -inf) | linalg.norm(x, "fro", keepdims=True)
    linalg.norm(t, axis=(0, 2)) | linalg.norm(t, 1, axis=(2, 0))
    linalg.norm(t, inf, axis=(-1, 0), keepdims=True) | linalg.norm(x, 1, axis=1) | linalg.vector_norm(x)
    linalg.vector_norm(t, axis=(0, 2), ord=3) | linalg.vector_norm(x, ord=inf, keepdims=True)
    linalg.matrix_norm(t) | linalg.matrix_norm(x, ord=1) | linalg.matrix_norm(t, ord=-inf, keepdims=True)
    linalg.matmul(x, m) | linalg.outer(v, w) | linalg.vecdot(x, y) | linalg.trace(t) | linalg.diagonal(t)
    linalg.cross(v, w) | linalg.tensordot(x, m, axes=1) | linalg.matrix_transpose(t)
"""

SEQUENCES = """
    convolve(v, w) | convolve(v, m[0, :2], "same") | convolve(w[:2], x.ravel(), "same")
    convolve(m[0], v[:2], "valid") | convolve(s, v) | convolve(x.ravel(), t[0, 0], "valid") | correlate(v, w)
    correlate(v, x.ravel()) | correlate(x.ravel(), t[0, 0]) | correlate(t[0, 0], x.ravel(), "same")
    correlate(x.ravel(), t[0, 0], "same") | correlate(v, t[0, 0], "full") | correlate(v, m[0, :2], mode="same")
    ediff1d(x) | ediff1d(v, to_begin=w) | ediff1d(x, v[:2], s) | gradient(v) | gradient(x) | gradient(x, 0.5)
    gradient(m, axis=1, edge_order=2) | gradient(t, 2.0, s, axis=(0, 2)) | gradient(x, cumsum(p[0]), axis=1)
    gradient(x, [0.0, 1.5], cumsum(p[0])) | gradient(m, cumsum(p[0]), cumsum(p[1]), edge_order=2)
    gradient(v, edge_order=2) | gradient(t, axis=(-1,)) | unwrap(x) | unwrap(4 * x, axis=0)
    unwrap(3 * m, period=2.5) | unwrap(6 * x, discont=4.0) | unwrap(9 * v) | i0(x) | i0(9 * x) | kaiser(5, s)
    kaiser(1, s) | kaiser(4, 3 * s) | nancumsum(x) | nancumsum(x, axis=1) | nancumprod(x, 0)
"""

POLYNOMIALS = """
    poly(v) | poly(x.ravel()) | polyadd(v, w[:2]) | polyadd(s, v) | polysub(v[:1], w) | polysub(v, 2)
    polymul(v, w) | polymul([1.0, 2.0], v) | polydiv(x.ravel(), v) | polydiv(v, w)
    polydiv(v[:2], w) | polyder(v) | polyder(x.ravel(), 2) | polyder(v, 3) | polyder(v, 0) | polyint(v)
    polyint(v, 2, s) | polyint(v, 2, w[:2]) | polyint(v, 3) | polyval(v, x) | polyval(v, s)
    polyval([1.0, 2.0, 3.0], x) | polyval(m, v)
"""

UPDATES = """
    insert(v, 1, s) | insert(v, [1, 3], s) | insert(v, [2, 0], w[:2]) | insert(x, 1, v, axis=0)
    insert(x, -1, s, 1) | insert(x, [1], y, axis=1) | insert(x, slice(0, 2), v[:2], axis=1)
    insert(x, array([True, True]), v, axis=0) | insert(x, 2, 9) | insert(x, 1, y[:, 0], axis=1)
    insert(v, [], []) | delete(x, -1) | delete(v, [True, False, True]) | pad(x, 1, "linear_ramp")
    pad(x, (2, 1), "linear_ramp", end_values=s) | pad(v, 3, "linear_ramp", end_values=(1.0, s))
    pad(x, 2, "mean") | pad(x, ((1, 2), (0, 3)), "maximum", stat_length=2)
    pad(m, 1, "minimum", stat_length=((1, 2), (3, 9))) | pad(v, 4, "reflect", reflect_type="odd")
    pad(x, 2, "symmetric", reflect_type="odd") | pad(x, ((0, 0), (1, 2)), "edge") | pad(x, {-1: (1, 2)}, "wrap")
    pad(x, {0: 1}) | pad(v, 2, "empty")[2:-2] | pad(x[:, :1], 2, "reflect")
"""

JOINED = """
    r_[v, 0.0, s] | r_["0,2", v, w] | r_["1,2,0", v, w] | r_["0,3,-1", x, y] | r_["-1", x, y] | r_[0:3, v]
    r_[0:s:4j] | r_[v, 1:2:3j, w] | c_[v, w] | c_[x, y] | c_[v, 1:4] | c_[s, 2.0] | packbits(x > 0)
    packbits(x > 0, axis=1) | packbits(t > 0, 0, bitorder="little") | unpackbits(packbits(x > 0))
    unpackbits(packbits(x > 0), count=6) | unpackbits(packbits(t > 0, 1), axis=1, count=-5)
    unpackbits(packbits(x > 0, 1), 1, 11, bitorder="little") | logspace(0.0, s, 3, base=p)
    logspace(v, w, 3, base=p, axis=1) | real_if_close(x) | tril_indices_from(m, 1) | triu_indices_from(x)
    diag_indices_from(m) | einsum_path("ij,jk,kl", x, m, m)[0][1] | min_scalar_type(x).itemsize
"""

FUNCTIONALS = """
    vectorize(lambda a, c: a * c)(x, v) | vectorize(lambda a, c: (a + c, c))(v, s)
    vectorize(lambda a, c: a * c[0], excluded=[1])(x, [2.0]) | vectorize(lambda a, c=1: a * c)(x, c=v)
    vectorize(lambda a: a[::-1] * 2, signature="(n)->(n)")(x)
    vectorize(inner, signature="(n),(n)->()")(t, v[:, None] + ones(4))
    vectorize(matmul, signature="(m,n),(n)->(m)")(t, ones(4)) | vectorize(absolute, otypes=[float])(x)
    apply_along_axis(lambda a: a[0] * a[1:], 1, x) | apply_along_axis(sum, 0, t) | apply_along_axis(diag, 1, x)
    apply_along_axis(lambda a, c: a * c, 0, v, 3.0) | apply_over_axes(sum, t, (0, 2))
    apply_over_axes(max, t, 1) | piecewise(x, [x < 0, x > 1], [absolute, 2.0, square])
    piecewise(x, [x < 0, x > -1], [absolute, square]) | piecewise(v, v > 0, [1.0, lambda a: a * 3])
    piecewise(s, [s > 1], [sqrt]) | fromfunction(lambda i, j: i * s + j, (2, 3)) | vectorize(lambda a: a + s)(v)
"""

ORDER = """
    sort(x, 0) | sort(t, None) | partition(v, 1) | sort_complex(x) | take_along_axis(x, argsort(y), 1)
    interp(v, sort(w), v) | interp(x, [0, 1], [1, 2], -1) | median(x) | median(t, (0, 2), keepdims=True)
    nanmedian(x, 1) | quantile(x, 0.3) | quantile(t, [0.1, 0.9], 1) | percentile(x, 40, method="hazen")
    quantile(x, 0.4, method="lower") | quantile(x, 1) | nanquantile(x, 0.2, 0) | nanpercentile(t, [10, 50.0])
    cov(x) | cov(x, y, bias=True) | cov(v, aweights=abs(w)) | corrcoef(x, y)
"""


def lines(*tables):
    return [
        call.strip() for table in tables for line in table.strip().splitlines() for call in line.split(" | ")
    ]


CALLS = lines(ELEMENTWISE, REDUCTIONS, SHAPES, INDEXING, CONTRACTIONS, CREATION, NORMS)
CALLS += lines(SEQUENCES, POLYNOMIALS, UPDATES, JOINED, FUNCTIONALS, ORDER)


# What NumPy has given up, by the names that it says to write instead.
FORMER = {"fix": np.trunc, "row_stack": np.vstack}
SPACES = {fnp: vars(fnp), np: {**vars(np), **FORMER}}


def called(call):
    """The function, all calls of which run in one test."""
    return call.partition("(")[0].partition("[")[0]


of_each_function = together(call=called)


@cache
def names_in(call):
    return [n.id for n in ast.walk(ast.parse(call)) if isinstance(n, ast.Name)]


@cache
def function(call, space):
    """(the call as a function of the operands that it mentions, their names)."""
    mentioned = names_in(call)
    names = [n for n in OPERANDS if n in mentioned]
    code = compile(call, call, "eval")
    return (lambda *args: eval(code, {**SPACES[space], **FIXED, **dict(zip(names, args))})), names


def same(actual, expected, tolerance=1e-13):
    actual, expected = pytree.leaves(actual), pytree.leaves(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@of_each_function
@pytest.mark.parametrize("call", CALLS)
def test_plain_values_are_numpys(call):
    (ours, names), (theirs, _) = function(call, fnp), function(call, np)
    args = [OPERANDS[n] for n in names]
    actual, expected = ours(*args), theirs(*args)
    assert type(actual) is type(expected) or isinstance(expected, tuple)
    same(actual, expected, 0)


NOT_SMOOTH = ("nextafter", "spacing", "heaviside", "floor_divide", "astype(x, int)", "float32")


@of_each_function
@pytest.mark.parametrize("call", CALLS)
def test_traced_values_and_derivatives(call):
    ours, names = function(call, fnp)
    args = [OPERANDS[n] for n in names]
    if args and "float32" not in call:
        agree(ours, *args, derivatives=not any(word in call for word in NOT_SMOOTH))


# Functions whose result has another shape or dtype for some values, in NumPy: see tests/numpy/test_by_value.py.
BY_VALUE = ("poly(", "polymul(", "polydiv(", "real_if_close(")
DTYPES = ("float32", "float16", "complex64", "int64", "int8", "uint8", "bool", "bfloat16")
WAYS = {
    "vjp": lambda f, args: fx.vjp(f, *args)[0],
    "vmap": lambda f, args: pytree.map(lambda y: y[0], fx.vmap(f)(*[a[None] for a in args])),
    "jit": lambda f, args: fx.jit(f)(*args),
}
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float16": 5e-3, "bfloat16": 5e-2}


@together("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@of_each_function
@pytest.mark.parametrize("call", CALLS)
def test_dtypes_and_errors_are_numpys(call, dtype):
    """For every dtype the traced result has NumPy's dtype and value, or an error of the same built-in class.

    NumPy does not know bfloat16 well: there the plain result of fxgrad.numpy is the reference.
    """
    kind = getattr(fnp, dtype if dtype != "bool" else "bool_")
    (ours, names), (theirs, _) = function(call, fnp), function(call, fnp if dtype == "bfloat16" else np)
    if call.startswith(BY_VALUE):
        return
    with np.errstate(all="ignore"):
        args = [OPERANDS[n].astype(kind) for n in names]
        try:
            expected, error = theirs(*args), None
        except Exception as raised:
            expected, error = None, raised
        for way in WAYS.values() if args else ():
            if error is None:
                same(way(ours, args), expected, TOLERANCE.get(dtype, 1e-13))
            elif not isinstance(error, ZeroDivisionError):  # looks at values
                with pytest.raises(next(c for c in CAUGHT if isinstance(error, c))):
                    way(ours, args)


# Where NumPy leaves the sign of a zero open: it adds, or takes any of equal entries.
UNSIGNED = ("max(", "fmax(x", "fmin(x", "nanmax(", "nanmin(", "nanmedian(", "sort(t", "diag",
            "apply_along_axis(diag", "dot(", "inner(", "tensordot(", "einsum(", "gradient(", "pad(v, 4",
            "pad(x, 2, \"symm", "sum(x, initial")  # fmt: skip
# Of zeros of both signs any may be the one at a place in the order: which depends on the processor.
ORDERED = ("quantile(", "nanquantile(", "percentile(", "nanpercentile(", "median(", "partition(")
SIGNS = (lambda size: np.full(size, -1.0), lambda size: 1.0 - 2 * (np.arange(size) % 2))
SIGNED = """
    pad(v, 1, constant_values=-0.0) | pad(x, ((1, 0), (0, 2)), constant_values=-0.0) | where(v > 0, v, -0.0)
    pad(v, 1, "linear_ramp", end_values=-0.0) | full_like(x, -0.0) | nan_to_num(v / v, nan=-0.0) | copysign(1 + v, -0.0)
    concatenate([v, [-0.0]]) | insert(v, 1, -0.0) | select([v > 0], [v], -0.0)
"""


@of_each_function
@pytest.mark.parametrize("call", [call for call in lines(SIGNED) + CALLS if not call.startswith(UNSIGNED)])
def test_zeros_have_numpys_sign(call):
    (ours, names), (theirs, _) = function(call, fnp), function(call, np)
    if call.startswith(BY_VALUE) or not names:
        return
    sizes = [OPERANDS[n].size for n in names]
    for signs in SIGNS[:1] if call.startswith(ORDERED) else SIGNS:
        args = [0.0 * signs(size).reshape(OPERANDS[n].shape) for n, size in zip(names, sizes)]
        with np.errstate(all="ignore"):
            try:
                expected = pytree.leaves(theirs(*args))
            except (*CAUGHT, ZeroDivisionError):  # of equal entries, where they must differ, or of zeros
                continue
            results = [pytree.leaves(way(ours, args)) for way in WAYS.values()]
        for found, number in ((y, x) for ys in results for y, x in zip(ys, map(np.asarray, expected))):
            if number.dtype.kind == "f":
                zero = number == 0
                np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(number)[zero])


CAUGHT = (np.exceptions.AxisError, ValueError, TypeError, IndexError, OverflowError, Warning)


# -- signatures, errors, conventions ------------------------------------------


def parameters(function):
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", sorted(n for n in fnp.__all__ if hasattr(getattr(fnp, n), "__wrapped__")))
def test_signatures_are_numpys(name):
    """Every parameter has NumPy's name and place; ufuncs keep options that belong to them."""
    theirs = parameters(FORMER.get(name) or getattr(np, name))
    ours = parameters(getattr(fnp, name))
    kept = [p for p in theirs if p in ours] if "signature" in theirs else theirs
    assert ours == kept or name in RENAMED
    assert getattr(fnp, name).__doc__


RENAMED = {
    "clip": "kwargs are options of the ufunc",
    "einsum": "kwargs are written out",
    **dict.fromkeys(["fill_diagonal", "place", "put", "put_along_axis"], "inplace=False is for JAX's sake"),
    **dict.fromkeys(["sort", "argsort"], "descending is the standard's"),
    "bincount": "length is JAX's",
    **dict.fromkeys(
        ["dot", "inner", "matmul", "tensordot", "vdot"], "precision and preferred_element_type are JAX's"),
    **dict.fromkeys(
        ["argwhere", "compress", "extract", "flatnonzero", "intersect1d", "nonzero", "setdiff1d", "setxor1d", "union1d",
         "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "where"],
        "size and fill_value are JAX's"),
}  # fmt: skip


ERRORS = """
    sum(x, axis=2) | mean(x, (0, 0)) | reshape(x, 4) | reshape(x, (-1, -1)) | transpose(x, (0,))
    squeeze(x, 0) | stack([x, v]) | concatenate([x, v]) | concatenate([s, s]) | matmul(x, x) | matmul(s, x)
    dot(x, y) | tensordot(x, y, 1) | einsum("ij,jk", x, y) | einsum("ij", v) | einsum("ij->k", x)
    moveaxis(x, 0, 2) | swapaxes(x, 0, 5) | expand_dims(x, 4) | broadcast_to(x, (3, 3)) | take(v, 9)
    take(x, 5, axis=0) | split(v, 2) | diag(t) | roll(x, 1, 2) | flip(x, 3) | max(e0) | argmax(e0)
    repeat(v, [1, 2]) | cumsum(x, 2) | linalg.norm(t, 1) | linalg.norm(v, "fro") | average(x, weights=v)
    where(b, x, v[:2]) | pad(x, -1) | take_along_axis(x, k, 0) | fliplr(v) | vsplit(v, 1)
    rot90(x, 1, (0, 0)) | select([], []) | trace(v) | matrix_transpose(v) | unstack(s) | diff(s)
    rollaxis(x, 5)
    vander(x) | linalg.cross(v[:2], w[:2]) | linalg.cross(x[:, :2], x, axis=1)
"""


@pytest.mark.parametrize("call", lines(ERRORS))
def test_errors_are_numpys(call):
    """An error is of NumPy's class, plain and traced; traced ones are fxgrad's own as well."""
    ours, names = function(call, fnp)
    args = [OPERANDS[n] for n in names]
    with pytest.raises(Exception) as theirs:
        function(call, np)[0](*args)
    expected = next(c for c in CAUGHT if isinstance(theirs.value, c))
    with pytest.raises(expected):
        ours(*args)
    if args:
        with pytest.raises(expected) as traced:
            fx.vjp(ours, *args)
        assert isinstance(traced.value, fx.FxgradError)


def test_out_is_written_into():
    y = np.empty(2)
    assert fnp.sum(np.ones((3, 2)), 0, out=y) is y and (y == 3).all()
    assert fnp.sum(np.ones((4, 2)), 0, None, y) is y and (y == 4).all()
    assert fnp.sum(np.ones(3), 0, None, None) == 3

    def into_a_buffer(x):
        y = fnp.zeros(2)
        kept = y
        assert fnp.sum(x, 0, None, y) is y
        assert fnp.multiply(y, 2, y) is y
        assert fnp.sqrt(y, out=y, where=np.array([True, False])) is y
        return kept

    x = np.ones((2, 2))
    np.testing.assert_array_equal(fx.jit(into_a_buffer)(x), [2, 4])
    np.testing.assert_array_equal(fx.jacobian(into_a_buffer)(x)[:, 0], [[0.5, 0], [0, 2]])
    with pytest.raises(fx.ArrayConversionError, match=r"(?s)plain array.*try: .*fnp\.zeros"):
        fx.grad(lambda x: fnp.sum(x, out=np.empty(())))(x)


def test_values_that_fix_shapes_may_be_traced_but_known():
    """Masks and positions of non-zeros are taken from the values, where there are any."""
    gradient = fx.grad(lambda x: fnp.sum(fnp.compress(x > 1, x) ** 2))
    np.testing.assert_array_equal(gradient(np.array([1.0, 2.0, 3.0])), [0, 4, 6])
    assert [a.tolist() for a in fx.vjp(lambda x: fnp.nonzero(x), np.array([0.0, 2.0]))[0]] == [[1]]
    with pytest.raises(fx.ConcretizationError):
        fx.vmap(lambda x: fnp.flatnonzero(x))(np.ones((2, 2)))


def test_weak_numbers_stay_weak_where_numpy_keeps_them():
    x = np.ones(3, np.float32)
    assert fx.jit(lambda x: fnp.where(x > 0, x, 0.0))(x).dtype == np.float32
    assert fx.jit(lambda x: fnp.clip(x, 0, 2.5))(x).dtype == np.float32
    assert fx.jit(lambda x: fnp.stack([x[0], 1.0]))(x).dtype == np.float64
    assert fx.vjp(lambda s: fnp.add(s, x), 1.0)[0].dtype == np.float32
    assert fx.vjp(lambda s: fnp.sum(s) * x, 1.0)[0].dtype == (np.sum(1.0) * x).dtype
    assert fnp.result_type(np.float32, 1.0) == np.float32


def test_norms_at_the_origin():
    zero = np.zeros(2)
    for norm in (
        fnp.linalg.norm,
        fnp.linalg.vector_norm,
        lambda x: fnp.linalg.norm(x, 3),
        lambda x: fnp.linalg.norm(x[None], "fro"),
        fnp.std,
    ):
        np.testing.assert_array_equal(fx.grad(norm)(zero), zero)
    square = fx.hessian(lambda x: fnp.linalg.norm(x) ** 2)
    np.testing.assert_array_equal(square(zero), 2 * np.eye(2))
    np.testing.assert_array_equal(
        fx.hessian(lambda x: fnp.square(fnp.std(x)))(zero), fx.hessian(fnp.var)(zero)
    )


def test_masked_entries_do_not_poison():
    x = np.array([0.0, 4.0])
    roots = lambda x: fnp.sum(fnp.sqrt(x), where=[False, True])  # noqa: E731
    np.testing.assert_array_equal(fx.grad(roots)(x), [0, 0.25])
    np.testing.assert_array_equal(fx.grad(lambda x: fnp.tril(fnp.sqrt(x)[None, ::-1])[0, 0])(x), [0, 0.25])
    np.testing.assert_array_equal(fx.grad(fnp.nansum)(np.array([np.nan, 1.0])), [0, 1])


@pytest.mark.parametrize("optimize", [
    [(1, 2), (0, 1)], ((1, 2), (0, 1)), ["einsum_path", (1, 2), (0, 1)], ("einsum_path", [0, 1], [0, 1]), [(0, 1, 2)],
    "greedy", "optimal", ("greedy", 1000), True, False, None,
])  # fmt: skip
def test_an_einsum_takes_its_order_as_numpy_and_as_opt_einsum_write_it(optimize):
    a, b, c = distinct(2, 3), distinct(3, 4), distinct(4, 2)
    if optimize is None:
        optimize, _ = fnp.einsum_path("ij,jk,kl->il", a, b, c)
    agree(lambda a, b, c: fnp.einsum("ij,jk,kl->il", a, b, c, optimize=optimize), a, b, c)


def test_an_einsum_of_many_operands_is_contracted_by_pairs():
    a = np.ones((8, 8, 8))
    graph = fx.make_graph(lambda a: fnp.einsum("abc,cde,efg,ghi->abdfhi", a, a, a, a))(a)
    assert max(v.aval.ndim for e in graph.equations for v in e.outputs) <= 6


def test_bfloat16_is_loaded_lazily():
    x = np.ones(3, fnp.bfloat16)
    assert fnp.finfo(x.dtype).bits == 16
    assert fx.vjp(fnp.sum, x)[0].dtype == fnp.bfloat16 == fnp.matmul(x, x).dtype


def test_sinc_has_every_derivative_at_and_near_zero():
    derivatives, f = [], fnp.sinc
    for _ in range(5):
        derivatives.append([float(f(x)) for x in (0.0, 1e-5)])
        f = fx.grad(f)
    expected = [1, 0, -(np.pi**2) / 3, 0, np.pi**4 / 5]
    np.testing.assert_allclose([at for at, _ in derivatives], expected, atol=1e-12)
    np.testing.assert_allclose([near for _, near in derivatives], expected, atol=1e-3)
    np.testing.assert_allclose(fx.jit(fx.grad(f))(0.0), -(np.pi**6) / 7)


def test_integers_have_bits_and_numbers_exponents():
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        x = np.array([0, 1, 7, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        same(fx.jit(fnp.bitwise_count)(x), np.bitwise_count(x))
    tiny = np.finfo(float).smallest_subnormal
    x = np.array([0.0, -0.0, 1.0, 0.5, -8.0, np.nextafter(8.0, 0), np.inf, tiny, 1e308])
    same(fx.jit(fnp.frexp)(x), np.frexp(x), 0)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")
@pytest.mark.parametrize("function", ["nanvar", "nanstd"])
def test_too_few_numbers_for_a_variance(function):
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]])
    for options in ({"ddof": 1}, {"correction": 1.5}, {"ddof": 1, "keepdims": True}):
        expected = getattr(np, function)(x, axis=1, **options)
        same(fx.jit(lambda x, options=options: getattr(fnp, function)(x, axis=1, **options))(x), expected)
    squares = fx.hessian(lambda x: fnp.nanstd(x) ** 2)(np.array([1.0, 1.0, np.nan]))
    np.testing.assert_array_equal(squares, [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]])


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes_beside_what_is_no_number(edge_order):
    """The difference of the neighbours does not ask for the sample between them."""
    x = np.array([1.0, 2.0, np.nan, 7.0, 5.0, np.inf, 2.0, 3.0, 4.0])
    slopes = np.gradient(x, 0.5, edge_order=edge_order)
    assert np.isfinite(slopes[[2, 5]]).all()
    same(fx.jit(lambda x: fnp.gradient(x, 0.5, edge_order=edge_order))(x), slopes)


@pytest.mark.parametrize("mode", ["mean", "median", "edge", "reflect", "linear_ramp", "maximum"])
def test_nothing_cannot_be_continued(mode):
    with pytest.raises(ValueError, match="extend the empty axis 1"):
        fx.jit(lambda x: fnp.pad(x, 2, mode=mode))(np.zeros((3, 0)))
