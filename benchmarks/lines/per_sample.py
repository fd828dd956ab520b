"""A gradient for every sample: vmap(grad) of a network, and of a small convolutional one."""

from typing import Any

import numpy as np

from ..libraries import functional
from ..line import Contenders, line
from .networks import cross_entropy, network


def _loss_of(lib: Any) -> Any:
    if hasattr(lib, "torch"):
        torch = lib.torch

        def loss(layers: Any, x: Any, target: Any) -> Any:
            (w, b), (w2, b2) = layers
            z = torch.relu(x @ w + b) @ w2 + b2
            return torch.logsumexp(z, -1) - torch.sum(z * target, -1)

        return loss
    return lambda layers, x, target: cross_entropy(lib.np, layers, x, target)


def _per_sample(quick: bool, by: str) -> Contenders:
    layers, x, _, targets = network(*((8, 64, 16, 10) if quick else (256, 784, 128, 10)))
    return functional(lambda lib: lib.vmap(lib.grad(_loss_of(lib)), (None, 0, 0)), layers, x, targets, by=by)


@line(tolerance=1e-5)
def per_sample_mlp(quick: bool) -> Contenders:
    """eager gradients per sample of an MLP 784-128-10, batch 256"""
    return _per_sample(quick, by="fxgrad fxgrad.compat.func torch.func jax")


@line(tolerance=1e-5)
def per_sample_mlp_jit(quick: bool) -> Contenders:
    """jitted gradients per sample of an MLP 784-128-10, batch 256"""
    return _per_sample(quick, by="fxgrad:jit jax:jit torch.compile")


def _convolutional(lib: Any) -> Any:
    """3×3 to 16 channels, 3×3 to 32, relu after each, 2×2 pooling, linear."""
    if hasattr(lib, "torch"):
        torch, F = lib.torch, lib.torch.nn.functional

        def loss(parameters: Any, x: Any, target: Any) -> Any:
            k1, b1, k2, b2, w, b = parameters
            h = torch.relu(F.conv2d(x[None], k1, b1))
            h = F.max_pool2d(torch.relu(F.conv2d(h, k2, b2)), 2)
            z = h.reshape(-1) @ w + b
            return torch.logsumexp(z, -1) - torch.sum(z * target, -1)

        return loss

    np, lax = lib.np, lib.lax

    def loss(parameters: Any, x: Any, target: Any) -> Any:
        k1, b1, k2, b2, w, b = parameters
        h = np.maximum(lax.conv_general_dilated(x[None], k1, (1, 1), "VALID") + b1[:, None, None], 0.0)
        h = np.maximum(lax.conv_general_dilated(h, k2, (1, 1), "VALID") + b2[:, None, None], 0.0)
        h = lax.reduce_window(h, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        z = h.reshape(-1) @ w + b
        z = z - np.max(z)
        return np.log(np.sum(np.exp(z))) - np.sum(z * target)

    return loss


def _cnn(quick: bool, by: str) -> Contenders:
    rng, (batch, side) = np.random.default_rng(0), (2, 8) if quick else (64, 28)
    inner = 32 * ((side - 4) // 2) ** 2
    shapes = ((16, 1, 3, 3), (16,), (32, 16, 3, 3), (32,), (inner, 10), (10,))
    parameters = tuple((0.1 * rng.standard_normal(shape)).astype("float32") for shape in shapes)
    x = rng.standard_normal((batch, 1, side, side)).astype("float32")
    targets = np.eye(10, dtype="float32")[rng.integers(0, 10, batch)]
    program = lambda lib: lib.vmap(lib.grad(_convolutional(lib)), (None, 0, 0))  # noqa: E731
    return functional(program, parameters, x, targets, by=by)


@line(tolerance=1e-4)
def per_sample_cnn(quick: bool) -> Contenders:
    """eager gradients per sample of a CNN on 28×28, batch 64"""
    return _cnn(quick, by="fxgrad fxgrad.compat.func torch.func jax")


@line(tolerance=1e-4)
def per_sample_cnn_jit(quick: bool) -> Contenders:
    """jitted gradients per sample of a CNN on 28×28, batch 64"""
    return _cnn(quick, by="fxgrad:jit fxgrad.compat.func:jit jax:jit torch.compile")
