"""Transformations of gradients as pairs of pure functions, and their composition."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .. import numpy as fnp
from .. import ops, random
from ..core import pytree
from ..core.errors import ShapeError, StructureError
from ..core.interpreter import api_boundary
from ..core.typing import ArrayLike, Key, PyTree, Scalar
from ..numpy.composite import cast, dtype_of
from ..numpy.linalg.norms import euclidean_norm, shortening
from ..random.keys import check_one_key

ScalarOrSchedule: TypeAlias = (
    Scalar | Callable[[Any], Any]
)  # a number, or a function from the number of steps to one


class GradientTransformation(NamedTuple):
    """A transformation of gradients.

    init(params) → state; update(updates, state, params=None) → (updates, state), where `updates` are gradients at
    first. The state is a pytree of arrays.

    >>> optimizer = fx.optim.sgd(0.1)
    >>> state = optimizer.init(1.0)
    >>> updates, state = optimizer.update(2.0, state, 1.0)
    >>> print(updates)
    -0.2
    """

    init: Callable[[PyTree], PyTree]
    update: Callable[..., tuple[PyTree, PyTree]]


class EmptyState(NamedTuple):
    """The state of a transformation without memory.

    >>> fx.optim.identity().init(1.0)
    EmptyState()
    """


@api_boundary
def stateless(function: Callable[[PyTree, PyTree], PyTree]) -> GradientTransformation:
    """Make a transformation without memory from a function (updates, params) → updates.

    >>> transformation = fx.optim.stateless(lambda updates, params: -updates)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([-3. ,  0.5])
    """

    def update(updates: PyTree, state: PyTree, params: PyTree = None, **extra: Any) -> tuple[PyTree, PyTree]:
        return function(updates, params), state

    return GradientTransformation(lambda params: EmptyState(), update)


def identity() -> GradientTransformation:
    """The transformation that changes nothing.

    >>> transformation = fx.optim.identity()
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 3. , -0.5])
    """
    return stateless(lambda updates, params: updates)


@api_boundary
def chain(*transformations: GradientTransformation) -> GradientTransformation:
    """Compose transformations; the first one receives the gradients. The state is the tuple of their states.

    Raises:
        StructureError: the state is not that of as many transformations.

    >>> optimizer = fx.optim.chain(fx.optim.clip(1.0), fx.optim.scale(-0.5))
    >>> updates, _ = optimizer.update(np.array([3.0, -0.2]), optimizer.init(np.zeros(2)))
    >>> updates
    array([-0.5,  0.1])
    """

    def init(params: PyTree) -> PyTree:
        return tuple([t.init(params) for t in transformations])

    def update(updates: PyTree, state: PyTree, params: PyTree = None, **extra: Any) -> tuple[PyTree, PyTree]:
        if type(state) is not tuple or len(state) != len(transformations) or is_state(updates):
            found = f"{len(state)} parts" if type(state) is tuple else f"type {type(state).__name__}"
            raise StructureError(
                f"chain: a state of {found} for {len(transformations)} transformations"
                + (", and a state for gradients" if is_state(updates) else ""),
                hint="optimizer.update(gradients, state, params), in this order, with the state that "
                "optimizer.init(params), or the last update, returned",
            )
        states = []
        for t, s in zip(transformations, state):
            updates, s = t.update(updates, s, params, **extra)
            states.append(s)
        return updates, tuple(states)

    return GradientTransformation(init, update)


def is_state(value: Any) -> bool:
    """Whether a value is the state of a chain: a tuple of states."""
    return type(value) is tuple and any(type(part).__module__.startswith(__package__ or "") for part in value)


@api_boundary
def apply_updates(params: PyTree, updates: PyTree) -> PyTree:
    """Add updates to parameters, which keep their dtypes.

    Args:
        params: a pytree of arrays and numbers.
        updates: one of the same structure; None stands for no update.

    Raises:
        ShapeError: an update whose shape does not broadcast to that of its parameter.

    >>> fx.optim.apply_updates({"w": 1.0}, {"w": 0.5})
    {'w': 1.5}
    """

    def add(p: Any, u: Any) -> Any:
        return p if u is None else like(p + fit_shape(u, p, "an update"), p)

    return pytree.map(add, params, updates)


def fit_shape(u: Any, p: Any, what: str) -> Any:
    """Return u; raise unless its shape broadcasts to that of p, a parameter or what has its shape."""
    given, shape = fnp.shape(u), fnp.shape(p)
    if given != shape and (
        len(given) > len(shape) or any(n not in (1, m) for n, m in zip(given[::-1], shape[::-1]))
    ):
        raise ShapeError(
            f"{what} of shape {given} for a parameter of shape {shape}",
            hint="gradients by the parameters, fx.grad(loss)(params), summed over the examples; "
            "or optimizer.init(params) for other parameters",
        )
    return u


def like(value: Any, other: Any) -> Any:
    """Convert a value to the dtype of another; Python's numbers stay what they become."""
    return cast(value, dtype_of(other)) if hasattr(other, "dtype") else value


def zeros_like(params: PyTree) -> PyTree:
    """Zeros of the shapes and dtypes of parameters."""
    return pytree.map(lambda p: fnp.zeros_like(p, dtype=float if isinstance(p, int) else None), params)


# -- scales ------------------------------------------
@api_boundary
def scale(factor: ArrayLike) -> GradientTransformation:
    """Multiply by a number.

    >>> transformation = fx.optim.scale(-0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([-0.3 ,  0.05])
    """
    return stateless(lambda updates, params: pytree.map(lambda u: like(factor * u, u), updates))


class CountState(NamedTuple):
    """The number of updates so far.

    `count` is an int32 array without axes.

    >>> fx.optim.scale_by_schedule(lambda count: 1.0).init(1.0)
    CountState(count=array(0, dtype=int32))
    """

    count: Any


def no_steps() -> Any:
    """The number of steps at first."""
    return np.zeros((), np.int32)


@api_boundary
def scale_by_schedule(schedule: Callable[[Any], Any]) -> GradientTransformation:
    """Multiply by a function of the number of updates so far.

    >>> transformation = fx.optim.scale_by_schedule(fx.optim.linear_schedule(1.0, 0.0, 10))
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 3. , -0.5])
    """

    def update(
        updates: PyTree, state: CountState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        factor = schedule(state.count)
        return pytree.map(lambda u: like(factor * u, u), updates), CountState(state.count + np.int32(1))

    return GradientTransformation(lambda params: CountState(no_steps()), update)


@api_boundary
def scale_by_learning_rate(learning_rate: ScalarOrSchedule) -> GradientTransformation:
    """Multiply by minus a learning rate, which may be a schedule: a step down the gradient.

    >>> transformation = fx.optim.scale_by_learning_rate(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([-0.3 ,  0.05])
    """
    if callable(learning_rate):
        return scale_by_schedule(lambda count: ops.negative(learning_rate(count)))
    return scale(ops.negative(learning_rate))


@api_boundary
def add_decayed_weights(
    weight_decay: ArrayLike = 0.0, mask: PyTree | Callable[[PyTree], PyTree] | None = None
) -> GradientTransformation:
    """Add weight_decay times the parameters.

    Args:
        weight_decay: the factor.
        mask: a pytree of truth values, a prefix of the parameters, or a function that makes it of them: which are
            decayed; all by default.

    Raises:
        StructureError: `update` was not given the parameters.

    >>> transformation = fx.optim.add_decayed_weights(0.1)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.ones(2)), np.ones(2))
    >>> updates.round(4)
    array([ 3.1, -0.4])
    """

    def decay(updates: PyTree, params: PyTree) -> PyTree:
        need_params(params, "add_decayed_weights")
        chosen = mask(params) if callable(mask) else mask
        flags = [True] * len(pytree.leaves(params))
        if chosen is not None:
            flags = pytree.flatten_prefix(chosen, params, "add_decayed_weights: mask")
        given, structure = pytree.flatten(updates)
        found = [
            like(u + weight_decay * p, u) if flag else u
            for u, p, flag in zip(given, pytree.leaves(params), flags, strict=True)
        ]
        return pytree.unflatten(structure, found)

    return stateless(decay)


def need_params(params: PyTree, name: str) -> None:
    """Raise where a transformation that depends on the parameters is not given them."""
    if params is None:
        raise StructureError(
            f"{name} needs the parameters", hint="optimizer.update(gradients, state, params)"
        )


# -- bounds ------------------------------------------
@api_boundary
def clip(max_delta: Scalar) -> GradientTransformation:
    """Clip each entry to [-max_delta, max_delta].

    >>> transformation = fx.optim.clip(1.0)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 1. , -0.5])
    """
    return stateless(
        lambda updates, params: pytree.map(lambda u: fnp.clip(u, -max_delta, max_delta), updates)
    )


@api_boundary
def global_norm(updates: PyTree) -> Any:
    """The norm of all entries together.

    >>> float(fx.optim.global_norm({"a": np.array([3.0]), "b": 4.0}))
    5.0
    """
    rows = [fnp.reshape(u, (-1,)) for u in pytree.leaves(updates)]
    return norm_of_norms(rows) if rows else 0.0


def norm_of_norms(rows: list[Any]) -> Any:
    """Return the norm of the last axes of all arrays together, as that of their norms: a sum of squares would overflow
    or underflow."""
    norms = [euclidean_norm(u, (u.ndim - 1,), False) for u in rows]
    return norms[0] if len(norms) == 1 else euclidean_norm(fnp.stack(norms), (0,), False)


@api_boundary
def clip_by_global_norm(max_norm: ArrayLike) -> GradientTransformation:
    """Scale all entries down so that their common norm is at most max_norm (Pascanu, Mikolov and Bengio, "On the
    difficulty of training recurrent neural networks", 2012).

    >>> transformation = fx.optim.clip_by_global_norm(1.0)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 0.9864, -0.1644])
    """

    def shorten(updates: PyTree, params: PyTree) -> PyTree:
        factor = shortening(global_norm(updates), max_norm)
        return pytree.map(lambda u: like(factor * u, u), updates)

    return stateless(shorten)


# -- privacy ------------------------------------------
class PrivateState(NamedTuple):
    """The key of the next noise.

    >>> state = fx.optim.differentially_private_aggregate(1.0, 1.0, fx.random.key(0)).init(1.0)
    >>> bool(state.key == fx.random.key(0))
    True
    """

    key: Any


@api_boundary
def differentially_private_aggregate(
    l2_norm_clip: float, noise_multiplier: float, key: Key
) -> GradientTransformation:
    """Average per-sample gradients, each clipped to a norm, and add normal noise (Abadi et al., "Deep learning with
    differential privacy", 2016). It comes first in a chain: its gradients have a leading axis of samples, as
    fx.vmap(fx.grad(loss), (None, 0)) returns them. If these are too large, `fx.per_sample.clipped_sum` computes the sum
    of the clipped ones without forming them.

    Args:
        l2_norm_clip: the greatest norm of one sample's gradient.
        noise_multiplier: the standard deviation of the noise in the sum, in units of that norm.
        key: a key of random numbers.

    Raises:
        DTypeError, ShapeError: `key` is not one key.
        StructureError: leaves do not have the same number of samples.

    >>> transformation = fx.optim.differentially_private_aggregate(1.0, 0.0, fx.random.key(0))
    >>> samples = np.array([[3.0, 4.0], [0.0, 0.5]])
    >>> updates, state = transformation.update(samples, transformation.init(np.zeros(2)))
    >>> updates.round(4)
    array([0.3 , 0.65])
    """
    check_one_key(key, "differentially_private_aggregate")

    def init(params: PyTree) -> PrivateState:
        return PrivateState(key)

    def update(
        updates: PyTree, state: PrivateState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        leaves, structure = pytree.flatten(updates)
        sizes = {u.shape[0] if u.ndim else None for u in leaves}
        if len(sizes) != 1 or None in sizes:
            raise StructureError(
                "differentially_private_aggregate takes gradients with a leading axis of samples, of one size",
                hint="fx.vmap(fx.grad(loss), (None, 0))(params, batch)",
            )
        count = leaves[0].shape[0]
        factors = shortening(per_sample_global_norm(updates), l2_norm_clip)
        following, *keys = random.split(state.key, len(leaves) + 1)
        means = []
        for u, k in zip(leaves, keys):
            total = fnp.tensordot(factors, u, (0, 0))
            noise = l2_norm_clip * noise_multiplier * random.normal(k, total.shape, total.dtype)
            means.append(like((total + noise) / count, u))
        return pytree.unflatten(structure, means), PrivateState(following)

    return GradientTransformation(init, update)


@api_boundary
def per_sample_global_norm(updates: PyTree) -> Any:
    """The norms of per-sample gradients: one for each entry of the leading axis.

    >>> fx.optim.per_sample_global_norm({"w": np.array([[3.0, 4.0], [0.0, 0.5]])})
    array([5. , 0.5])
    """
    rows = [fnp.reshape(u, (np.shape(u)[0], math.prod(np.shape(u)[1:]))) for u in pytree.leaves(updates)]
    return norm_of_norms(rows)


__all__ = [
    "CountState", "EmptyState", "GradientTransformation", "PrivateState", "add_decayed_weights", "apply_updates",
    "chain", "clip", "clip_by_global_norm", "differentially_private_aggregate", "global_norm", "identity",
    "per_sample_global_norm", "scale", "scale_by_learning_rate", "scale_by_schedule", "stateless",
]  # fmt: skip
