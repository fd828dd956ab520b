"""The marginal likelihood of a Gaussian process on 300 points, and its gradient in three hyperparameters."""

from typing import Any

import numpy as np

from ..libraries import functional, tape
from ..line import Contenders, Run, line


def data(quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithms of (scale, amplitude, noise), squared distances, observations."""
    rng, size = np.random.default_rng(0), 20 if quick else 300
    x = np.sort(rng.uniform(0, 10, size))
    return np.array([0.1, 0.2, -1.0]), (x[:, None] - x) ** 2, np.sin(x) + 0.3 * rng.standard_normal(size)


def likelihood_of(lib: Any) -> Any:
    """The negative logarithm of the marginal likelihood, as a function of the hyperparameters and the data."""
    np = lib.np

    def solve(factor: Any, y: Any) -> Any:
        if hasattr(lib, "solve_triangular"):
            return lib.solve_triangular(factor, y, lower=True)
        return np.linalg.solve(factor, y)

    def likelihood(theta: Any, distances: Any, y: Any) -> Any:
        scale, amplitude, noise = (np.exp(theta[i]) for i in range(3))
        covariance = amplitude * np.exp(-0.5 * distances / scale**2) + noise * np.eye(len(y))
        factor = np.linalg.cholesky(covariance)
        white = solve(factor, y)
        return 0.5 * np.sum(white**2) + np.sum(np.log(np.diag(factor)))

    return likelihood


def marginal_likelihood(lib: Any) -> Any:
    return lib.value_and_grad(likelihood_of(lib))


@line(tolerance=1e-7)
def gaussian_process(quick: bool) -> Contenders:
    """eager value and gradient of a GP marginal likelihood, n = 300"""
    given = data(quick)

    def on_tape(torch: Any, theta: Any, distances: Any, y: Any) -> Run:
        theta.requires_grad_()
        identity = torch.eye(len(y), dtype=torch.float64)

        def run() -> Any:
            theta.grad = None
            scale, amplitude, noise = torch.exp(theta)
            covariance = amplitude * torch.exp(-0.5 * distances / scale**2) + noise * identity
            factor = torch.linalg.cholesky(covariance)
            white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
            loss = 0.5 * torch.sum(white**2) + torch.sum(torch.log(torch.diagonal(factor)))
            loss.backward()
            return loss, theta.grad

        return run

    return {**functional(marginal_likelihood, *given, by="fxgrad jax autograd"), **tape(on_tape, *given)}


@line(tolerance=1e-7)
def gaussian_process_jit(quick: bool) -> Contenders:
    """jitted value and gradient of a GP marginal likelihood, n = 300"""
    return functional(marginal_likelihood, *data(quick), by="fxgrad:jit jax:jit")
