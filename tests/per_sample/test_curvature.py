"""Diagonals and Kronecker factors, against matrices that are written out."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

from .networks import NETWORKS, cross_entropy, parameters
from .test_statistics import assert_alike, written_out

RNG = np.random.default_rng(0)


def model(p, x):
    return fnp.tanh(x @ p["w"] + p["b"]) @ p["v"]


def problem(n=6):
    return parameters(RNG, w=(3, 4), b=(4,), v=(4, 3)), RNG.normal(size=(n, 3)), RNG.integers(3, size=n)


def test_the_diagonal_of_the_empirical_fisher_matrix():
    loss, params, *batch = NETWORKS["mlp"](np.random.default_rng(0), 5)
    expected = fx.tree.map(lambda v: (v**2).mean(0), written_out(loss, params, *batch))
    assert_alike(fx.per_sample.fisher_diagonal(loss)(params, *batch), expected)


@pytest.mark.parametrize("jitted", [False, True])
def test_the_diagonal_of_the_gauss_newton_matrix(jitted):
    params, xs, ys = problem()
    flat, restore = fx.tree.ravel_pytree(params)
    matrix = 0.0
    for x, y in zip(xs, ys):
        jacobian = fx.jacobian(lambda w, x=x: model(restore(w), x))(flat)
        matrix += (
            jacobian.T @ fx.hessian(lambda z, y=y: cross_entropy(z, y))(model(params, x)) @ jacobian / len(xs)
        )
    diagonal = fx.per_sample.ggn_diagonal(model, cross_entropy)
    found = (fx.jit(diagonal) if jitted else diagonal)(params, xs, ys)
    assert_alike(found, restore(np.diag(matrix)))
    turned = fx.per_sample.ggn_diagonal(model, cross_entropy, (None, 1, 0))
    assert_alike(turned(params, xs.T, ys), found)


def test_kronecker_factors_of_one_example_are_exact():
    """With one example and one position the block of the Fisher matrix is the product."""
    params, xs, ys = problem(1)

    def loss(p, x, y):
        return cross_entropy(model(p, x), y)

    factors, gradient = fx.per_sample.kfac(loss)(params, xs, ys), fx.grad(loss)(params, xs[0], ys[0])
    for name, g in gradient.items():
        assert_alike(np.kron(*factors[name]), np.outer(g.ravel(), g.ravel()))


def test_kronecker_factors_are_means():
    params, xs, ys = problem()
    hidden = np.tanh(xs @ params["w"] + params["b"])
    deltas = np.asarray(fx.vmap(fx.grad(cross_entropy))(hidden @ params["v"], ys))

    def loss(p, x, y):
        return cross_entropy(model(p, x), y)

    found = fx.per_sample.kfac(loss)(params, xs, ys)["v"]
    assert_alike(
        found, fx.per_sample.curvature.KroneckerFactors(hidden.T @ hidden / 6, deltas.T @ deltas / 6)
    )


def test_kronecker_factors_of_convolutions_and_tables():
    def loss(p, tokens):
        h = p["table"][tokens]
        kernels = fx.lax.conv_general_dilated(h.T[None], p["k"], (1,), "VALID")
        return fnp.sum(fnp.sin(kernels))

    params, tokens = parameters(RNG, table=(5, 3), k=(2, 3, 2)), RNG.integers(5, size=(4, 3))
    factors = fx.per_sample.kfac(loss)(params, tokens)
    assert_alike(factors["table"].inputs, np.bincount(tokens.ravel(), minlength=5) / tokens.size)
    assert factors["table"].outputs.shape == (3, 3)
    windows = np.stack(
        [params["table"][tokens[:, i : i + 2]] for i in (0, 1)], 1
    )  # example, place, tap, channel
    rows = windows.transpose(0, 1, 3, 2).reshape(-1, 6)
    assert_alike(factors["k"].inputs, rows.T @ rows / 8)
    deltas = np.cos(np.einsum("nptc,fct->npf", windows, params["k"])).reshape(-1, 2)
    assert_alike(factors["k"].outputs, deltas.T @ deltas / 4)


def test_what_has_no_factors_is_named():
    with pytest.raises(fx.UnsupportedError, match=r"\['w'\] of shape \(2, 2\)"):
        fx.per_sample.kfac(lambda p, x: fnp.sum(x @ p["w"] ** 2))({"w": np.ones((2, 2))}, np.ones((3, 2)))
    with pytest.raises(fx.StructureError, match="two functions"):
        fx.per_sample.ggn_diagonal(model, 1.0)
    with pytest.raises(fx.StructureError, match="returns an array"):
        fx.per_sample.ggn_diagonal(lambda p, x: (x, x), cross_entropy)(
            np.ones(2), np.ones((3, 2)), np.ones(3, int)
        )
