"""Hints, tried: a call that fails inside a transform, the words of its hint, and the call to which the hint leads."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.scipy import fft, interpolate, ndimage, signal, special, stats
from fxgrad.scipy import linalg as slinalg

X = np.arange(1.0, 7.0).reshape(2, 3)
NAMES = {
    "np": np, "fx": fx, "fnp": fnp, "lax": lax, "fft": fft, "interpolate": interpolate, "ndimage": ndimage,
    "signal": signal, "special": special, "stats": stats, "slinalg": slinalg,
    "s": np.array([[2.0, 1.0], [1.0, 3.0]]), "v": np.array([1.0, 2.0]), "i": np.array([[0, 1]]),
    "key": fx.random.key(0), "square": lambda x: x * x, "total": lambda x: fnp.sum(x),
}  # fmt: skip

# The call, words of the hint, the call that it leads to: x is [2, 3], s [2, 2] and v [2].
CASES = """
-- axes
x.sum(axis=2) | an axis from -2 to 1 | x.sum(axis=1)
x[0, 0].sum(axis=1) | x[None], which has an axis | x[0, 0][None].sum(axis=0)
fnp.sum(x, axis=(0, -2)) | each axis once | fnp.sum(x, axis=(0, -1))
fnp.transpose(x, (0,)) | all of them, in the new order: (1, 0) | fnp.transpose(x, (1, 0))
fnp.squeeze(x, 0) | axis=None for all axes of size 1 | fnp.squeeze(x[None], None)
fnp.moveaxis(x, (0, 1), (1,)) | a place for each axis | fnp.moveaxis(x, (0, 1), (1, 0))
fnp.fliplr(v) | x[None], which has an axis more | fnp.fliplr(v[None] + 0 * x[:, :2])
fnp.vander(x) | x.ravel() | fnp.vander(x.ravel())
fnp.roots(x) | p.ravel() | fnp.roots(x.ravel())
fnp.matrix_transpose(x[0]) | x[None], which has two axes | fnp.matrix_transpose(x[0][None])
fnp.linalg.inv(x[0]) | x[None] for a row | fnp.linalg.pinv(x[0][None])
-- shapes
x.reshape(4, 2) | (3, 2), which has 6 entries | x.reshape(3, 2)
x.reshape(4, -1) | sizes whose product divides 6 | x.reshape(3, -1)
x.reshape(-1, -1) | -1 for one of them | x.reshape(-1, 2)
x + v | the second one as y[:, None], of shape (2, 1) | x + v[:, None]
x[0] + v | x[:, None] and y for all pairs | x[0][:, None] + v
x * x.T | the second one as y.T | x * x.T.T
x @ x | the second one transposed (.T) | x @ x.T
x @ v | the first one transposed (.T) | x.T @ v
x[0] @ v | fnp.outer(x, y) | fnp.outer(x[0], v)
fnp.broadcast_to(v, (2, 3)) + x | x[:, None] | fnp.broadcast_to(v[:, None], (2, 3)) + x
fnp.tensordot(x, x, 1) | axes=(of_a, of_b) | fnp.tensordot(x, x, axes=((1,), (1,)))
fnp.einsum("ij,jk->ik", x, x) | an operand transposed | fnp.einsum("ij,kj->ik", x, x)
fnp.concatenate([x, s]) | axis=1 | fnp.concatenate([x, s], axis=1)
fnp.concatenate([]) + x | fnp.zeros((0,)) | fnp.concatenate([fnp.zeros((0,)), x[0]])
fnp.stack([x[0], x[:, 0]]) | fnp.concatenate | fnp.concatenate([x[0], x[:, 0]])
fnp.split(x, 2, axis=1) | fnp.array_split | fnp.array_split(x, 2, axis=1)
fnp.average(x, axis=1, weights=v) | weights of shape (3,) | fnp.average(x, axis=1, weights=[1, 2, 3])
fnp.average(x, weights=v) | axis=, along which the weights go | fnp.average(x, axis=0, weights=v)
x.at[:, 0].set(x[0]) | sizes that, from the right, are equal or 1 | x.at[:, 0].set(x[0, :2])
x.at[:].set(x[:, 0]) | values[:, None], of shape (2, 1) | x.at[:].set(x[:, 0][:, None])
-- indices
x[2] | an index from -2 to 1 | x[-1]
x[0, 0, 0] | at most 2 of them; x[..., i] | x[..., 0]
x[1.0] | index.astype(int) | x[np.float64(1.0).astype(int)]
x[np.array([True, False, True])] | a mask of shape (2,) | x[np.array([True, False])]
fnp.take(x, 7) | mode='clip' | fnp.take(x, 7, mode="clip")
fnp.take_along_axis(x, i[0]) | indices[None] | fnp.take_along_axis(x, i)
fnp.choose(i - 2, [x[0, :2], v]) | mode="wrap" | fnp.choose(i - 2, [x[0, :2], v], mode="wrap")
-- options and values
fnp.fft.fft(x, norm="orth") | norm='ortho' | fnp.fft.fft(x, norm="ortho")
fnp.pad(x, 1, mode="reflected") | mode='reflect' | fnp.pad(x, 1, mode="reflect")
fnp.pad(x, -1) | which cuts | x[1:-1]
fnp.convolve(x[0], v, "ful") | mode='full' | fnp.convolve(x[0], v, "full")
fnp.linalg.norm(x, "abc") | ord='fro' | fnp.linalg.norm(x, "fro")
fnp.gradient(x, edge_order=3) | edge_order=1 or 2 | fnp.gradient(x[:1].T, edge_order=2, axis=0)
fnp.quantile(x, 25) | percentile takes percents | fnp.percentile(x, 25)
fnp.diff(x, -1) | fnp.cumsum is the other way | fnp.cumsum(x)
fnp.polyder(x[0], -1) | fnp.polyint(p, 1) | fnp.polyint(x[0], 1)
fnp.searchsorted(x[0], 2.0, "lift") | side='left' | fnp.searchsorted(x[0], 2.0, "left")
fnp.max(x, where=x > 2) | initial=-fnp.inf | fnp.max(x, where=x > 2, initial=-fnp.inf)
fnp.interp(x[0], v, s + x[0, 0]) | fx.vmap(fnp.interp, | fx.vmap(fnp.interp, (None, None, 0))(x[0], v, s + x[0, 0])
-- linear algebra
fnp.linalg.inv(x) | fnp.linalg.pinv | fnp.linalg.pinv(x)
fnp.linalg.inv(0 * x[:, :2]) | a + eps * fnp.eye(n) | fnp.linalg.inv(0 * x[:, :2] + 0.1 * fnp.eye(2))
fnp.linalg.cholesky(0 * x @ x.T) | a + eps * fnp.eye(n) | fnp.linalg.cholesky(0 * x @ x.T + 0.1 * fnp.eye(2))
fnp.linalg.lstsq(x, x[0]) | b of 2 rows | fnp.linalg.lstsq(x, x[:, 0])
fnp.linalg.matrix_rank(x, 0.1, rtol=0.1) | tol=, absolute | fnp.linalg.matrix_rank(x, 0.1)
slinalg.expm(x) | matrices [..., n, n] | slinalg.expm(x @ x.T)
slinalg.solve(s, x.T) | the second one transposed | slinalg.solve(s, x)
slinalg.polar(x, "up") | side='right' or 'left' | slinalg.polar(x.T, "right")
slinalg.eigh(s * x[0, 0], type=4) | type=1, 2 or 3 | slinalg.eigh(s * x[0, 0], type=1)
-- lax
lax.scan(lambda c, a: c, 0.0, x) | return carry, y | lax.scan(lambda c, a: (c, None), 0.0, x)
lax.dynamic_slice(x, (0,), (1,)) | a start and a size for each of the 2 axes | lax.dynamic_slice(x, (0, 0), (1, 1))
lax.dynamic_update_slice(x, v, (0, 0)) | update.reshape((1, 2)) | lax.dynamic_update_slice(x, v.reshape((1, 2)), (0, 0))
lax.cond(x, total, total, x) | fnp.where | fnp.where(x > 0, x, -x)
lax.split(x, (1, 1), 1) | sizes whose sum is 3 | lax.split(x, (1, 2), 1)
lax.top_k(x, 4) | k=3 | lax.top_k(x, 3)
lax.index_in_dim(x, 2) | an index from -2 to 1 | lax.index_in_dim(x, 1)
lax.pad(x, 0.0, [(1, 1, 0)]) | (low, high, interior) for each of the 2 axes | lax.pad(x, 0.0, [(1, 1, 0), (0, 0, 0)])
lax.associative_scan(fnp.add, x, axis=2) | an axis from -2 to 1 | lax.associative_scan(fnp.add, x, axis=1)
-- transforms
fx.grad(total(x)) | the function itself, grad(f) | fx.grad(total)(x)
fx.grad(total, argnums=1)(x) | argnums=0; | fx.grad(total, argnums=0)(x)
fx.grad(total)(x=x) | give the arguments by position | fx.grad(total)(x)
fx.grad(square)(x) | fnp.sum | fx.grad(lambda x: fnp.sum(square(x)))(x)
fx.jacobian(square, mode="forward")(x) | mode='fwd' | fx.jacobian(square, mode="fwd")(x)
fx.vmap(square, in_axes="0")(x) | one for all arguments | fx.vmap(square, in_axes=0)(x)
fx.grad(lambda x: total(x), has_aux=True)(x) | return value, aux | fx.grad(lambda x: (total(x), x), has_aux=True)(x)
fx.jvp(square, (x,), (v,)) | fnp.broadcast_to(value, (2, 3)) | fx.jvp(square, (x,), (fnp.broadcast_to(v[0], (2, 3)),))
-- random
fx.random.normal(key, -1) + x | sizes from 0 on | fx.random.normal(key, 1) + x[:, :1]
fx.random.normal(key, (3,), dtype=int) + x | dtype=float | fx.random.normal(key, (3,), dtype=float) + x
fx.random.choice(key, x, (3,), replace=False) | at most 2 draws, or | fx.random.choice(key, x, (3,), replace=True)
fx.random.categorical(key, x[0, 0]) | logits[None] | fx.random.categorical(key, x[0, 0][None])
stats.norm.rvs(x[0, 0]) | random_state=fx.random.key(0) | stats.norm.rvs(x[0, 0], random_state=fx.random.key(0))
-- scipy
fft.dct(x, 5) | type=1, 2, 3 or 4 | fft.dct(x, 4)
stats.norm.logpdf(x, 1, 2, 3) | each parameter once | stats.norm.logpdf(x, 1, 2)
stats.rankdata(x, "avg") | method='average' | stats.rankdata(x, "average")
signal.convolve(x, x, "some") | mode='same' | signal.convolve(x, x, "same")
signal.detrend(x, type="line") | type='linear' | signal.detrend(x, type="linear")
signal.welch(x, nperseg=2, noverlap=2) | noverlap=1 | signal.welch(x, nperseg=2, noverlap=1)
ndimage.rotate(x, 10.0, (0, 0)) | axes=(1, 0) | ndimage.rotate(x, 10.0, (1, 0))
ndimage.shift(x, 1.0, mode="edge") | one of | ndimage.shift(x, 1.0, mode="nearest")
ndimage.map_coordinates(x, [x[0]]) | coordinates of shape (2, …) | ndimage.map_coordinates(x, [x[0], x[0]])
interpolate.CubicSpline(-x[0], x[0]) | fnp.argsort(x) | interpolate.CubicSpline(-x[0][[2, 1, 0]], x[0][[2, 1, 0]])
interpolate.interp1d(x[0], x[0], "lineal")(2.0) | one of zero, slinear | interpolate.interp1d(x[0], x[0], "linear")(2.0)
special.polygamma(171, x) | int(n), from 0 to 170 | special.polygamma(2, x)
"""
ROWS = [tuple(map(str.strip, line.split(" | "))) for line in CASES.splitlines() if " | " in line]


@pytest.mark.parametrize(("call", "words", "cured"), ROWS, ids=[row[0] for row in ROWS])
def test_a_hint_leads_from_the_call_that_fails_to_one_that_does_not(call, words, cured):
    def run(text):
        return fx.jvp(lambda x: eval(text, {**NAMES, "x": x}), (X,), (np.ones_like(X),))

    with pytest.raises(fx.FxgradError) as caught:
        run(call)
    assert words in caught.value.hint
    run(cured)
