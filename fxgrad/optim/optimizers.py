"""Optimizers: chains of transformations under their common names.

A learning rate is a number, or a schedule: a function of the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.interpreter import api_boundary
from ..core.typing import ArrayLike, PyTree, Scalar
from .moments import scale_by_adam, scale_by_lion, scale_by_rms, scale_by_rss, trace
from .transformations import (
    GradientTransformation,
    ScalarOrSchedule,
    add_decayed_weights,
    chain,
    identity,
    scale_by_learning_rate,
)

Mask = PyTree | Callable[[PyTree], PyTree] | None


@api_boundary
def sgd(
    learning_rate: ScalarOrSchedule, momentum: ArrayLike | None = None, nesterov: bool = False
) -> GradientTransformation:
    """Steps down the gradient, with momentum if it is given; see `trace`.

    Source: B. T. Polyak, "Some methods of speeding up the convergence of iteration methods", 1964; with `nesterov` I.
    Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.

    Args:
        learning_rate: a number, or a function of the number of steps.
        momentum: by which the sum of updates decays; None is no sum.
        nesterov: look one update ahead; see `trace`.

    >>> optimizer = fx.optim.sgd(0.1)
    >>> x, state = 1.0, optimizer.init(1.0)
    >>> for _ in range(50):
    ...     updates, state = optimizer.update(fx.grad(lambda x: (x - 3) ** 2)(x), state)
    ...     x = fx.optim.apply_updates(x, updates)
    >>> round(float(x), 3)
    3.0
    """
    moving = identity() if momentum is None else trace(momentum, nesterov)
    return chain(moving, scale_by_learning_rate(learning_rate))


@api_boundary
def momentum(
    learning_rate: ScalarOrSchedule, decay: ArrayLike = 0.9, nesterov: bool = False
) -> GradientTransformation:
    """`sgd` with momentum.

    Source: B. T. Polyak, "Some methods of speeding up the convergence of iteration methods", 1964; with `nesterov` I.
    Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.

    Args:
        learning_rate: a number, or a function of the number of steps.
        decay: by which the sum of updates decays.
        nesterov: look one update ahead; see `trace`.

    >>> transformation = fx.optim.momentum(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([-0.3 ,  0.05])
    """
    return sgd(learning_rate, decay, nesterov)


@api_boundary
def adam(
    learning_rate: ScalarOrSchedule, b1: Scalar = 0.9, b2: ArrayLike = 0.999, eps: ArrayLike = 1e-8,
    eps_root: ArrayLike = 0.0, *, nesterov: bool = False,
) -> GradientTransformation:  # fmt: skip
    """Adam: steps along the mean of gradients divided by the root of the mean of their squares; see `scale_by_adam`.

    Source: D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2014.

    Args:
        learning_rate: a number, or a function of the number of steps.
        b1, b2: how much stays of the means of updates and of their squares.
        eps: added to the root.
        eps_root: added under the root, which keeps derivatives of steps finite.
        nesterov: take the mean one update ahead.

    >>> optimizer = fx.optim.adam(0.1)
    >>> @fx.jit
    ... def step(x, state):
    ...     value, gradient = fx.value_and_grad(lambda x: fnp.sum((x - 3) ** 2))(x)
    ...     updates, state = optimizer.update(gradient, state, x)
    ...     return fx.optim.apply_updates(x, updates), state, value
    >>> x = np.zeros(2)
    >>> state = optimizer.init(x)
    >>> for _ in range(300):
    ...     x, state, value = step(x, state)
    >>> bool(value < 1e-6)
    True
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov), scale_by_learning_rate(learning_rate)
    )


@api_boundary
def adamw(
    learning_rate: ScalarOrSchedule, b1: Scalar = 0.9, b2: ArrayLike = 0.999, eps: ArrayLike = 1e-8,
    eps_root: ArrayLike = 0.0, weight_decay: ArrayLike = 1e-4, mask: Mask = None, *, nesterov: bool = False,
) -> GradientTransformation:  # fmt: skip
    """Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled weight decay regularization", 2017).

    Args:
        learning_rate: a number, or a function of the number of steps.
        b1, b2: how much stays of the means of updates and of their squares.
        eps: added to the root.
        eps_root: added under the root, which keeps derivatives of steps finite.
        weight_decay: the factor of the parameters.
        mask: which parameters are decayed; see `add_decayed_weights`.
        nesterov: take the mean one update ahead.

    >>> transformation = fx.optim.adamw(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.ones(2)), np.ones(2))
    >>> updates.round(4)
    array([-0.1,  0.1])
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


@api_boundary
def rmsprop(
    learning_rate: ScalarOrSchedule, decay: ArrayLike = 0.9, eps: ArrayLike = 1e-8,
    initial_scale: ArrayLike = 0.0, momentum: ArrayLike | None = None, nesterov: bool = False,
) -> GradientTransformation:  # fmt: skip
    """RMSProp; arguments as of `scale_by_rms` and `trace`.

    Source: T. Tieleman and G. Hinton, "Neural networks for machine learning", lecture 6.5, 2012.

    Args:
        learning_rate: a number, or a function of the number of steps.
        decay: how much of the mean of squares stays.
        eps: added to the mean, under the root.
        initial_scale: the mean at first.
        momentum: by which the sum of updates decays; None is no sum.
        nesterov: look one update ahead; see `trace`.

    >>> transformation = fx.optim.rmsprop(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([-0.3162,  0.3162])
    """
    moving = identity() if momentum is None else trace(momentum, nesterov)
    return chain(scale_by_rms(decay, eps, initial_scale), scale_by_learning_rate(learning_rate), moving)


@api_boundary
def adagrad(
    learning_rate: ScalarOrSchedule, initial_accumulator_value: ArrayLike = 0.1, eps: ArrayLike = 1e-7
) -> GradientTransformation:
    """AdaGrad; arguments as of `scale_by_rss`.

    Source: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", 2011.

    Args:
        learning_rate: a number, or a function of the number of steps.
        initial_accumulator_value: the sum of squares at first.
        eps: added to the sum, under the root.

    >>> transformation = fx.optim.adagrad(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([-0.0994,  0.0845])
    """
    return chain(scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate))


@api_boundary
def lion(
    learning_rate: ScalarOrSchedule, b1: Scalar = 0.9, b2: ArrayLike = 0.99, weight_decay: ArrayLike = 1e-3,
    mask: Mask = None,
) -> GradientTransformation:  # fmt: skip
    """Lion, with decoupled weight decay; see `scale_by_lion`.

    Source: X. Chen et al., "Symbolic discovery of optimization algorithms", 2023.

    Args:
        learning_rate: a number, or a function of the number of steps.
        b1: how much of the kept mean counts in the sign.
        b2: how much of it stays.
        weight_decay: the factor of the parameters.
        mask: which parameters are decayed; see `add_decayed_weights`.

    >>> transformation = fx.optim.lion(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.ones(2)), np.ones(2))
    >>> updates.round(4)
    array([-0.1001,  0.0999])
    """
    return chain(
        scale_by_lion(b1, b2), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate)
    )


__all__ = ["adagrad", "adam", "adamw", "lion", "momentum", "rmsprop", "sgd"]
