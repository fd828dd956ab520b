"""Transformations made of others: for parts of the parameters, for some of the steps, with settings in the state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import pytree
from ..core.aval import PLAIN
from ..core.errors import StructureError
from ..core.interpreter import api_boundary
from ..core.typing import PyTree, Scalar
from .moments import mean_of, tree_map
from .transformations import GradientTransformation, need_params, no_steps, zeros_like

ONE = np.int32(1)


def choose(flag: Any, yes: Callable[[], PyTree], no: Callable[[], PyTree]) -> PyTree:
    """Return what one of two functions returns; if the flag is traced, both are called and their leaves selected."""
    if type(flag) in PLAIN:
        return yes() if flag else no()
    return pytree.map(lambda a, b: ops.where(flag, a, b), yes(), no())


# -- parts of the parameters ------------------------------------------
class MaskedNode(NamedTuple):
    """What stands for a parameter that a masked transformation does not see.

    >>> fx.tree.leaves(fx.optim.MaskedNode())
    []
    """


class MaskedState(NamedTuple):
    """The state of the transformation inside `masked`.

    >>> fx.optim.masked(fx.optim.identity(), True).init(1.0)
    MaskedState(inner_state=EmptyState())
    """

    inner_state: Any


@api_boundary
def masked(
    inner: GradientTransformation, mask: PyTree | Callable[[PyTree], PyTree]
) -> GradientTransformation:
    """Transform some of the leaves only; the others stay as they are.

    Args:
        inner: the transformation.
        mask: a pytree of truth values, a prefix of the parameters, or a function that makes it of them.

    Raises:
        StructureError: the mask is no prefix of the parameters.

    >>> optimizer = fx.optim.masked(fx.optim.scale(-0.1), {"w": True, "b": False})
    >>> updates, _ = optimizer.update({"w": 2.0, "b": 2.0}, optimizer.init({"w": 1.0, "b": 1.0}))
    >>> print(updates["w"], updates["b"])
    -0.2 2.0
    """

    def hide(tree: PyTree, flags: list[Any]) -> PyTree:
        leaves, structure = pytree.flatten(tree)
        return pytree.unflatten(structure, [x if flag else MaskedNode() for x, flag in zip(leaves, flags)])

    def flags_of(tree: PyTree) -> list[Any]:
        return pytree.flatten_prefix(mask(tree) if callable(mask) else mask, tree, "masked: mask")

    def init(params: PyTree) -> MaskedState:
        return MaskedState(inner.init(hide(params, flags_of(params))))

    def update(
        updates: PyTree, state: MaskedState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        flags = flags_of(updates)
        seen = None if params is None else hide(params, flags)
        changed, inner_state = inner.update(hide(updates, flags), state.inner_state, seen, **extra)
        found = iter(pytree.leaves(changed))
        leaves, structure = pytree.flatten(updates)
        mixed = [next(found) if flag else x for x, flag in zip(leaves, flags)]
        return pytree.unflatten(structure, mixed), MaskedState(inner_state)

    return GradientTransformation(init, update)


class MultiTransformState(NamedTuple):
    """The states of the transformations of `multi_transform`.

    `inner_states` is a dict by labels.

    >>> fx.optim.multi_transform({"a": fx.optim.identity()}, "a").init(1.0)
    MultiTransformState(inner_states={'a': MaskedState(inner_state=EmptyState())})
    """

    inner_states: Any


@api_boundary
def multi_transform(
    transforms: Mapping[Any, GradientTransformation], param_labels: PyTree | Callable[[PyTree], PyTree]
) -> GradientTransformation:
    """Transform each leaf by the transformation of its label.

    Args:
        transforms: label → transformation.
        param_labels: a pytree of labels, a prefix of the parameters, or a function that makes it of them.

    Raises:
        StructureError: a label without a transformation, or labels that are no prefix of the parameters.

    >>> slow_and_fast = {"slow": fx.optim.scale(-0.1), "fast": fx.optim.scale(-1.0)}
    >>> optimizer = fx.optim.multi_transform(slow_and_fast, {"w": "slow", "b": "fast"})
    >>> updates, _ = optimizer.update({"w": 2.0, "b": 2.0}, optimizer.init({"w": 1.0, "b": 1.0}))
    >>> print(updates["w"], updates["b"])
    -0.2 -2.0
    """

    def labels_of(tree: PyTree) -> list[Any]:
        labels = param_labels(tree) if callable(param_labels) else param_labels
        found = pytree.flatten_prefix(labels, tree, "multi_transform: param_labels")
        unknown = {label for label in found if label not in transforms}
        if unknown:
            raise StructureError(
                f"multi_transform: no transformation of the labels {sorted(map(repr, unknown))}",
                hint=f"labels among {', '.join(map(repr, transforms))}, or another entry of transforms",
            )
        return found

    def part(label: Any) -> GradientTransformation:
        def is_labelled(tree: PyTree) -> PyTree:
            return pytree.unflatten(pytree.structure(tree), [name == label for name in labels_of(tree)])

        return masked(transforms[label], is_labelled)

    parts = {label: part(label) for label in transforms}

    def init(params: PyTree) -> MultiTransformState:
        labels_of(params)
        return MultiTransformState({label: part.init(params) for label, part in parts.items()})

    def update(
        updates: PyTree, state: MultiTransformState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        states = {}
        for label, part in parts.items():
            updates, states[label] = part.update(updates, state.inner_states[label], params, **extra)
        return updates, MultiTransformState(states)

    return GradientTransformation(init, update)


# -- some of the steps ------------------------------------------
class MultiStepsState(NamedTuple):
    """How many gradients have been added and how many steps made, the state of the optimizer, and the mean so far.

    `mini_step` and `gradient_step` are int32 arrays without axes, `inner_opt_state` is the state of the optimizer, and
    `acc_grads` is built as the parameters are.

    >>> fx.optim.MultiSteps(fx.optim.identity(), 2).init(1.0).mini_step
    array(0, dtype=int32)
    """

    mini_step: Any
    gradient_step: Any
    inner_opt_state: Any
    acc_grads: Any


class MultiSteps:
    """An optimizer that takes a step at every k-th gradient, along the mean of the last k; in between updates are zero.

    Args:
        opt: the optimizer.
        every_k_schedule: k, or a function from the number of steps made to k.
        use_grad_mean: whether the mean is taken, or the sum.

    >>> optimizer = fx.optim.MultiSteps(fx.optim.sgd(0.1), 2)
    >>> state = optimizer.init(1.0)
    >>> for gradient in (1.0, 3.0):
    ...     updates, state = optimizer.update(gradient, state)
    ...     print(updates, optimizer.has_updated(state))
    0.0 False
    -0.2 True
    """

    @api_boundary
    def __init__(
        self,
        opt: GradientTransformation,
        every_k_schedule: int | Callable[[Any], Any],
        use_grad_mean: bool = True,
    ):
        self.opt, self.use_grad_mean = opt, use_grad_mean
        self.every_k: Callable[[Any], Any] = (
            every_k_schedule if callable(every_k_schedule) else lambda count: every_k_schedule
        )

    def init(self, params: PyTree) -> MultiStepsState:
        """Return the state at first."""
        return MultiStepsState(no_steps(), no_steps(), self.opt.init(params), zeros_like(params))

    def update(
        self, updates: PyTree, state: MultiStepsState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, MultiStepsState]:
        """Return the updates, and the state after one gradient more.

        Args:
            updates: the gradients.
            state: what `init`, or the last call, returned.
            params: the parameters, where the optimizer depends on them.
            extra: what the optimizer takes besides.
        """
        count = state.mini_step + ONE
        weight = 1 / count if self.use_grad_mean else 1
        keep = 1 - weight if self.use_grad_mean else 1
        total = tree_map(lambda mean, u: keep * mean + weight * u, state.acc_grads, updates)

        def step() -> Any:
            given, inner = self.opt.update(total, state.inner_opt_state, params, **extra)
            return given, MultiStepsState(no_steps(), state.gradient_step + ONE, inner, zeros_like(total))

        def wait() -> Any:
            return zeros_like(updates), MultiStepsState(
                count, state.gradient_step, state.inner_opt_state, total
            )

        return choose(count >= self.every_k(state.gradient_step), step, wait)

    def has_updated(self, state: MultiStepsState) -> Any:
        """Whether the last gradient led to a step."""
        return ops.logical_and(ops.equal(state.mini_step, 0), ops.greater(state.gradient_step, 0))

    def gradient_transformation(self) -> GradientTransformation:
        """Return the optimizer as a pair of functions, for `chain` and the like."""
        return GradientTransformation(self.init, self.update)


class ApplyIfFiniteState(NamedTuple):
    """How many updates in a row were not finite, whether the last one was, how many were not in all, and the state.

    `notfinite_count` and `total_notfinite` are int32 arrays without axes, `last_finite` is a bool, and `inner_state` is
    the state of the optimizer.

    >>> fx.optim.apply_if_finite(fx.optim.identity(), 2).init(1.0).notfinite_count
    array(0, dtype=int32)
    """

    notfinite_count: Any
    last_finite: Any
    total_notfinite: Any
    inner_state: Any


@api_boundary
def apply_if_finite(inner: GradientTransformation, max_consecutive_errors: int) -> GradientTransformation:
    """Ignore gradients with NaN or infinities: updates are zero and the state stays.

    Args:
        inner: the optimizer.
        max_consecutive_errors: how many are ignored in a row; the next one is passed on.

    >>> optimizer = fx.optim.apply_if_finite(fx.optim.sgd(0.1), 5)
    >>> updates, state = optimizer.update(np.nan, optimizer.init(1.0))
    >>> print(updates, state.total_notfinite)
    0.0 1
    """

    def init(params: PyTree) -> ApplyIfFiniteState:
        return ApplyIfFiniteState(no_steps(), np.array(True), no_steps(), inner.init(params))

    def update(
        updates: PyTree, state: ApplyIfFiniteState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        finite: Any = np.True_
        for leaf in pytree.leaves(updates):
            finite = ops.logical_and(finite, fnp.all(fnp.isfinite(leaf)))
        row = ops.where(finite, np.int32(0), state.notfinite_count + ONE)
        total = state.total_notfinite + ops.where(finite, np.int32(0), ONE)
        given, inner_state = choose(
            ops.logical_or(finite, row > max_consecutive_errors),
            lambda: inner.update(updates, state.inner_state, params, **extra),
            lambda: (zeros_like(updates), state.inner_state),
        )
        return given, ApplyIfFiniteState(row, finite, total, inner_state)

    return GradientTransformation(init, update)


class LookaheadParams(NamedTuple):
    """The fast and the slow parameters of `lookahead`.

    >>> fx.optim.LookaheadParams.init_synced(1.0)
    LookaheadParams(fast=1.0, slow=1.0)
    """

    fast: Any
    slow: Any

    @classmethod
    def init_synced(cls, params: PyTree) -> LookaheadParams:
        """Return parameters of which both are these."""
        return cls(params, params)


class LookaheadState(NamedTuple):
    """The state of the fast optimizer, and the number of steps since the slow parameters moved.

    `steps_since_sync` is an int32 array without axes; `fast_state` is the optimizer's own.

    >>> fx.optim.lookahead(fx.optim.identity(), 5, 0.5).init(fx.optim.LookaheadParams(1.0, 1.0)).steps_since_sync
    array(0, dtype=int32)
    """

    fast_state: Any
    steps_since_sync: Any


@api_boundary
def lookahead(
    fast_optimizer: GradientTransformation,
    sync_period: int,
    slow_step_size: Scalar,
    reset_state: bool = False,
) -> GradientTransformation:
    """Move slow parameters towards fast ones from time to time, where the fast ones go on (Zhang et al., "Lookahead
    optimizer: k steps forward, 1 step back", 2019).

    Args:
        fast_optimizer: it makes the steps of the fast parameters; gradients are by those.
        sync_period: the number of its steps between two of the slow parameters.
        slow_step_size: how far these move, as a part of the way.
        reset_state: whether the fast optimizer begins anew then.

    Raises:
        StructureError: the parameters are no `LookaheadParams`, or `sync_period` is less than 1.

    >>> optimizer = fx.optim.lookahead(fx.optim.sgd(1.0), 2, 0.5)
    >>> params = fx.optim.LookaheadParams.init_synced(4.0)
    >>> state = optimizer.init(params)
    >>> for _ in range(2):
    ...     updates, state = optimizer.update(1.0, state, params)
    ...     params = fx.optim.apply_updates(params, updates)
    >>> print(params.fast, params.slow)
    3.0 3.0
    """
    if sync_period < 1:
        raise StructureError(f"lookahead: sync_period={sync_period}", hint="a number of steps from 1 on")

    def check(params: PyTree) -> None:
        need_params(params, "lookahead")
        if not isinstance(params, LookaheadParams):
            raise StructureError(
                f"lookahead: parameters of type {type(params).__name__}",
                hint="fx.optim.LookaheadParams.init_synced(params), of which the loss takes .fast",
            )

    def init(params: PyTree) -> LookaheadState:
        check(params)
        return LookaheadState(fast_optimizer.init(params.fast), no_steps())

    def update(
        updates: PyTree, state: LookaheadState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        check(params)
        steps, fast_state = fast_optimizer.update(updates, state.fast_state, params.fast, **extra)
        count = state.steps_since_sync + ONE

        def sync() -> Any:
            moves = tree_map(lambda s, f, u: slow_step_size * (f + u - s), params.slow, params.fast, steps)
            back = tree_map(lambda f, s, m: s + m - f, params.fast, params.slow, moves)
            kept = fast_optimizer.init(params.fast) if reset_state else fast_state
            return LookaheadParams(back, moves), LookaheadState(kept, no_steps())

        def go_on() -> Any:
            return LookaheadParams(steps, zeros_like(params.slow)), LookaheadState(fast_state, count)

        return choose(count >= sync_period, sync, go_on)

    return GradientTransformation(init, update)


# -- means and settings ------------------------------------------
class EmaState(NamedTuple):
    """The number of updates so far, and their mean.

    >>> fx.optim.ema(0.9).init(1.0)
    EmaState(count=array(0, dtype=int32), ema=array(0.))
    """

    count: Any
    ema: Any


@api_boundary
def ema(decay: Scalar, debias: bool = True) -> GradientTransformation:
    """The exponential moving average of the updates.

    Args:
        decay: how much of the mean stays.
        debias: divide by 1 − decayⁿ: what the n updates so far weigh.

    >>> transformation = fx.optim.ema(0.9)
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)))
    >>> updates, state.ema
    (array([ 3. , -0.5]), array([ 0.3 , -0.05]))
    """

    def update(
        updates: PyTree, state: EmaState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        count, mean = state.count + ONE, mean_of(state.ema, updates, decay)
        given = tree_map(lambda m: m / (1 - decay**count), mean) if debias else mean
        return given, EmaState(count, mean)

    return GradientTransformation(lambda params: EmaState(no_steps(), zeros_like(params)), update)


class InjectHyperparamsState(NamedTuple):
    """The number of updates so far, the settings by name, and the state of the optimizer.

    `count` is an int32 array without axes, `hyperparams` a dict of arrays; `inner_state` is the optimizer's own.

    >>> fx.optim.inject_hyperparams(fx.optim.scale)(factor=2.0).init(1.0).hyperparams
    {'factor': array(2.)}
    """

    count: Any
    hyperparams: Any
    inner_state: Any


@api_boundary
def inject_hyperparams(
    inner_factory: Callable[..., GradientTransformation], static_args: str | Iterable[str] = ()
) -> Callable[..., GradientTransformation]:
    """Make the numbers that an optimizer is made with a part of its state, where they can be read, changed and
    differentiated by.

    Args:
        inner_factory: a function that returns a transformation, as `adam`.
        static_args: names of arguments that stay outside of the state.

    Returns:
        A function with the same arguments. Numbers and arrays, defaults too, are in `state.hyperparams`; of functions
        of the number of steps it has the values.

    >>> optimizer = fx.optim.inject_hyperparams(fx.optim.sgd)(learning_rate=0.1)
    >>> state = optimizer.init(1.0)
    >>> state.hyperparams["learning_rate"] = np.array(0.5)
    >>> updates, state = optimizer.update(1.0, state)
    >>> print(updates)
    -0.5
    """
    fixed = {static_args} if isinstance(static_args, str) else {*static_args}
    parameters = inspect.signature(inner_factory)

    def make(*args: Any, **kwargs: Any) -> GradientTransformation:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        static, numbers, schedules = {}, {}, {}
        for name, value in bound.arguments.items():
            is_number = hasattr(value, "dtype") or type(value) in (int, float, complex)
            kind = (
                static
                if name in fixed
                else numbers
                if is_number
                else schedules
                if callable(value)
                else static
            )
            kind[name] = value

        def optimizer(settings: Any) -> GradientTransformation:
            return inner_factory(**static, **settings)

        def settings_at(count: Any) -> dict[str, Any]:
            return {name: fnp.asarray(schedule(count)) for name, schedule in schedules.items()}

        def init(params: PyTree) -> InjectHyperparamsState:
            count = no_steps()
            settings = {name: fnp.asarray(value) for name, value in numbers.items()} | settings_at(count)
            return InjectHyperparamsState(count, settings, optimizer(settings).init(params))

        def update(
            updates: PyTree, state: InjectHyperparamsState, params: PyTree = None, **extra: Any
        ) -> tuple[PyTree, PyTree]:
            settings = {**state.hyperparams, **settings_at(state.count)}
            given, inner = optimizer(settings).update(updates, state.inner_state, params, **extra)
            return given, InjectHyperparamsState(state.count + ONE, settings, inner)

        return GradientTransformation(init, update)

    return make


__all__ = [
    "ApplyIfFiniteState", "EmaState", "InjectHyperparamsState", "LookaheadParams", "LookaheadState", "MaskedNode",
    "MaskedState", "MultiSteps", "MultiStepsState", "MultiTransformState", "apply_if_finite", "ema",
    "inject_hyperparams", "lookahead", "masked", "multi_transform",
]  # fmt: skip
