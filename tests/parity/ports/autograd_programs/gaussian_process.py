"""A Gaussian process: its marginal likelihood, minimized by SciPy, and predictions."""

import autograd.numpy as np
from autograd import value_and_grad
from autograd.numpy.linalg import solve
from autograd.numpy.random import RandomState
from autograd.scipy.stats import multivariate_normal as mvn
from scipy.optimize import minimize


def rbf(params, x, xp):
    scale, lengths = np.exp(params[0]), np.exp(params[1:])
    diffs = np.expand_dims(x / lengths, 1) - np.expand_dims(xp / lengths, 0)
    return scale * np.exp(-0.5 * np.sum(diffs**2, axis=2))


def unpack(params):
    return params[0], params[2:], np.exp(params[1]) + 1e-4


def predict(params, x, y, xs):
    mean, cov, noise = unpack(params)
    cross = rbf(cov, x, xs)
    weights = solve(rbf(cov, x, x) + noise * np.eye(len(y)), cross)
    return np.dot(weights.T, y - mean) + mean, rbf(cov, xs, xs) - np.dot(weights.T, cross)


def main():
    rs = RandomState(0)
    x = np.sort(rs.randn(12, 1), 0)
    y = np.sin(3 * x[:, 0]) + 0.05 * rs.randn(12)

    def objective(params):
        mean, cov, noise = unpack(params)
        return -mvn.logpdf(y, mean * np.ones(len(y)), rbf(cov, x, x) + noise * np.eye(len(y)))

    start = 0.1 * rs.randn(4)
    found = minimize(value_and_grad(objective), start, jac=True, method="CG", options={"maxiter": 3})
    return {
        "start": value_and_grad(objective)(start),
        "found": (found.fun, found.x),
        "predicted": predict(found.x, x, y, np.reshape(np.linspace(-1, 1, 4), (4, 1))),
    }
