"""fxgrad.numpy against jax.numpy: values, both modes, second order, vmap over every axis and jit of a table of calls.

A line is a call as in tests/numpy/test_namespace.py, with the traced operands by name; `np` is the namespace.
"""

import ast

import numpy
import pytest

from tests.parity.oracle import by_fxgrad, by_jax, same

import jax  # isort: skip

RNG = numpy.random.default_rng(11)
OPERANDS = {
    "s": numpy.asarray(1.3),
    "u": RNG.uniform(0.2, 0.9, 4),
    "v": RNG.normal(size=4),
    "w": RNG.normal(size=3),
    "x": RNG.normal(size=(3, 4)),
    "y": RNG.normal(size=(3, 4)),
    "p": RNG.uniform(1.0, 2.0, (3, 4)),
    "m": RNG.normal(size=(3, 3)),
    "t": RNG.normal(size=(2, 3, 4)),
}
FIXED = {"i": numpy.array([[2, 0, 1, 1]]), "mask": numpy.arange(12).reshape(3, 4) % 3 == 0}

TABLE = """
    np.convolve(v, w) | np.convolve(v, w, mode="same") | np.convolve(w, v, mode="valid") | np.correlate(v, w)
    np.correlate(v, w, mode="full") | np.correlate(v, w, mode="same") | np.ediff1d(x) | np.gradient(v)
    np.gradient(x, 0.5, axis=1) | np.trapezoid(x, v) | np.unwrap(3 * x) | np.unwrap(3 * v, period=2.0)
    np.diff(x, n=2, axis=1) | np.i0(x) | np.i0(3 * p) | np.kaiser(6, s) | np.sinc(x) | np.poly(v)
    np.polyadd(v, w) | np.polysub(w, v) | np.polymul(v, w) | np.polydiv(v, u[:2])[0] | np.polyder(v)
    np.polyder(v, 2) | np.polyint(v) | np.polyint(w, 2, 1.5) | np.polyval(v, x) | np.polyval(w, s)
    np.polyfit(u, v, 2) | np.polyfit(u, v, 2, w=p[0]) | np.vander(w) | np.insert(v, 1, s)
    np.insert(x, numpy.array([0, 2]), s, axis=1) | np.delete(x, 1, axis=0) | np.append(x, y, axis=0)
    np.resize(w, (2, 4)) | np.put_along_axis(x, i, y[:1], 0, inplace=False)
    np.fill_diagonal(m, w, inplace=False) | np.place(x, mask, w, inplace=False)
    np.pad(x, 1, "linear_ramp", end_values=2.0) | np.pad(x, 2, "mean") | np.pad(x, 2, "maximum")
    np.pad(x, 1, "minimum", stat_length=2) | np.pad(v, 2, "reflect", reflect_type="odd")
    np.pad(x, 1, "symmetric") | np.pad(x, 2, "wrap") | np.cumsum(x, axis=1) | np.nancumsum(x)
    np.nancumprod(x, axis=1) | np.cross(w, m) | np.cross(v[:2], u[:2]) | np.cross(m, w)
    np.apply_along_axis(lambda a: a[0] * a[1:], 1, x) | np.apply_along_axis(np.sum, 0, t)
    np.apply_over_axes(np.sum, t, (0, 2)) | np.piecewise(x, [x < 0, x >= 0], [np.sin, np.cos])
    np.vectorize(lambda a, b: a * b)(x, v) | np.vectorize(np.dot, signature="(n),(n)->()")(x, v)
    np.vectorize(lambda a: a[::-1] ** 2, signature="(n)->(n)")(t) | np.select([x > 1, x > 0], [x * y, y], 3.0)
    np.choose(numpy.array([0, 1, 1, 0]), [v, u], mode="clip") | np.nan_to_num(x) | np.geomspace(p, 9.0, 4)
    np.logspace(s, 2 * s, 4) | np.linspace(w, m, 3) | np.heaviside(x, 0.5) * y | np.modf(x)[0] * y
    np.divmod(x, p)[1] | np.fmod(x, p) | np.frexp(x)[0] | np.vecdot(x, y) | np.matvec(t, v) | np.vecmat(w, t)
    np.kron(m, w) | np.block([[x, y], [y, x]]) | np.rot90(x) | np.roll(x, 2, axis=1) | np.rollaxis(t, 2)
    np.array_split(v, 3)[0] | np.einsum("ij,kj->ik", x, y) | np.tril(m) | np.diagonal(t, 1, 1, 2)
    np.std(x, axis=1, ddof=1) | np.var(x, correction=1) | np.sum(x, where=mask, initial=2.0)
    np.max(x, axis=0, keepdims=True) | np.prod(x, axis=1) | np.average(x, axis=0, weights=w)
    np.logaddexp(x, y) | np.hypot(x, y) | np.arctan2(x, y) | np.float_power(p, y) | np.copysign(x, y)
    np.cbrt(x) | np.nanmean(x) | np.nanvar(x, axis=0) | np.ptp(x, axis=1) | np.clip(x, -0.5, 0.5) | np.trace(m)
    np.tensordot(x, y, 2) | np.r_[v, 0.0, w] | np.c_[v, u] | np.meshgrid(v, w)[0] | np.take(x, i, axis=0)
    np.repeat(x, 2, axis=0) | np.tile(w, (2, 2))
"""
CALLS = [call.strip() for line in TABLE.strip().splitlines() for call in line.split(" | ")]


def names_in(call):
    names = {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
    return [name for name in OPERANDS if name in names]


def function_of(call, np):
    names = names_in(call)
    code = compile(call, call, "eval")
    return lambda *args: eval(code, {"np": np, "numpy": numpy, **FIXED, **dict(zip(names, args))})


@pytest.mark.parametrize("call", CALLS)
def test_derivatives_and_batches(call):
    args = tuple(OPERANDS[name] for name in names_in(call))
    directions = tuple(numpy.cos(7 * a + 1) for a in args)
    every = tuple(range(len(args)))

    def program(fx, np):
        f = function_of(call, np)

        def weighed(*xs):
            y = f(*xs)
            return np.sum(y * numpy.sin(1 + numpy.arange(y.size).reshape(y.shape)))

        gradient = fx.grad(weighed, every)
        batches = []
        for axis in range(-1, max(a.ndim for a in args) + 1):
            axes = tuple(min(axis, a.ndim) for a in args)
            batches.append(fx.vmap(f, axes)(*[numpy.stack([a, 0.8 * a], i) for a, i in zip(args, axes)]))
        one = (0, *(None,) * (len(args) - 1))
        batches.append(fx.vmap(fx.grad(weighed), one)(numpy.stack([args[0]] * 2), *args[1:]))
        return fx.jvp(f, args, directions), fx.jvp(gradient, args, directions), batches

    ours = by_fxgrad(program)
    same(ours, jax.jit(lambda: by_jax(program))())  # one compilation, instead of one for every operation
    same(
        by_fxgrad(lambda fx, np: fx.jit(lambda *xs: fx.jvp(function_of(call, np), xs, directions))(*args)),
        ours[0],
    )
