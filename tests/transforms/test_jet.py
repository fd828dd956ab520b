"""Taylor mode: the derivatives along a curve are those of nested forward mode."""

from math import factorial

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.experimental import jet as experimental

ORDER = 4
POINT = np.random.default_rng(0).uniform(0.3, 0.8, 4)
SERIES = list(np.random.default_rng(1).normal(size=(ORDER, 4)))


def spd(x):
    return fnp.diag(x) + fnp.outer(x, x)


@fx.custom_jvp
def cubed(x):
    return x**3


cubed.defjvp(lambda primals, tangents: (cubed(*primals), 3 * primals[0] ** 2 * tangents[0]))


@fx.custom_vjp
def halved(x):
    return fnp.sin(x)


halved.defvjp(lambda x: (fnp.sin(x), x), lambda x, ct: (ct * fnp.cos(x),))

FUNCTIONS = {
    # recurrences
    "exp": fnp.exp, "log": fnp.log, "sin": fnp.sin, "cos": fnp.cos, "sqrt": fnp.sqrt,
    "divide": lambda x: x / (1 + x[::-1]), "number over": lambda x: 2 / x, "over number": lambda x: x / 3,
    "broadcast": lambda x: x[:1] / x + x * x[:, None],
    # what is declared, integrated
    "tan": fnp.tan, "tanh": fnp.tanh, "cube": lambda x: x**3, "power": lambda x: x**2.5,
    "powers": lambda x: x ** x[::-1],
    "arcsin": fnp.arcsin, "expm1": fnp.expm1, "log1p": fnp.log1p, "hypot": lambda x: fnp.hypot(x, x[::-1]),
    "arctan2": lambda x: fnp.arctan2(x, x[::-1]), "logaddexp": lambda x: fnp.logaddexp(x, x * x),
    "absolute": lambda x: fnp.abs(x - 0.5) * x, "where": lambda x: fnp.where(x > 0.5, x**2, fnp.exp(x)),
    "maximum": lambda x: fnp.max(x) * fnp.maximum(x, 0.5), "norm": fnp.linalg.norm,
    "cumprod": fnp.cumprod, "prod": fnp.prod,
    "sort": fnp.sort, "inv": lambda x: fnp.linalg.inv(spd(x)), "solve": lambda x: fnp.linalg.solve(spd(x), x),
    "slogdet": lambda x: fnp.linalg.slogdet(spd(x)), "cholesky": lambda x: fnp.linalg.cholesky(spd(x)),
    "eigh": lambda x: fnp.linalg.eigh(spd(x))[0],
    # linear and bilinear
    "matrix": lambda x: spd(x) @ x, "convolve": lambda x: fnp.convolve(x, x), "fft": lambda x: fnp.abs(fnp.fft.fft(x)),
    # what carries a program
    "scan": lambda x: lax.scan(lambda c, r: (fnp.sin(c * r), c + r), x[0], x), "jit": fx.jit(lambda x: fnp.sin(x) * x),
    "cond": lambda x: lax.cond(x[0] > 0, fnp.sin, fnp.cos, x), "checkpoint": fx.checkpoint(fnp.sin),
    "while": lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, fnp.sin(s[1] * x)), (0, x))[1],
    "own jvp": cubed, "own vjp": halved, "grad": fx.grad(lambda x: fnp.sum(fnp.sin(x) ** 3)),
    "map": fx.vmap(lambda a: a * fnp.exp(a)), "constant": lambda x: 3.0, "integers": lambda x: fnp.argsort(x),
}  # fmt: skip


def nested_forward_mode(fun, x, series):
    """The derivatives of t ↦ fun(x(t)) at 0, one forward mode inside another."""

    def derivative(curve):
        return lambda t: fx.jvp(curve, (t,), (1.0,))[1]

    def curve(t):
        return fun(x + sum(v * t**k / factorial(k) for k, v in enumerate(series, 1)))

    found = []
    for _ in series:
        curve = derivative(curve)
        found.append(curve(0.0))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_terms_are_the_derivatives_along_the_curve(name):
    fun = FUNCTIONS[name]
    value, terms = fx.jet(fun, (POINT,), (SERIES,))
    wanted = nested_forward_mode(fun, POINT, SERIES)
    for have, want in zip(fx.tree.leaves(value), fx.tree.leaves(fun(POINT)), strict=True):
        assert np.allclose(have, want)
    if name == "integers":
        assert all(t.dtype == fx.float0 for t in terms)
        return
    structure = fx.tree.structure(fun(POINT))
    for k, want in enumerate(wanted):
        for have, there in zip(structure.flatten_up_to(terms), fx.tree.leaves(want), strict=True):
            assert np.allclose(have[k], there, rtol=1e-7, atol=1e-9), k


def test_zeros_of_powers_and_high_orders():
    _, terms = fx.jet(lambda x: x**3, (0.0,), ([1.0] + [0.0] * 5,))
    assert [float(t) for t in terms] == [0, 0, 6, 0, 0, 0]
    _, terms = fx.jet(fnp.exp, (0.0,), ([1.0] + [0.0] * 29,))
    assert np.allclose(terms, 1)
    _, terms = fx.jet(fnp.tanh, (0.0,), ([1.0] + [0.0] * 8,), factorial_scaled=False)
    assert np.allclose(terms, [1, 0, -1 / 3, 0, 2 / 15, 0, -17 / 315, 0, 62 / 2835])


def test_further_transforms():
    def third(x, v):
        return fnp.sum(fx.jet(lambda x: fnp.sin(x) * x**2, (x,), ((v, v, v),))[1][2])

    def nested(x, v):
        return fnp.sum(nested_forward_mode(lambda x: fnp.sin(x) * x**2, x, (v, v, v))[2])

    v = SERIES[0]
    assert np.allclose(fx.grad(third, (0, 1))(POINT, v), fx.grad(nested, (0, 1))(POINT, v))
    assert np.allclose(fx.jit(third)(POINT, v), nested(POINT, v))
    rows = np.stack([POINT, POINT[::-1]])
    assert np.allclose(fx.vmap(third, (0, None))(rows, v), [nested(x, v) for x in rows])
    twice = fx.jet(lambda x: fx.jet(fnp.sin, (x,), ((1.0, 0.0),))[1][1], (0.3,), ((1.0, 0.0),))[1]
    assert np.allclose(twice, [-np.cos(0.3), np.sin(0.3)])
    assert np.allclose(fx.jvp(lambda x: third(x, v), (POINT,), (v,))[1], fx.grad(third)(POINT, v) @ v)


def test_closed_over_values_of_other_levels():
    def inner(scale):
        return fx.jet(lambda x: fnp.exp(scale * x), (0.0,), ((1.0, 0.0),))[1][1]

    assert np.allclose(fx.grad(inner)(3.0), 6)


def test_dtypes_shapes_and_trees():
    x = POINT.astype(np.float32)
    value, (first, second) = fx.jet(lambda x: fnp.exp(x) / fnp.tanh(x), (x,), ((x, x),))
    assert value.dtype == first.dtype == second.dtype == np.float32
    z = POINT + 1j * POINT[::-1]
    _, terms = fx.jet(lambda z: fnp.exp(z) * z, (z,), ((z, z),))
    step = 1e-5
    along = [np.exp(z + t * z + t * t * z / 2) * (z + t * z + t * t * z / 2) for t in (-step, step)]
    assert np.allclose(terms[0], (along[1] - along[0]) / (2 * step))
    tree = {"a": POINT, "b": 2.0}
    value, terms = fx.jet(lambda tree: {"c": tree["a"] * tree["b"]}, (tree,), ((tree, tree),))
    assert np.allclose(terms["c"][1], 4 * value["c"])
    assert fx.jet(fnp.sin, (np.zeros((0, 3)),), ((np.zeros((0, 3)),),))[1][0].shape == (0, 3)
    assert fx.jet(fnp.sin, (POINT,), ((),))[1] == []
    value, terms = fx.jet(lambda x: x, (POINT,), ((SERIES[0],),))
    value[0] = terms[0][0] = 9.0
    assert POINT[0] != 9 and SERIES[0][0] != 9


def test_a_taylor_series_solves_a_differential_equation():
    """y′ = y·cos(t), y(0) = 1: each order of the solution follows from that of the right-hand side."""

    def rate(state):
        y, t = state
        return y * fnp.cos(t), 1.0

    state, step, order = (1.0, 0.0), 0.1, 8
    for _ in range(20):
        terms = list(fx.jet(rate, (state,), ((),))[0:1])
        while len(terms) < order:
            _, (ys, ts) = fx.jet(rate, (state,), (terms,))
            terms = [rate(state), *zip(ys, ts)]
        state = tuple([
            x + sum(step**k / factorial(k) * term[i] for k, term in enumerate(terms, 1)) for i, x in enumerate(state)
        ])  # fmt: skip
    assert np.isclose(state[0], np.exp(np.sin(2.0)), rtol=1e-10)


def test_the_name_in_jax():
    assert experimental.jet is fx.jet is fx.experimental.jet.jet


def test_errors():
    with pytest.raises(TypeError, match="must be tuples or lists"):
        fx.jet(fnp.sin, 1.0, (1.0,))
    with pytest.raises(ValueError, match="series of lengths"):
        fx.jet(fnp.add, (1.0, 2.0), ((1.0,), (1.0, 2.0)))
    with pytest.raises(ValueError, match="shape"):
        fx.jet(fnp.sin, (POINT,), ((1.0,),))
    leaked = []
    fx.jet(lambda x: leaked.append(x) or x, (POINT,), ((SERIES[0],),))
    with pytest.raises(fx.EscapedTracerError):
        fnp.sin(leaked[0])
