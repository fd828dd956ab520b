"""Gauss–Newton and Fisher products are those of the matrices JᵀHJ and (1/n) Σ ggᵀ."""

import numpy as np
import pytest
import scipy.sparse.linalg

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import nn

INPUTS = np.random.default_rng(0).normal(size=(6, 3))
LABELS = np.array([0, 1, 2, 3, 0, 1])
PARAMS = {"w": np.random.default_rng(1).normal(size=(3, 4)), "b": np.zeros(4)}


def model(params, inputs):
    return fnp.tanh(inputs @ params["w"] + params["b"])


def cross_entropies(logits):
    return -nn.log_softmax(logits)[np.arange(6), LABELS]


def mean_loss(logits):
    return fnp.mean(cross_entropies(logits))


def flat_jacobian(fun):
    blocks = fx.jacobian(fun)(PARAMS)
    shape = fun(PARAMS).shape
    size = int(np.prod(shape))
    return np.concatenate([np.reshape(blocks[k], (size, -1)) for k in sorted(blocks)], axis=1)


def test_gauss_newton():
    operator = fx.ggn_product(model, mean_loss)(PARAMS, INPUTS)
    jacobian = flat_jacobian(lambda p: model(p, INPUTS))
    hessian = fx.hessian(mean_loss)(model(PARAMS, INPUTS)).reshape(24, 24)
    wanted = jacobian.T @ hessian @ jacobian
    assert operator.shape == wanted.shape and operator.dtype == np.float64
    assert np.allclose(operator.todense(), wanted)
    assert np.linalg.eigvalsh(wanted).min() > -1e-12
    v = np.random.default_rng(2).normal(size=16)
    assert np.allclose(operator @ v, wanted @ v) and np.allclose(operator.T @ v, wanted @ v)
    assert np.allclose(operator @ np.stack([v, v], 1), wanted @ np.stack([v, v], 1))
    tree = operator(operator.unravel(v))
    assert tree["w"].shape == (3, 4) and np.allclose(operator.ravel(tree), wanted @ v)
    assert np.allclose(operator.diagonal(), np.diag(wanted)) and np.isclose(
        operator.trace(), np.trace(wanted)
    )
    estimate = operator.trace(key=fx.random.key(0), samples=4000)
    assert np.isclose(estimate, np.trace(wanted), rtol=0.05)


def test_scipy_solves_with_it():
    operator = fx.ggn_product(model, mean_loss, damping=0.1)(PARAMS, INPUTS)
    b = np.ones(16)
    x, status = scipy.sparse.linalg.cg(operator, b, rtol=1e-10)
    assert status == 0 and np.allclose(operator.todense() @ x, b)


def test_fisher():
    def losses(params):
        return cross_entropies(model(params, INPUTS))

    operator = fx.fisher_product(losses)(PARAMS)
    gradients = flat_jacobian(losses)
    assert np.allclose(operator.todense(), gradients.T @ gradients / 6)


def test_squared_errors_of_a_linear_model_have_their_hessian():
    weights = np.ones(3)
    operator = fx.ggn_product(lambda w: INPUTS @ w, lambda y: fnp.sum((y - LABELS) ** 2))(weights)
    assert np.allclose(operator.todense(), fx.hessian(lambda w: fnp.sum((INPUTS @ w - LABELS) ** 2))(weights))


def test_further_transforms():
    vector = {"w": np.ones((3, 4)), "b": np.ones(4)}

    def curvature(params):
        product = fx.ggn_product(model, mean_loss)(params, INPUTS)(vector)
        return sum(fnp.sum(product[k] * vector[k]) for k in vector)

    def reference(params):
        def along(t):
            return model(fx.tree.map(lambda p, v: p + t * v, params, vector), INPUTS)

        out, moved = fx.jvp(along, (0.0,), (1.0,))
        return fnp.sum(moved * fx.hvp(mean_loss, (out,), (moved,)))

    assert np.isclose(fx.jit(curvature)(PARAMS), reference(PARAMS))
    have, want = fx.grad(curvature)(PARAMS), fx.grad(reference)(PARAMS)
    assert np.allclose(have["w"], want["w"]) and np.allclose(have["b"], want["b"])


def test_errors():
    with pytest.raises(TypeError, match="one array with a loss"):
        fx.fisher_product(lambda p: fnp.sum(p))(np.ones(3))
    with pytest.raises(TypeError):
        fx.ggn_product(lambda w: w, lambda y: y)(np.ones(3))
    with pytest.raises(ValueError, match="vector of shape"):
        fx.fisher_product(lambda p: p)(np.ones(3)) @ np.ones(4)
