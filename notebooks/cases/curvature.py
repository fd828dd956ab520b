"""Curvature of trained networks: a Laplace approximation, and influence functions."""

import numpy as np
import scipy.optimize

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.demo.data import load_digits

# -- regression with a gap in its data, as in Foong et al. (2019)
NOISE, PRIOR = 0.1, 1.0  # the standard deviation of the data, the precision of the parameters


def gap_data(count=50):
    """Points in two clusters, and nothing between them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-4, -2, count // 2), rng.uniform(2, 4, count // 2)])
    return x, np.sin(1.2 * x) + NOISE * rng.normal(size=count)


def curve(params, x):
    """A network of a hidden layer, from numbers to numbers."""
    hidden = fnp.tanh(x[:, None] * params["in"] + params["shift"])
    return hidden @ params["out"] + params["bias"]


def start(width=50):
    rng = np.random.default_rng(1)
    return {
        "in": rng.normal(size=width),
        "shift": rng.normal(size=width),
        "out": rng.normal(size=width) / np.sqrt(width),
        "bias": 0.0 * rng.normal(size=1),
    }


def negative_log_posterior(params, x, y):
    squares = sum(fnp.sum(p**2) for p in fx.tree.leaves(params))
    return fnp.sum((curve(params, x) - y) ** 2) / (2 * NOISE**2) + PRIOR * squares / 2


def fit(loss, params, steps=2000):
    """A minimum of a function of a pytree, by L-BFGS."""
    flat, unravel = fx.tree.ravel_pytree(params)
    step = fx.jit(fx.value_and_grad(lambda w: loss(unravel(w))))
    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-14, "gtol": 1e-7}
    return unravel(scipy.optimize.minimize(step, flat, jac=True, method="L-BFGS-B", options=options).x)


def posterior_precision(params, x):
    """The generalised Gauss–Newton matrix of the likelihood, and the prior's precision."""
    likelihood = lambda y: fnp.sum(y**2) / (2 * NOISE**2)  # noqa: E731  (its curvature is all that is used)
    matrix = fx.ggn_product(lambda p: curve(p, x), likelihood)(params).todense()
    return matrix + PRIOR * np.eye(len(matrix))


def linearised_deviation(params, covariance, x):
    """The standard deviation of the curve, linearised in its parameters, under a Gaussian of them."""
    flat, unravel = fx.tree.ravel_pytree(params)
    jacobian = fx.jacobian(lambda w: curve(unravel(w), x))(flat)
    return np.sqrt(np.einsum("ni,ij,nj->n", jacobian, covariance, jacobian))


# -- a classifier of digits
DECAY = 1e-2


def digits():
    """Images and labels to train on, and others."""
    images, labels = load_digits()
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:500], order[500:]
    return images[train], labels[train], images[test], labels[test]


def scores(params, image):
    return fnp.tanh(image @ params["in"] + params["shift"]) @ params["out"] + params["bias"]


def initial_classifier(width=8):
    rng = np.random.default_rng(0)
    return {
        "in": rng.normal(size=(64, width)) / 8,
        "shift": np.zeros(width),
        "out": rng.normal(size=(width, 10)) / np.sqrt(width),
        "bias": np.zeros(10),
    }


def loss(params, image, label):
    """The cross entropy of one image."""
    return -fx.nn.log_softmax(scores(params, image))[label]


def objective(params, images, labels, weights):
    """The weighted mean of losses, and the decay of the parameters."""
    losses = fx.vmap(loss, in_axes=(None, 0, 0))(params, images, labels)
    squares = sum(fnp.sum(p**2) for p in fx.tree.leaves(params))
    return weights @ losses / len(labels) + DECAY * squares / 2
