"""Diagonals, traces and curvature products: as the matrices that are not formed have them."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

X = np.random.default_rng(0).uniform(0.3, 0.8, 5)
WEIGHTS = np.random.default_rng(1).normal(size=(8, 5))
HEAD = np.random.default_rng(2).normal(size=(3, 8))


def spd(x):
    return fnp.diag(x) + fnp.outer(x, x)


FUNCTIONS = {
    "network": lambda x: HEAD @ fnp.tanh(WEIGHTS @ x), "power": lambda x: fnp.sum(x**2) ** 2,
    "divide": lambda x: x / (1 + x[::-1]) * x[:, None], "norm": lambda x: fnp.linalg.norm(x) ** 3,
    "two operands": lambda x: fnp.arctan2(x, x[:1]) * x ** x[0],
    "maximum": lambda x: fnp.max(x) ** 2 * fnp.maximum(x, 0.5),
    "scan": lambda x: lax.scan(lambda c, r: (fnp.sin(c * r), c + r), x[0], x), "inv": lambda x: fnp.linalg.inv(spd(x)),
    "linear": lambda x: 2 * x[::-1], "slogdet": lambda x: fnp.linalg.slogdet(spd(x))[1],
    "where": lambda x: fnp.where(x > 0.5, x**3, fnp.exp(x)), "product": lambda x: spd(x) @ spd(x),
    "map": fx.vmap(lambda a: a * fnp.exp(a)), "constant": lambda x: 3.0, "grad": fx.grad(lambda x: fnp.prod(x)),
    "jit": fx.jit(lambda x: fnp.sin(x) * x), "pieces": lambda x: {"a": x[0] ** 2, "b": fnp.argmax(x)},
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_laplacian(name):
    fun = FUNCTIONS[name]
    hessian = fx.jacfwd(fx.jacfwd(fun)) if name != "pieces" else fx.jacfwd(fx.jacfwd(lambda x: x[0] ** 2))
    wanted = [np.trace(h, axis1=-2, axis2=-1) for h in fx.tree.leaves(hessian(X))]
    for transform in (fx.laplacian(fun), fx.laplacian(fun, chunk_size=2), fx.jit(fx.laplacian(fun))):
        for have, want in zip(fx.tree.leaves(transform(X)), wanted):
            assert np.allclose(have, want)


def test_laplacian_under_further_transforms():
    def wave(x):
        return fnp.sum(fnp.sin(WEIGHTS @ x) * (WEIGHTS @ x))

    def reference(x):
        return fnp.trace(fx.hessian(wave)(x))

    assert np.allclose(fx.grad(fx.laplacian(wave))(X), fx.grad(reference)(X))
    rows = np.stack([X, X[::-1]])
    assert np.allclose(fx.vmap(fx.laplacian(wave))(rows), fx.vmap(reference)(rows))
    twice = fx.laplacian(fx.laplacian(lambda x: fnp.sum(x**4) + x[0] ** 2 * x[1] ** 2))(X)
    assert np.allclose(twice, 24 * 5 + 8)
    scaled = fx.grad(lambda a: fx.laplacian(lambda x: fnp.sum((a * x) ** 2))(X))(3.0)
    assert np.allclose(scaled, 60)
    assert fx.laplacian(wave)(X.astype(np.float32)).dtype == np.float64
    assert fx.laplacian(fnp.exp)(np.float32(1)).dtype == np.float32


def field(x):
    return x**2 * x[0] + fnp.sin(x[::-1])


def energy(x):
    return fnp.sum(fnp.sin(x[1:]) * x[:-1] ** 2)


def test_exact_diagonals_and_traces():
    jacobian, hessian = fx.jacobian(field)(X), fx.hessian(energy)(X)
    for options in ({}, {"chunk_size": 2}, {"sparsity": "auto"}):
        assert np.allclose(fx.jacobian_diagonal(field, **options)(X), np.diag(jacobian))
        assert np.allclose(fx.jit(fx.jacobian_diagonal(field, **options))(X), np.diag(jacobian))
        assert np.allclose(fx.hessian_diagonal(energy, **options)(X), np.diag(hessian))
    assert np.allclose(fx.divergence(field)(X), np.trace(jacobian))
    assert np.allclose(fx.divergence(lambda t, x: t * field(x), argnums=1)(2.0, X), 2 * np.trace(jacobian))
    rate = fx.grad(fx.divergence(field))(X)
    assert np.allclose(rate, fx.grad(lambda x: fnp.trace(fx.jacobian(field)(x)))(X))


def test_trees():
    tree = {"a": X[:2], "b": 2.0}

    def fun(tree):
        return {"a": tree["a"] ** 2 * tree["b"], "b": tree["b"] ** 3 + tree["a"][0]}

    for options in ({}, {"sparsity": "auto"}):
        found = fx.jacobian_diagonal(fun, **options)(tree)
        assert np.allclose(found["a"], 4 * X[:2]) and np.allclose(found["b"], 12)
    assert np.allclose(fx.divergence(fun)(tree), 4 * X[:2].sum() + 12)
    assert np.allclose(fx.laplacian(lambda t: fun(t)["b"])(tree), 12)


def test_estimates():
    key = fx.random.key(0)
    options = {"key": key, "samples": 4000}
    assert np.allclose(fx.jacobian_diagonal(field, **options)(X), np.diag(fx.jacobian(field)(X)), atol=0.1)
    assert np.allclose(fx.divergence(field, **options)(X), np.trace(fx.jacobian(field)(X)), atol=0.1)
    trace = np.trace(fx.hessian(energy)(X))
    assert np.allclose(fx.laplacian(energy, **options)(X), trace, atol=0.3)
    # of a diagonal matrix every sample is exact
    assert np.allclose(fx.laplacian(lambda x: fnp.sum(x**3), key=key)(X), 6 * X.sum())
    jitted = fx.jit(lambda key, x: fx.divergence(field, key=key, samples=3)(x))(key, X)
    assert np.allclose(jitted, fx.divergence(field, key=key, samples=3)(X))


def test_errors():
    with pytest.raises(ValueError, match="expected that of the argument"):
        fx.divergence(lambda x: x[:2])(X)
    with pytest.raises(TypeError, match="structure"):
        fx.jacobian_diagonal(lambda x: (x, x))(X)
    with pytest.raises(TypeError, match="real floating"):
        fx.laplacian(fnp.sum)(np.arange(3))
    with pytest.raises(TypeError, match="key"):
        fx.laplacian(fnp.sum, key=3)(X)
    with pytest.raises(TypeError, match="argnums"):
        fx.divergence(field, argnums=1)(X)
