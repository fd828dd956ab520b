"""`jax.example_libraries.optimizers`: optimizers as triples of functions, which packages still build on.

An optimizer is made of three functions for one array of parameters: `init(x) → state`, `update(i, gradient, state) →
state` and `get_params(state) → x`. States are tuples of arrays, or one array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from operator import add
from typing import Any, NamedTuple

from ... import numpy as fnp
from ...core import pytree
from . import trees
from .lifting import lift

__all__ = [
    "Optimizer", "OptimizerState", "adagrad", "adam", "adamax", "clip_grads", "constant", "exponential_decay",
    "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov", "optimizer", "piecewise_constant",
    "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd",
]  # fmt: skip

abs, maximum, sqrt, sum, where, zeros_like = map(
    lift, (fnp.abs, fnp.maximum, fnp.sqrt, fnp.sum, fnp.where, fnp.zeros_like)
)
Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The states of all leaves of the parameters, their leaves in lists, and the structures of both."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


pytree.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, children: OptimizerState(*children, *structures),
)


class Optimizer(NamedTuple):
    """The functions of an optimizer for trees of parameters."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Make the functions for one array into an optimizer of trees."""

    @wraps(opt_maker)
    def make(*args: Any, **options: Any) -> Optimizer:
        begin, step, read = opt_maker(*args, **options)

        def init(params: Any) -> OptimizerState:
            leaves, structure = trees.flatten(params)
            return pack([begin(x) for x in leaves], structure)

        def update(i: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            found = zip(structured_leaves(state, gradients), states_of(state))
            return pack([step(i, g, s) for g, s in found], state.tree_def)

        def get_params(state: OptimizerState) -> Any:
            return state.tree_def.unflatten([read(s) for s in states_of(state)])

        return Optimizer(init, update, get_params)

    return make


def pack(states: list[Any], structure: Any) -> OptimizerState:
    """Return the states of leaves as that of the optimizer."""
    flat = [trees.flatten(s) for s in states]
    return OptimizerState(tuple([leaves for leaves, _ in flat]), structure, tuple([d for _, d in flat]))


def states_of(state: OptimizerState) -> list[Any]:
    """Return the states of leaves."""
    return [d.unflatten(leaves) for d, leaves in zip(state.subtree_defs, state.packed_state, strict=True)]


def structured_leaves(state: OptimizerState, gradients: Any) -> list[Any]:
    """Return the leaves of gradients.

    Raises:
        TypeError: they are another tree than the parameters.
    """
    leaves, structure = trees.flatten(gradients)
    if structure != state.tree_def:
        raise TypeError(f"optimizer: gradients have the structure {structure}, parameters {state.tree_def}")
    return leaves


# -- optimizers ------------------------------------------------------------------------------------------------------
@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent."""
    rate = make_schedule(step_size)
    return (lambda x: x), (lambda i, g, x: x - rate(i) * g), (lambda x: x)


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Gradient descent with a velocity."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return begin_at_zero(1), update, first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Gradient descent with a velocity that looks ahead."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return begin_at_zero(1), update, first


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Steps divided by the root of the sum of squared gradients, averaged."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + g * g
        scale = where(squares > 0, 1.0 / sqrt(where(squares > 0, squares, 1.0)), 0.0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        return x - rate(i) * mean, squares, mean

    return begin_at_zero(2), update, first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Steps divided by the root of a running mean of squared gradients."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = squares * gamma + g * g * (1.0 - gamma)
        return x - rate(i) * g / sqrt(squares + eps), squares

    return begin_at_zero(1), update, first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9) -> Any:
    """As `rmsprop`, with a velocity."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, velocity = state
        squares = squares * gamma + g * g * (1.0 - gamma)
        velocity = momentum * velocity + rate(i) * g / sqrt(squares + eps)
        return x - velocity, squares, velocity

    return begin_at_zero(2), update, first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Running means of gradients and of their squares (Kingma and Ba, 2015)."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * g * g + b2 * v
        scaled = m / (1 - b1 ** (i + 1)), v / (1 - b2 ** (i + 1))
        return x - rate(i) * scaled[0] / (sqrt(scaled[1]) + eps), m, v

    return begin_at_zero(2), update, first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """As `adam`, with a running maximum (Kingma and Ba, 2015, section 7.1)."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, u = state
        m, u = (1 - b1) * g + b1 * m, maximum(b2 * u, abs(g))
        return x - rate(i) / (1 - b1 ** (i + 1)) * m / (u + eps), m, u

    return begin_at_zero(2), update, first


def begin_at_zero(count: int) -> Callable[[Any], Any]:
    """Return what makes a state of parameters and zeros."""
    return lambda x: (x, *[zeros_like(x)] * count)


def first(state: Any) -> Any:
    """Return the parameters of a state."""
    return state[0]


# -- step sizes and gradients ----------------------------------------------------------------------------------------
def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a step size as a function of the number of the step."""
    return scalar_or_schedule if callable(scalar_or_schedule) else constant(scalar_or_schedule)


def constant(step_size: Any) -> Schedule:
    """One step size."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """step_size · decay_rate ** (i / decay_steps)."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """step_size / (1 + decay_rate · i / decay_steps), in whole steps if `staircase`."""
    return lambda i: step_size / (1 + decay_rate * (i // decay_steps if staircase else i / decay_steps))


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0) -> Schedule:
    """A polynomial from `step_size` to `final_step_size`."""

    def at(i: Any) -> Any:
        rest = 1 - where(i < decay_steps, i, decay_steps) / decay_steps
        return rest**power * (step_size - final_step_size) + final_step_size

    return at


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """One of `values`, by the boundaries that the step has passed."""
    edges, steps = fnp.asarray(boundaries), fnp.asarray(values)
    return lift(lambda i: steps[fnp.sum(i > edges)])


def l2_norm(tree: Any) -> Any:
    """The root of the sum of squares of all leaves."""
    return sqrt(reduce(add, [sum(x * x) for x in trees.here.leaves(tree)]))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Gradients, shortened to a norm."""
    norm = l2_norm(grad_tree)
    return trees.map(lambda g: where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
