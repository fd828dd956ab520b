"""Jacobians of a network in both modes, and a Hessian times a vector of a million parameters."""

from typing import Any

import numpy as np

from ..libraries import functional
from ..line import Contenders, line
from .networks import cross_entropy, network

EAGER, JITTED = "fxgrad fxgrad.compat.func torch.func jax", "fxgrad:jit jax:jit torch.compile"


def _jacobian(transform: str, by: str) -> Contenders:
    rng = np.random.default_rng(0)
    layers = [rng.standard_normal((100, 100)) / 10 for _ in range(2)]

    def program(lib: Any) -> Any:
        tanh = lib.np.tanh
        return getattr(lib, transform)(lambda x, layers: tanh(tanh(x @ layers[0]) @ layers[1]))

    return functional(program, rng.standard_normal(100), layers, by=by)


@line(tolerance=1e-9)
def jacobian_forward(quick: bool) -> Contenders:
    """eager Jacobian of an MLP 100→100, forward mode"""
    return _jacobian("jacfwd", by=EAGER)


@line(tolerance=1e-9)
def jacobian_forward_jit(quick: bool) -> Contenders:
    """jitted Jacobian of an MLP 100→100, forward mode"""
    return _jacobian("jacfwd", by=JITTED)


@line(tolerance=1e-9)
def jacobian_reverse(quick: bool) -> Contenders:
    """eager Jacobian of an MLP 100→100, reverse mode"""
    return _jacobian("jacrev", by=EAGER + " autograd")


@line(tolerance=1e-9)
def jacobian_reverse_jit(quick: bool) -> Contenders:
    """jitted Jacobian of an MLP 100→100, reverse mode"""
    return _jacobian("jacrev", by=JITTED)


def _loss_of(lib: Any, x: Any, targets: Any) -> Any:
    if hasattr(lib, "torch"):
        torch, x, targets = lib.torch, lib.array(x), lib.array(targets)

        def loss(layers: Any) -> Any:
            h = x
            for w, b in layers[:-1]:
                h = torch.relu(h @ w + b)
            z = h @ layers[-1][0] + layers[-1][1]
            return torch.mean(torch.logsumexp(z, -1) - torch.sum(z * targets, -1))

        return loss
    x, targets = lib.array(x), lib.array(targets)
    return lambda layers: cross_entropy(lib.np, layers, x, targets)


def _hvp(quick: bool, by: str) -> Contenders:
    layers, x, _, targets = network(*((8, 64, 32, 10) if quick else (128, 784, 1000, 200, 10)))
    vectors = [
        tuple(np.cos(np.arange(p.size, dtype="float32")).reshape(p.shape) for p in layer) for layer in layers
    ]

    def program(lib: Any) -> Any:
        gradient = lib.grad(_loss_of(lib, x, targets))
        return lambda layers, vectors: lib.jvp(gradient, (layers,), (vectors,))[1]

    return functional(program, layers, vectors, by=by)


@line(tolerance=1e-4)
def hvp(quick: bool) -> Contenders:
    """eager Hessian times vector, 1M parameters, batch 128"""
    return _hvp(quick, by=EAGER)


@line(tolerance=1e-4)
def hvp_jit(quick: bool) -> Contenders:
    """jitted Hessian times vector, 1M parameters, batch 128"""
    return _hvp(quick, by=JITTED)
