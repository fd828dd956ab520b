"""Transformations that track moments of the gradients: traces, means, means of squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..core import pytree
from ..core.errors import StructureError
from ..core.interpreter import api_boundary
from ..core.typing import ArrayLike, PyTree, Scalar
from .transformations import GradientTransformation, fit_shape, like, no_steps, zeros_like


def tree_map(function: Any, *trees: PyTree) -> PyTree:
    """Map over leaves; results have the shape and the dtype of the first tree's."""

    def combine(first: Any, *rest: Any) -> Any:
        return like(function(first, *[fit_shape(u, first, "a gradient") for u in rest]), first)

    try:
        return pytree.map(combine, *trees)
    except StructureError as error:
        words = (
            error.args[0].replace("map: tree is", "that is").replace("tree of rest[0] has", "gradients have")
        )
        raise StructureError(
            f"the gradients are not built as the parameters of which the state was made: {words}",
            hint="optimizer.update(gradients, state, params) with the gradients by params, "
            "or optimizer.init(params) for other parameters",
        ) from None


def mean_of(mean: PyTree, updates: PyTree, decay: Any) -> PyTree:
    """Move a mean towards the updates: decay·mean + (1 - decay)·u."""
    return tree_map(lambda m, u: decay * m + (1 - decay) * u, mean, updates)


def square_mean_of(mean: PyTree, updates: PyTree, decay: Any) -> PyTree:
    """Move a mean towards the squared moduli of the updates."""
    return tree_map(lambda m, u: decay * m + (1 - decay) * ops.square(ops.absolute(u)), mean, updates)


class TraceState(NamedTuple):
    """The decaying sum of updates.

    `trace` is built as the parameters are.

    >>> fx.optim.trace(0.9).init(1.0)
    TraceState(trace=array(0.))
    """

    trace: Any


@api_boundary
def trace(decay: ArrayLike, nesterov: bool = False) -> GradientTransformation:
    """Momentum: a decaying sum of updates (Sutskever et al., "On the importance of initialization and momentum in deep
    learning", 2013).

    Args:
        decay: by which the sum is multiplied before an update is added.
        nesterov: give the sum as it will be after one update more of the same kind.

    Raises:
        StructureError: `update` is given gradients that are not built as the parameters are.

    >>> transformation = fx.optim.trace(0.9, nesterov=True)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 5.7 , -0.95])
    """

    def update(
        updates: PyTree, state: TraceState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        new = tree_map(lambda t, u: decay * t + u, state.trace, updates)
        given = tree_map(lambda u, t: u + decay * t, updates, new) if nesterov else new
        return given, TraceState(new)

    return GradientTransformation(lambda params: TraceState(zeros_like(params)), update)


class AdamState(NamedTuple):
    """The number of updates, and the means of updates and of their squares.

    `count` is an int32 array without axes; `mu`, the mean of updates, and `nu`, that of their squares, are built as the
    parameters are.

    >>> fx.optim.scale_by_adam().init(1.0)
    AdamState(count=array(0, dtype=int32), mu=array(0.), nu=array(0.))
    """

    count: Any
    mu: Any
    nu: Any


@api_boundary
def scale_by_adam(
    b1: Scalar = 0.9, b2: ArrayLike = 0.999, eps: ArrayLike = 1e-8, eps_root: ArrayLike = 0.0,
    *, nesterov: bool = False,
) -> GradientTransformation:  # fmt: skip
    """Divide the mean of updates by the root of the mean of their squares, with bias correction of both (Kingma and Ba,
    "Adam: a method for stochastic optimization", 2014).

    Args:
        b1, b2: how much of the means stays.
        eps: added to the root; eps_root: under it, which keeps derivatives of steps finite.
        nesterov: Dozat, "Incorporating Nesterov momentum into Adam" (2016).

    Raises:
        StructureError: `update` is given gradients that are not built as the parameters are.

    >>> transformation = fx.optim.scale_by_adam()
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 1., -1.])
    """

    def init(params: PyTree) -> AdamState:
        return AdamState(no_steps(), zeros_like(params), zeros_like(params))

    def update(
        updates: PyTree, state: AdamState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        count = state.count + np.int32(1)
        mu, nu = mean_of(state.mu, updates, b1), square_mean_of(state.nu, updates, b2)
        first, second = 1 - b1**count, 1 - b2**count
        if nesterov:
            ahead = 1 - b1 ** (count + 1)
            mean = tree_map(lambda m, u: b1 * m / ahead + (1 - b1) * u / first, mu, updates)
        else:
            mean = tree_map(lambda m: m / first, mu)
        given = tree_map(lambda m, v: m / (ops.sqrt(v / second + eps_root) + eps), mean, nu)
        return given, AdamState(count, mu, nu)

    return GradientTransformation(init, update)


class SquareState(NamedTuple):
    """The mean, or the sum, of squares of the updates.

    `nu` is built as the parameters are.

    >>> fx.optim.scale_by_rms().init(1.0)
    SquareState(nu=np.float64(0.0))
    """

    nu: Any


@api_boundary
def scale_by_rms(
    decay: ArrayLike = 0.9, eps: ArrayLike = 1e-8, initial_scale: ArrayLike = 0.0
) -> GradientTransformation:
    """Divide by the root of the mean of squares plus eps (Hinton, lecture 6e of "Neural networks for machine learning",
    2012).

    Args:
        decay: how much of the mean stays.
        eps: added to the mean, under the root.
        initial_scale: the mean at first.

    Raises:
        StructureError: `update` is given gradients that are not built as the parameters are.

    >>> transformation = fx.optim.scale_by_rms()
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 3.1623, -3.1623])
    """

    def init(params: PyTree) -> SquareState:
        return SquareState(tree_map(lambda z: z + initial_scale, zeros_like(params)))

    def update(
        updates: PyTree, state: SquareState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        nu = square_mean_of(state.nu, updates, decay)
        return tree_map(lambda u, v: u / ops.sqrt(v + eps), updates, nu), SquareState(nu)

    return GradientTransformation(init, update)


@api_boundary
def scale_by_rss(initial_accumulator_value: ArrayLike = 0.1, eps: ArrayLike = 1e-7) -> GradientTransformation:
    """Divide by the root of the sum of all squares so far (Duchi, Hazan and Singer, "Adaptive subgradient methods for
    online learning and stochastic optimization", 2011).

    Args:
        initial_accumulator_value: the sum at first.
        eps: added to the sum, under the root.

    Raises:
        StructureError: `update` is given gradients that are not built as the parameters are.

    >>> transformation = fx.optim.scale_by_rss()
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 0.9945, -0.8452])
    """

    def init(params: PyTree) -> SquareState:
        return SquareState(tree_map(lambda z: z + initial_accumulator_value, zeros_like(params)))

    def update(
        updates: PyTree, state: SquareState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        nu = tree_map(lambda s, u: s + ops.square(ops.absolute(u)), state.nu, updates)

        def divide(u: Any, s: Any) -> Any:
            positive = ops.greater(s, 0)
            return u * ops.where(positive, 1 / ops.sqrt(ops.where(positive, s, 1.0) + eps), 0.0)

        return tree_map(divide, updates, nu), SquareState(nu)

    return GradientTransformation(init, update)


class LionState(NamedTuple):
    """The number of updates, and their mean.

    `count` is an int32 array without axes; `mu` is built as the parameters are.

    >>> fx.optim.scale_by_lion().init(1.0)
    LionState(count=array(0, dtype=int32), mu=array(0.))
    """

    count: Any
    mu: Any


@api_boundary
def scale_by_lion(b1: Scalar = 0.9, b2: ArrayLike = 0.99) -> GradientTransformation:
    """The sign of a mean of the updates, in which the last one counts more than in the mean that is kept (Chen et al.,
    "Symbolic discovery of optimization algorithms", 2023).

    Args:
        b1: how much of the kept mean counts in the sign.
        b2: how much of it stays.

    Raises:
        StructureError: `update` is given gradients that are not built as the parameters are.

    >>> transformation = fx.optim.scale_by_lion()
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 1., -1.])
    """

    def update(
        updates: PyTree, state: LionState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        given = tree_map(lambda u, m: ops.sign((1 - b1) * u + b1 * m), updates, state.mu)
        return given, LionState(state.count + np.int32(1), mean_of(state.mu, updates, b2))

    return GradientTransformation(lambda params: LionState(no_steps(), zeros_like(params)), update)


__all__ = [
    "AdamState", "LionState", "SquareState", "TraceState", "scale_by_adam", "scale_by_lion", "scale_by_rms",
    "scale_by_rss", "trace",
]  # fmt: skip
