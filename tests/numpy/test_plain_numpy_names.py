"""Every public function of NumPy's, called by a program that knows only `numpy`, gives under each transform what it
gives on plain arrays: the same values in the same dtypes, or an error that says what to write instead."""

import re
import warnings
from contextlib import suppress

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.numpy.missing import MISSING_NAMES
from tests.versions import with_new_numpy

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 2.0, (3, 4))
GIVEN = {
    "np": np,
    "Y": RNG.uniform(0.5, 2.0, (3, 4)),
    "V": RNG.uniform(0.5, 2.0, 4),
    "I": np.array([2, 0, 1]),
    "M": X > 1.2,
    "EYE": np.eye(3),
    "same": lambda a, b: np.array_equal(a, b),
}

# x is traced, of shape (3, 4); v = x[0], s = x[0, 0], q is square, n a traced array of integers, z complex.
CALLS = """
np.abs(-x) np.absolute(-x) np.acos(x/3) np.acosh(x+1) np.add(x, Y) np.add(Y, x) np.add.reduce(x) np.all(x > 1)
np.all(x > 1, axis=0) np.allclose(x, x) np.amax(x) np.amin(x, 0) np.angle(z) np.any(x > 1, 1) np.append(x, x)
np.append(x, [[1., 2, 3, 4]], 0) np.apply_along_axis(lambda r: r.sum(), 0, x) np.apply_along_axis(np.cumsum, 1, x)
np.apply_over_axes(np.sum, x, [0, 1]) np.arange(x.shape[0]) np.arccos(x/3) np.arccosh(x+1) np.arcsin(x/3)
np.arcsinh(x) np.arctan(x) np.arctan2(x, Y) np.arctanh(x/3) np.argmax(x) np.argmin(x, 0) np.argpartition(v, 1)[1]
np.argsort(x) np.argwhere(x > 1.2) np.around(x, 2) np.array([s, 1.]) np.array([v, -v]) np.array([[s, 1], [2, s]])
np.array_equal(x, x) np.array_equiv(x, x) np.array_split(v, 3) np.asanyarray([s, s]) np.asarray([s, 2*s])
np.asarray(x) np.ascontiguousarray(v) np.asin(x/3) np.asinh(x) np.astype(x, np.float32) np.atan(x) np.atan2(Y, x)
np.atanh(x/3) np.atleast_1d(s) np.atleast_2d(v) np.atleast_3d(v) np.average(x) np.average(x, 1, V) np.bartlett(4)*v
np.bincount(I, v[:3]) np.bincount(n[0]) np.bitwise_and(n, 3) np.bitwise_count(n) np.bitwise_invert(n)
np.bitwise_left_shift(n, 1) np.bitwise_not(n) np.bitwise_or(n, 4) np.bitwise_right_shift(n, 1) np.bitwise_xor(n, 5)
np.blackman(4)*v np.block([[x, x], [Y, x]]) np.broadcast_arrays(x, V) np.broadcast_shapes(x.shape, (1, 4))
np.broadcast_to(v, (2, 4)) np.can_cast(x.dtype, float) np.cbrt(x) np.ceil(x) np.choose(I, [v[:3], 1., 2.])
np.choose(n[0]%2, [v, V]) np.clip(x, 1, 1.5) np.clip(Y, s, 2*s) np.column_stack((v, V))
np.compress([True, False, True], x, 0) np.concat([x, Y]) np.concatenate([x, Y], 1) np.concatenate((v, [s]))
np.conj(z) np.conjugate(z) np.convolve(v, V) np.copy(x) np.copysign(x, -Y) np.corrcoef(x)
np.correlate(v, V, 'full') np.cos(x) np.cosh(x) np.count_nonzero(x > 1) np.cov(x) np.cross(x[:, :3], Y[:, 1:])
np.cumprod(x) np.cumsum(x, 1) np.cumulative_prod(v) np.cumulative_sum(v, include_initial=True) np.deg2rad(x)
np.degrees(x) np.delete(x, 1, 0) np.diag(v) np.diag(q, 1) np.diag_indices(3)[0]*v[:3] np.diag_indices_from(q)[0]
np.diagflat(v) np.diagonal(q) np.diff(x) np.diff(v, 2) np.digitize(v, [1., 1.5]) np.divide(x, Y) np.divmod(x, .3)
np.dot(x, V) np.dot(V, x.T) np.dsplit(x.reshape(1, 3, 4), 2) np.dstack((x, Y)) np.ediff1d(v)
np.einsum('ij,kj->ik', x, Y) np.einsum_path('ij,jk->ik', x, Y.T)[0] np.empty_like(x)*0 np.equal(x, Y) np.exp(x)
np.exp2(x) np.expand_dims(x, 1) np.expm1(x) np.extract(M, x) np.eye(3, like=x)+s np.fabs(-x) np.fft.fft(v)
np.fft.fft2(x) np.fft.fftfreq(4)*v np.fft.fftn(x) np.fft.fftshift(x) np.fft.hfft(z[0]) np.fft.ifft(v)
np.fft.ifft2(x) np.fft.ifftn(x) np.fft.ifftshift(x) np.fft.ihfft(v) np.fft.irfft(z[0]) np.fft.irfft2(z)
np.fft.irfftn(z) np.fft.rfft(v) np.fft.rfft2(x) np.fft.rfftfreq(4) np.fft.rfftn(x) np.fix(-x) np.flatnonzero(x > 1)
np.flip(x) np.flip(x, 0) np.fliplr(x) np.flipud(x) np.float_power(x, 2.) np.floor(x) np.floor_divide(x, .3)
np.fmax(x, Y) np.fmin(x, Y) np.fmod(x, .7) np.frexp(x)[0] np.fromfunction(lambda i: i*s, (4,)) np.full(3, s)
np.full((2, 2), s) np.full_like(x, 2.) np.full_like(x, s) np.gcd(n, 4) np.geomspace(s, 3., 4) np.gradient(x)
np.gradient(v, .1) np.greater(x, Y) np.greater_equal(x, 1.) np.hamming(4)*v np.hanning(4)*v np.heaviside(x-1, .5)
np.histogram(x, 3)[0] np.histogram(x, np.linspace(0, 3, 4))[0] np.histogram(I[:3], 3, weights=v[:3])[0]
np.histogram2d(v, V, [[0, 1, 3], [0, 1, 3]])[0] np.histogram_bin_edges(v, 3) np.histogramdd(x, [[0, 1, 3]]*4)[0]
np.hsplit(x, 2) np.hstack((x, Y)) np.hypot(x, Y) np.i0(x) np.identity(3, like=x)*s np.imag(z) np.indices((2, 2))*s
np.inner(x, Y) np.insert(v, 1, s) np.insert(V, [0, 2], s) np.interp(v, [0., 1, 3], [1., 2, 5])
np.interp([.7, 1.1], [0., 1, 3], v[:3]) np.intersect1d(v, V) np.invert(n) np.isclose(x, Y) np.iscomplex(z)
np.iscomplexobj(x) np.isdtype(x.dtype, 'real floating') np.isfinite(x) np.isin(n, [1, 2]) np.isinf(x) np.isnan(x)
np.isneginf(x) np.isposinf(x) np.isreal(x) np.isrealobj(x) np.isscalar(x) np.issubdtype(x.dtype, np.floating)
np.iterable(x) np.ix_(I[:2], I)[0]*s np.kaiser(4, 2.)*v np.kron(x, Y) np.lcm(n, 6) np.ldexp(x, 2)
np.left_shift(n, 2) np.less(x, Y) np.less_equal(x, Y) np.lexsort((v, V)) np.linalg.cholesky(q@q.T)
np.linalg.cond(q) np.linalg.cross(x[:, :3], Y[:, :3]) np.linalg.det(q) np.linalg.diagonal(q)
np.linalg.eig(q@q.T)[0].real np.linalg.eigh(q@q.T)[0] np.linalg.eigvals(q@q.T).real np.linalg.eigvalsh(q)
np.linalg.inv(q) np.linalg.lstsq(q, v[:3])[0] np.linalg.matmul(x, Y.T) np.linalg.matrix_norm(x)
np.linalg.matrix_power(q, 3) np.linalg.matrix_rank(q) np.linalg.matrix_transpose(x)
np.linalg.multi_dot([x, Y.T, x]) np.linalg.norm(x) np.linalg.norm(v, 1) np.linalg.norm(x, axis=0)
np.linalg.outer(v, V) np.linalg.pinv(x) np.linalg.qr(q)[1] np.linalg.slogdet(q)[1] np.linalg.solve(q, v[:3])
np.linalg.solve(EYE, v[:3]) np.linalg.svd(x)[1] np.linalg.svdvals(x) np.linalg.tensordot(x, Y)
np.linalg.tensorinv(q.reshape(3, 3, 1), 1) np.linalg.tensorsolve(q, v[:3]) np.linalg.trace(q)
np.linalg.vecdot(x, Y) np.linalg.vector_norm(x) np.linspace(s, 3., 4) np.linspace(0., v, 3) np.log(x) np.log10(x)
np.log1p(x) np.log2(x) np.logaddexp(x, Y) np.logaddexp2(x, Y) np.logical_and(x > 1, Y > 1) np.logical_not(x > 1)
np.logical_or(x > 1, M) np.logical_xor(x > 1, M) np.logspace(s, 2., 3) np.mask_indices(3, np.triu)[0]
np.matmul(x, Y.T) np.matmul(Y.T, x) np.matrix_transpose(x) np.matvec(x, V) np.max(x, 1) np.maximum(x, Y) np.mean(x)
np.mean(x, 0, keepdims=True) np.median(x) np.median(x, 1) np.meshgrid(v, V)[0] np.min(x) np.minimum(x, 1.)
np.mod(x, .3) np.modf(x) np.moveaxis(x, 0, 1) np.multiply(x, Y) np.nan_to_num(x) np.nanargmax(x) np.nanargmin(x, 0)
np.nancumprod(x) np.nancumsum(x) np.nanmax(x) np.nanmean(x) np.nanmedian(x) np.nanmin(x) np.nanpercentile(x, 30)
np.nanprod(x) np.nanquantile(x, .3) np.nanstd(x) np.nansum(x, 1) np.nanvar(x) np.ndim(x) np.negative(x)
np.nextafter(x, 3.) np.nonzero(x > 1)[0] np.not_equal(x, Y) np.ones_like(x) np.ones(3, like=x)*s np.outer(v, V)
np.pad(x, 1) np.pad(v, 2, 'reflect') np.packbits(x > 1) np.partition(v, 1)[1] np.percentile(x, 30)
np.permute_dims(x) np.piecewise(x, [x < 1, x >= 1], [lambda t: -t, lambda t: t**2]) np.poly(v) np.polyadd(v, V)
np.polyder(v) np.polydiv(v, V[:2])[0] np.polyfit(V, v, 1) np.polyint(v) np.polymul(v, V) np.polysub(v, V)
np.polyval(v, 2.) np.polyval(V, x) np.positive(x) np.pow(x, 2) np.power(x, Y) np.prod(x) np.prod(x, 1)
np.promote_types(x.dtype, int) np.ptp(x) np.quantile(x, .3) np.quantile(x, [.3, .6], 0) np.rad2deg(x) np.radians(x)
np.ravel(x) np.ravel_multi_index((n[0]%3, n[1]%3), (3, 3)) np.real(z) np.real_if_close(x) np.reciprocal(x)
np.remainder(x, .4) np.repeat(x, 2, 0) np.reshape(x, (4, 3)) np.resize(x, (2, 3)) np.result_type(x, np.float32)
np.right_shift(n, 1) np.rint(x) np.roll(x, 1) np.roll(x, 1, 0) np.rollaxis(x, 1) np.roots(V)*s np.roots(v)[0]
np.rot90(x) np.round(x, 1) np.searchsorted(np.sort(v), [1., 1.5]) np.searchsorted([.5, 1, 2], v)
np.select([x < 1, x < 1.5], [x, 2*x], 0.) np.setdiff1d(v, V) np.setxor1d(v, V) np.shape(x) np.sign(x)
np.signbit(-x) np.sin(x) np.sinc(x) np.sinh(x) np.size(x) np.sort(x) np.sort_complex(v) np.spacing(x)
np.split(x, 2, 1) np.sqrt(x) np.square(x) np.squeeze(x[None]) np.stack([x, Y]) np.stack([s, 1.]) np.std(x)
np.std(x, 0, ddof=1) np.subtract(x, Y) np.sum(x) np.sum(x, axis=1, keepdims=True) np.sum([s, 2., s])
np.swapaxes(x, 0, 1) np.take(x, [0, 2], 0) np.take(V, n[0]%4) np.take_along_axis(x, I[:, None], 1) np.tan(x)
np.tanh(x) np.tensordot(x, Y, 2) np.tile(x, 2) np.trace(q) np.transpose(x) np.trapezoid(x) np.trapezoid(V, v)
np.tri(3, like=x)*s np.tril(x) np.tril_indices(3)[0] np.tril_indices_from(q)[0] np.trim_zeros(v) np.triu(x, 1)
np.triu_indices(3)[0] np.triu_indices_from(q)[0] np.true_divide(x, Y) np.trunc(x) np.union1d(v, V) np.unique(v)
np.unique_all(v)[0] np.unique_counts(v)[0] np.unique_inverse(v)[0] np.unique_values(v)
np.unpackbits(np.packbits(x > 1)) np.unravel_index(n[0], (4, 4))[0] np.unstack(x) np.unwrap(4*x) np.vander(v, 3)
np.var(x) np.var(x, 1) np.vdot(x, Y) np.vecdot(x, Y) np.vecmat(x[:, 0], Y) np.vsplit(x, 3) np.vstack((x, V))
np.vstack([s, 2.]) np.where(x > 1, x, Y) np.where(M, x, 0.) np.zeros_like(x) np.zeros((2, 2), like=x)
np.zeros_like(x, dtype=int) np.row_stack((x, V)) np.in1d(n, [1, 2]) np.trapz(v) np.r_[v, 1., s] np.r_[x, Y]
np.c_[v, V] np.vectorize(lambda t: t*t + 1)(x) np.vectorize(lambda a, b: a*b)(x, 2.)
np.sum(np.frompyfunc(lambda t: t*t, 1, 1)(v))*s np.polynomial.Polynomial(v)(2.)
np.polynomial.polynomial.polyval(x, [1., 2, 3]) np.polynomial.polynomial.polyval(2., v)
np.polynomial.Polynomial([1., 2, 3])(x) np.polynomial.chebyshev.chebval(x, [1., 2, 3])
np.polynomial.Polynomial(v).deriv()(.5) np.polynomial.legendre.legval(x, V) np.emath.sqrt(x) np.emath.log(x)
np.emath.power(x, 2) np.emath.arcsin(x/3) np.emath.arccos(x/3) np.emath.arctanh(x/3) np.emath.log2(x)
np.emath.log10(x) np.emath.logn(2, x) np.emath.arcsin(-x) np.emath.arccos(-2*x)
np.emath.arctanh(-3*x) np.lib.stride_tricks.sliding_window_view(v, 2)
np.lib.stride_tricks.sliding_window_view(x, 2, 1) np.array(list(x.flat)) np.array([float(i)*s for i in range(3)])
np.sum(np.array([s, 2*s])**2) np.array([s, s])@EYE[:2, :2] np.sin(np.array([s, 2*s]))
np.exp(np.array([[s, s], [s, 1.*s]])).sum() np.array([v, V])@v np.array([s, 1.])*v[:2] np.multiply.outer(v, V)
np.add.accumulate(v) np.maximum.reduce(x) np.maximum.accumulate(x, 1) np.add.reduceat(v, [0, 2])
np.multiply.reduce(x, 1) np.subtract.outer(V, v) x.sum() x.mean(0) x.std() x.T x.reshape(2, 6) x.ravel()
x.flatten() x.copy() x.astype(np.float32) x.dot(V) x.clip(1, 2) x.max(1) x.argmax() x.cumsum() x.transpose()
x.swapaxes(0, 1) x.repeat(2) x.round(1) x.squeeze() x.take([0]) x.trace() x.var() x.prod() x.real x.imag x.conj()
x.diagonal() x.flat[3] x[::2, 1] x[M] x[I] x[[0, 1]] x[..., None] x[-1] x[1, [0, 2]] x@V V@x.T x.ndim x.size
x.shape len(x) x.itemsize x.nbytes x.item(2)*0+s
"""

# What is refused under some transform, because the shape or a branch of Python's hangs on values.
BY_VALUE = re.compile(
    r"np\.(argwhere|flatnonzero|nonzero|unique\w*|union1d|intersect1d|setdiff1d|setxor1d|trim_zeros|bincount\(n|roots\(v|extract)"
    r"|np\.(histogram\(x, 3|histogram_bin_edges)|np\.emath|np\.take\(V|np\.allclose|np\.array_equ|x\.item"
)
# Settings, files, text, and what has no operand that could be traced.
WITHOUT_ARRAYS = {
    "add_docstring", "array2string", "array_repr", "array_str", "asarray_chkfinite", "asmatrix", "bmat",
    "common_type", "copyto", "empty", "errstate", "fill_diagonal", "from_dlpack", "fromiter", "frombuffer",
    "fromstring", "get_printoptions", "isfortran", "min_scalar_type", "place", "printoptions", "put",
    "put_along_axis", "putmask", "set_printoptions", "shares_memory", "may_share_memory", "nested_iters",
    "require", "zeros", "ones", "typename", "mintypecode",
}  # fmt: skip


def split_calls(text):
    """The expressions of the table: parted by blanks outside of brackets."""
    calls, depth, start = [], 0, 0
    text = " ".join(text.split()) + " "
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == " " and depth == 0:
            calls.append(text[start:i])
            start = i + 1
    return calls


TABLE = split_calls(CALLS)


def program(call):
    """The expression as a function of x."""
    code = compile(call, call, "eval")

    def compute(x):
        square = x[:, :3] + 3 * np.eye(3)
        known = {"x": x, "v": x[0], "s": x[0, 0], "q": square, "z": x + 1j * GIVEN["Y"]}
        if "n" in code.co_names:
            known["n"] = (x * 5).astype(int)
        return eval(code, {**GIVEN, **known})

    return compute


TRANSFORMS = {
    "grad": lambda f: fx.vjp(f, X)[0],
    "jvp": lambda f: fx.jvp(f, (X,), (np.ones_like(X),))[0],
    "vmap": lambda f: fx.tree.map(lambda y: y[0], fx.vmap(f)(X[None])),
    "jit": lambda f: fx.jit(f)(X),
}


def numbers(tree):
    """The arrays of a result, what NumPy makes of Python's numbers among them."""
    return [np.asarray(leaf) for leaf in fx.tree.leaves(tree)]


def is_static(result):
    return all(isinstance(leaf, bool | int | np.dtype | str | tuple) for leaf in fx.tree.leaves(result))


@pytest.mark.parametrize("call", TABLE)
def test_gives_what_numpy_gives(call):
    compute = program(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            wanted = compute(X)
        except AttributeError as error:
            pytest.skip(f"not in this version of NumPy: {error}")
        if is_static(wanted):
            return
        for name, transform in TRANSFORMS.items():
            try:
                found = transform(compute)
            except fx.FxgradError as error:
                if BY_VALUE.search(call) and error.hint:
                    continue
                raise
            for have, want in zip(numbers(found), numbers(wanted), strict=True):
                assert have.shape == want.shape, name
                assert have.dtype == want.dtype, name
                np.testing.assert_allclose(have, want, 1e-10, 1e-12, err_msg=name)


SHARING = """
np.astype(x, float, copy=False) np.atleast_1d(x, v) np.diag(q) np.einsum('ii->i', q) np.einsum(x, [0, 1], [1, 0])
np.linalg.diagonal(q) np.meshgrid(v, v, copy=False) np.nan_to_num(b, copy=False) np.real(x) np.real_if_close(x)
np.reshape(x, -1) np.squeeze(x[None]) x.conj() x.diagonal() x.real x.reshape(-1) x.ravel() x.mT
x[...] x[None] x[1:, ::-1]
"""


def aliasing_of(call, x):
    """What the argument shows after a write into the first array of the result of a call, and what that shows after a
    write into the argument; nothing where the result is no array of numbers."""
    known = {"x": x, "v": x[0], "q": x[:, :3], "b": x.copy()}
    result = eval(compile(call, call, "eval"), {**GIVEN, **known})
    leaves = [y for y in fx.tree.leaves(result) if hasattr(y, "ndim") and y.ndim]
    if not leaves or leaves[0].dtype.kind != "f":  # an array of objects is NumPy's own
        return []
    y = leaves[0]
    with suppress(ValueError, fx.ImmutableError):  # it may be read-only
        y[...] = 7.0
    seen = np.sum(x, dtype=float)
    x[...] = 5.0
    return [seen, y * 1.0]


# NumPy's own arrays of objects, which are read-only; what is a view by values, and a copy here; zeros that are
# read-only there; and deprecated ways to write.
NOT_COMPARED = r"as(any)?array|trim_zeros|x\.imag|meshgrid|row_stack|in1d|trapz|fix"


def is_about_floats(call):
    names = {*compile(call, call, "eval").co_names}
    return not {"n", "s", "z", "Y"} & names and not re.search(NOT_COMPARED, call)


@pytest.mark.parametrize("call", [call for call in [*TABLE, *split_calls(SHARING)] if is_about_floats(call)])
def test_results_share_with_arguments_what_numpys_share(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            wanted = aliasing_of(call, X.copy())
        except (AttributeError, NameError):
            return  # not in this version of NumPy
        for name, transform in TRANSFORMS.items():
            try:
                found = transform(lambda x: aliasing_of(call, x))
            except fx.FxgradError as error:
                if BY_VALUE.search(call) and error.hint:
                    continue
                raise
            for have, want in zip(found, wanted):
                np.testing.assert_allclose(have, want, 1e-10, err_msg=name)


@with_new_numpy
def test_every_function_is_called():
    called = {m for call in TABLE for m in re.findall(r"np\.(?:linalg\.|fft\.|emath\.)?(\w+)", call)}
    for module in (np, np.linalg, np.fft, np.emath):
        for name in module.__all__:
            function = getattr(module, name)
            if callable(function) and not isinstance(function, type) and hasattr(function, "__name__"):
                known = {name, function.__name__}
                skipped = known & (MISSING_NAMES.keys() | WITHOUT_ARRAYS)
                assert skipped or known & called or np.isscalar(function), name
