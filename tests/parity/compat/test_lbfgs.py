"""Quasi-Newton steps and what they are made of give torch's numbers."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_optim import leaves, loss_of

SEARCHES = [
    {"lr": 0.5, "max_iter": 2},  # further ones amplify rounding errors where the curvature is negative
    {"line_search_fn": "strong_wolfe"},
    {"lr": 0.1, "max_iter": 4, "history_size": 2, "line_search_fn": "strong_wolfe"},
    {"lr": 3.0, "max_iter": 5, "max_eval": 6, "line_search_fn": "strong_wolfe"},
    {"lr": 1.0, "tolerance_grad": 0.5},
    {"lr": 0.05, "tolerance_change": 1e-2},
]


@pytest.mark.parametrize("options", SEARCHES, ids=range(len(SEARCHES)))
@pytest.mark.parametrize("curve", ["rosenbrock", "flat", "waves", "complex"])
def test_quasi_newton_steps(curve, options):
    def run(T):
        x = T.tensor([-1.2, 1.0, 0.5], dtype=T.float64)
        p = (T.complex(x, x.flip(0)) if curve == "complex" else x).requires_grad_()
        optimizer = T.optim.LBFGS([p], **options)

        def closure():
            optimizer.zero_grad()
            loss = {
                "rosenbrock": lambda: ((1 - p[:-1]) ** 2 + 100 * (p[1:] - p[:-1] ** 2) ** 2).sum(),
                "flat": lambda: (p - 2).abs().pow(1.5).sum(),
                "waves": lambda: (T.sin(3 * p) + 0.1 * p**2).sum(),
                "complex": lambda: (p * p - (1 + 2j)).abs().pow(2).sum(),
            }[curve]()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(2)]
        state = optimizer.state_dict()["state"][0]
        return losses, p.tolist(), [state["func_evals"], state["n_iter"]]

    ours, theirs = run(fxt), run(torch)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
    assert ours[2] == theirs[2]


@pytest.mark.parametrize("T", [fxt, torch], ids=["ours", "torch"])
def test_misuse_of_quasi_newton_steps(T):
    ps = leaves(T)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        T.optim.LBFGS([{"params": ps[:1]}, {"params": ps[1:]}])
    optimizer = T.optim.LBFGS(ps, line_search_fn="bisection")

    def closure():
        loss = loss_of(ps)
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


def test_parts_of_the_quasi_newton_method():
    def run(T):
        module = import_module(f"{T.__name__}.optim.lbfgs")
        places = [module._cubic_interpolate(0.0, 1.0, T.tensor(-1.0), 2.0, 3.0, T.tensor(2.0)),
                  module._cubic_interpolate(0.0, 1.0, T.tensor(-1.0), 2.0, 3.0, T.tensor(2.0), bounds=(1.0, 1.5)),
                  module._cubic_interpolate(2.0, 1.0, T.tensor(1.0), 0.0, 0.0, T.tensor(1.0))]  # fmt: skip
        x, d = T.tensor([3.0, 1.0], dtype=T.float64), T.tensor([-1.0, -0.5], dtype=T.float64)

        def look(x, t, d):
            y = x + t * d
            return float((y**4).sum()), 4 * y**3

        f, g = look(x, 0.0, d)
        loss, gradient, t, calls = module._strong_wolfe(look, x, 1.0, d, f, g, g.dot(d))
        return [float(place) for place in places], loss, gradient.tolist(), t, calls

    ours, theirs = run(fxt), run(torch)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-6)
