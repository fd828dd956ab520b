"""`autograd.misc`: flattening, and optimizers that are whole loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...flatten_util import ravel_pytree

__all__ = ["adam", "flatten", "flatten_func", "rmsprop", "sgd", "unflatten_optimizer"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the entries of arrays in containers as one vector, and the function that undoes this."""
    return ravel_pytree(value)


def flatten_func(func: Callable[..., Any], example: Any) -> Any:
    """Return a function of containers as one of vectors, the function that undoes flattening, and the flat example."""
    flat, unflatten = flatten(example)

    def flat_func(vector: Any, *args: Any) -> Any:
        return flatten(func(unflatten(vector), *args))[0]

    return flat_func, unflatten, flat


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer of vectors as one of arrays in containers."""

    @functools.wraps(optimize)
    def optimize_containers(grad: Any, x0: Any, callback: Any = None, *args: Any, **kwargs: Any) -> Any:
        flat, unflatten = flatten(x0)

        def flat_grad(x: Any, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        def flat_callback(x: Any, i: int, g: Any) -> None:
            callback(unflatten(x), i, unflatten(g))

        return unflatten(optimize(flat_grad, flat, callback and flat_callback, *args, **kwargs))

    return optimize_containers


def call_back(callback: Any, x: Any, i: int, g: Any) -> None:
    """Tell the program of a step, if it wants to know."""
    if callback:
        callback(x, i, g)


@unflatten_optimizer
def sgd(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Descend along gradients with momentum: `grad(x, i)` gives that of step i."""
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        call_back(callback, x, i, g)
        velocity = mass * velocity - (1 - mass) * g
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.1, gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Descend along gradients over the root of their mean square."""
    square = np.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        call_back(callback, x, i, g)
        square = square * gamma + g**2 * (1 - gamma)
        x = x - step_size * g / (np.sqrt(square) + eps)
    return x


@unflatten_optimizer
def adam(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.001, b1: float = 0.9,
    b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam (Kingma and Ba, 2015)."""
    m, v = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        call_back(callback, x, i, g)
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * g**2 + b2 * v
        x = x - step_size * (m / (1 - b1 ** (i + 1))) / (np.sqrt(v / (1 - b2 ** (i + 1))) + eps)
    return x
