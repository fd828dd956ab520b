"""Logistic regression with 50 parameters on 1000 rows: its gradient and its Hessian."""

from typing import Any

import numpy as np

from ..libraries import functional, tape
from ..line import Contenders, Run, line


def _data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(50) / 7, rng.standard_normal((1000, 50)), np.sign(rng.standard_normal(1000))


def _loss(np: Any, w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.01 * np.sum(w * w)


def _loss_of(lib: Any) -> Any:
    if not hasattr(lib, "torch"):
        return lambda w, x, y: _loss(lib.np, w, x, y)
    return lambda w, x, y: _loss_in_torch(lib.torch, w, x, y)


def _loss_in_torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
    return torch.mean(torch.nn.functional.softplus(-y * (x @ w))) + 0.01 * torch.sum(w * w)


@line(tolerance=1e-9)
def logistic_gradient(quick: bool) -> Contenders:
    """eager gradient of a logistic regression, 1000 rows of 50"""
    w, x, y = _data()

    def on_tape(torch: Any, w: Any, x: Any, y: Any) -> Run:
        w.requires_grad_()

        def run() -> Any:
            w.grad = None
            _loss_in_torch(torch, w, x, y).backward()
            return w.grad

        return run

    def by_hand() -> np.ndarray:
        return x.T @ (-y / (1 + np.exp(y * (x @ w)))) / len(y) + 0.02 * w

    by = "fxgrad torch.func jax autograd"
    return {
        **functional(lambda lib: lib.grad(_loss_of(lib)), w, x, y, by=by),
        **tape(on_tape, w, x, y),
        "numpy": lambda: by_hand,
    }


@line(tolerance=1e-9)
def logistic_hessian(quick: bool) -> Contenders:
    """eager Hessian of a logistic regression with 50 parameters"""
    return functional(
        lambda lib: lib.hessian(_loss_of(lib)),
        *_data(),
        by="fxgrad fxgrad.compat.func torch.func jax autograd",
    )


@line(tolerance=1e-9)
def logistic_hessian_jit(quick: bool) -> Contenders:
    """jitted Hessian of a logistic regression with 50 parameters"""
    return functional(lambda lib: lib.hessian(_loss_of(lib)), *_data(), by="fxgrad:jit jax:jit torch.compile")
