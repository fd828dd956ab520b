"""Reductions along any axes: pooling by reshape, as in einops' patterns, and the statistics of layers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import functional
from ..line import Contenders, line

TOLERANCE = 1e-5  # of means in float32
JITTED = "fxgrad:jit jax:jit"


def _images(quick: bool, *shape: int) -> np.ndarray:
    first, *rest = shape
    return np.random.default_rng(0).standard_normal((2 if quick else first, *rest)).astype("float32")


def _reduce(program: Callable[[Any, Any], Any], x: np.ndarray) -> Contenders:
    return {
        **functional(lambda lib: lambda v: program(lib.np, v), x, by=JITTED),
        "numpy": lambda: lambda: program(np, x),
    }


def _cut(x: np.ndarray | Any, size: int) -> tuple[int, ...]:
    """The shape of images whose last two axes are cut into windows."""
    *lead, height, width = x.shape
    return (*lead, height // size, size, width // size, size)


@line(tolerance=TOLERANCE)
def mean_pool(quick: bool) -> Contenders:
    """means of 2×2 windows by reshape, 32×16×24×24"""
    x = _images(quick, 32, 16, 24, 24)
    return _reduce(lambda np, x: np.mean(np.reshape(x, _cut(x, 2)), (3, 5)), x)


@line(tolerance=TOLERANCE)
def max_pool_last(quick: bool) -> Contenders:
    """maxima of 2×2 windows by reshape, channels last, 32×24×24×16"""
    x = _images(quick, 32, 24, 24, 16)
    return _reduce(lambda np, x: np.max(np.reshape(x, (x.shape[0], 12, 2, 12, 2, 16)), (2, 4)), x)


@line(tolerance=TOLERANCE)
def relu_pool(quick: bool) -> Contenders:
    """gradient of the squares of means of 4×4 windows after a relu, 16×16×64×64"""
    x = _images(quick, 16, 16, 64, 64)

    def loss(np: Any, x: Any) -> Any:
        return np.sum(np.mean(np.reshape(np.maximum(x, 0), _cut(x, 4)), (3, 5)) ** 2)

    return functional(lambda lib: lib.grad(lambda v: loss(lib.np, v)), x, by=JITTED)


@line(tolerance=TOLERANCE)
def batch_statistics(quick: bool) -> Contenders:
    """mean and variance over (0, 2, 3) of 32×64×28×28"""
    x = _images(quick, 32, 64, 28, 28)
    return _reduce(lambda np, x: np.mean(x, (0, 2, 3)) + np.var(x, (0, 2, 3)), x)


@line(tolerance=TOLERANCE)
def max_middle(quick: bool) -> Contenders:
    """maxima over axis 1 of 1000×128×8"""
    return _reduce(lambda np, x: np.max(x, 1), _images(quick, 1000, 128, 8))


@line(tolerance=TOLERANCE)
def variance_first(quick: bool) -> Contenders:
    """variance over the first axis of 10 000×64"""
    return _reduce(lambda np, x: np.var(x, 0), _images(quick, 10_000, 64))
