"""Sorting, order statistics, sets and histograms against JAX: values and derivatives in every mode."""

import numpy
import pytest

from tests.parity.oracle import both_refuse, by_fxgrad, by_jax, same

import jax  # isort: skip

rng = numpy.random.default_rng(0)
V, W, X = rng.normal(size=7), rng.random(7), rng.normal(size=(4, 3))
T = rng.integers(0, 3, (4, 3)) / 2.0
XP, FP = numpy.array([-1.0, -0.2, 0.1, 0.9]), numpy.array([1.0, -2.0, 3.0, 3.5])
N = numpy.array([3, 1, 1, 0, 3, 5, 1])
HOLES = numpy.where(X < -0.5, numpy.nan, X)

DIFFERENTIABLE = {
    "sort": lambda np, x: np.sort(x, 0) ** 2,
    "sort, all, descending": lambda np, x: np.sort(x, None, descending=True) * np.arange(12.0),
    "partition": lambda np, x: np.partition(x, 1, 1)[:, 1],
    "median": lambda np, x: np.median(x, 0),
    "median of all": lambda np, x: np.median(x, keepdims=True),
    "quantiles": lambda np, x: np.quantile(x, numpy.array([0.1, 0.6]), 1),
    "percentile": lambda np, x: np.percentile(x, 35.0, (0, 1)),
    "inverted_cdf": lambda np, x: np.quantile(x, 0.37, 0, method="inverted_cdf"),
    "lower": lambda np, x: np.quantile(x, 0.37, 0, method="lower"),
    "cov": lambda np, x: np.cov(x),
    "cov, options": lambda np, x: np.cov(
        x[:2], x[2:], rowvar=False, bias=True, aweights=numpy.array([1.0, 3.0])
    ),
    "cov, counts": lambda np, x: np.cov(x, fweights=numpy.array([1, 2, 1]), ddof=0),
    "corrcoef": lambda np, x: np.corrcoef(x)[0, 1:],
    "interp in x": lambda np, x: np.interp(x, XP, FP),
    "interp in fp": lambda np, x: np.interp(V, XP, x[:, 0], left=-1.0),
    "interp in xp": lambda np, x: np.interp(V, XP + x[:, 0] / 9, FP, right=2.0),
    "interp, period": lambda np, x: np.interp(V, x[:, 0], x[:, 1], period=3.0),
    "bincount": lambda np, x: np.bincount(N, x.ravel()[:7], length=5),
    "histogram": lambda np, x: np.histogram(V, 4, (-2, 2), weights=x.ravel()[:7], density=True)[0],
    "histogram2d": lambda np, x: np.histogram2d(V, W, 3, weights=x.ravel()[:7])[0],
    "unique": lambda np, x: np.unique(x, size=12),
    "union1d": lambda np, x: np.union1d(x, numpy.array([0.5]), size=13),
}


@pytest.mark.parametrize("call", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_values_and_derivatives(call):
    ct = rng.normal(size=numpy.shape(call(by_fxgrad(lambda fx, np: np), X)))

    def program(fx, np):
        def f(x):
            return call(np, x)

        def bent(x):
            return np.sum(np.sin(f(x)))

        return (
            fx.jvp(f, (X,), (X[::-1],)),
            fx.vjp(f, X)[1](ct),
            fx.jit(f)(X),
            fx.vmap(f)(numpy.stack([X, -X, X[::-1]])),
            fx.hvp(bent, (X,), (X[::-1],)),
        )

    same(by_fxgrad(program), jax.jit(lambda: by_jax(program))(), dtypes=False)


VALUES = {
    "sort with ties": lambda fx, np: np.sort(fx.jit(lambda x: x)(T), 0),
    "argsort": lambda fx, np: fx.jit(lambda x: np.argsort(x, 1))(T),
    "argsort, descending": lambda fx, np: fx.jit(lambda x: np.argsort(x, 0, descending=True))(T),
    "lexsort": lambda fx, np: fx.jit(lambda x: np.lexsort((x[:, 0], x[:, 1])))(T),
    "searchsorted": lambda fx, np: fx.jit(lambda a, x: np.searchsorted(a, x, side="right"))(XP, X),
    "rows searched": lambda fx, np: fx.vmap(np.searchsorted)(numpy.sort(X, 1), X[::-1]),
    "digitize": lambda fx, np: fx.jit(np.digitize)(X, XP[::-1]),
    "nanmedian": lambda fx, np: fx.jit(lambda x: np.nanmedian(x, 0))(HOLES),
    "nanquantile": lambda fx, np: fx.jit(lambda x: np.nanquantile(x, 0.3, 1))(HOLES),
    "gradient of nanquantile": lambda fx, np: fx.grad(lambda x: np.nanquantile(x, 0.3))(HOLES),
    "gradient in q": lambda fx, np: fx.grad(lambda q: np.quantile(V, q))(0.37),
    "slopes at points": lambda fx, np: fx.vmap(fx.grad(lambda x: np.interp(x, XP, FP)))(XP),
    "unique": lambda fx, np: fx.jit(lambda x: np.unique(x, True, True, True, size=9))(N),
    "unique rows": lambda fx, np: fx.jit(lambda x: np.unique(x, axis=0, size=5, fill_value=8))(T // 1),
    "intersect1d": lambda fx, np: fx.jit(lambda x: np.intersect1d(x, numpy.array([5, 1, 2]), size=3))(N),
    "setxor1d": lambda fx, np: fx.jit(lambda x: np.setxor1d(x, numpy.array([5, 1, 2]), size=5))(N),
    "isin": lambda fx, np: fx.jit(lambda x: np.isin(x, numpy.array([5, 1, 2]), invert=True))(N),
    "bincount": lambda fx, np: fx.vmap(lambda x: np.bincount(x, length=4))(numpy.stack([N, N[::-1] // 2])),
    "histogram": lambda fx, np: fx.jit(lambda x: np.histogram(x, 4))(X),
}


@pytest.mark.parametrize("program", VALUES.values(), ids=VALUES)
def test_program(program):
    same(by_fxgrad(program), by_jax(program), dtypes=False)


REFUSED = {
    "unique": lambda fx, np: fx.jit(np.unique)(V),
    "unique of a batch": lambda fx, np: fx.vmap(np.unique)(X),
    "bincount": lambda fx, np: fx.jit(np.bincount)(N),
}


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_both_refuse(program):
    both_refuse(program)
