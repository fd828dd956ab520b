"""Memory that results of a transform share with Tensors outside.

A Tensor inside may stand for one outside: an argument, or a result already returned. If such a Tensor is a result, the
outside Tensor is returned. If the result is a view of it, the same steps make a view of the outside Tensor, which is
recorded as a view, so that writes reach the history as well. All other results have their own memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...extend import CURRENT, levels, pytree, restrict_arguments, source_info, use_context
from .._core.backward.accumulation import memory_ids, separate_memory
from .._core.bits import memory_array
from .._core.inplace import assign, ensure_modifiable, protect_residuals
from .._core.layout import entry_layout
from .._core.memory import VERSIONS, is_array, memory_owner
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE_TAPE, TapeInterpreter
from .._core.tensor import Tensor, refresh
from .._core.views import (
    ViewChain,
    ViewStep,
    base_tensor,
    carry_bits,
    make_chain_meta,
    tensor_version,
    view_history_version,
)
from ..ops.slicing import alias
from .arguments import flatten_tree, is_leaf, split_aux
from .transform_levels import enter_tape, to_outer_result, wrap_tree

# The modes that make a view of that creation.
CREATION_MODES: dict[str, dict[str, bool]] = {"no_grad": {"grad": False}, "inference": {"inference": True}}


class StandIn(NamedTuple):
    """A Tensor that stands for an outer one, which is mapped over `dim`: its value, and the outer Tensor's `stamp` when
    this value was recorded (None: no user code has run since)."""

    inside: Tensor
    outside: Tensor
    dim: int | None
    value: Any
    stamp: tuple[int, int] | None


class Result:
    """The result of a function: its leaves, and their values for the levels outside the tape, which outlive it."""

    __slots__ = ("leaves", "structure", "values", "whole")

    def __init__(self, whole, tape: TapeInterpreter):
        self.whole = whole
        self.leaves, self.structure = flatten_tree(whole)
        self.values = [to_outer_result(r, tape) for r in self.leaves]


class OuterTensors:
    """The outer Tensors that are represented by Tensors of a tape, and the memories that are already in use.

    An outer Tensor may have a further dimension, `dim`, over which it is mapped. This object passes arguments in to the
    function that is called inside, and results out.
    """

    results: list[Result]  # the output, and aux
    is_repetition = False  # whether what is called are the steps of a view that is made outside

    def __init__(self, tape: TapeInterpreter, given: Iterable[Any] = ()):
        self.tape = tape
        self.found: dict[int, StandIn] = {}  # by the id of the one inside
        self.used_ids = memory_ids(given)

    def note(self, inside, outside, dim: int | None = None) -> Any:
        """Record that an inner Tensor stands for an outer one; return the inner one."""
        if isinstance(inside, Tensor):
            carry_bits(outside, inside)
            if inside is not outside and not is_array(inside._fx_value):
                inside._fx_memory_layout = partial(entry_layout, outside, dim)
            self.found[id(inside)] = StandIn(
                inside, outside, dim, memory_array(inside), change_stamp(outside)
            )
        return inside

    def enter(self, x) -> Any:
        """Wrap the Tensors of a pytree for the tape, and record the outer Tensors."""

        def enter_leaf(leaf) -> Any:
            self.used_ids |= memory_ids((leaf,))
            return self.note(enter_tape(self.tape, leaf), leaf)

        return pytree.map(enter_leaf, x, is_leaf=is_leaf)

    def restrict(
        self, func: Callable[..., Any], args: tuple, kwargs: dict, places: Sequence[int]
    ) -> Callable[..., Any]:
        """Return `func` as a function of the chosen arguments; the others are replaced by stand-ins."""
        entered = tuple([x if i in places else self.enter(x) for i, x in enumerate(args)])
        return restrict_arguments(func, entered, kwargs, places)

    def collect(self, result, name: str = "", has_aux: bool = False) -> Result:
        """Convert the result of the function, while the tape is the innermost level, to the output."""
        parts = split_aux(result, name) if has_aux else (result,)
        self.results = [Result(part, self.tape) for part in parts]
        return self.results[0]

    def release_results(self) -> list[Any]:
        """Return [output], or [output, aux], as outer Tensors."""
        return [
            result.structure.unflatten(self.release_leaves(result, [None] * len(result.leaves)))
            for result in self.results
        ]

    def release_leaves(self, result: Result, places: Sequence[int | None]) -> list[Any]:
        """Return the outer Tensors for the leaves of a result, with their mapped dimensions at `places`; equal leaves
        give one Tensor."""
        if len(places) == 1:
            return [self.release(result.leaves[0], result.values[0], places[0])]
        made: dict[Any, Any] = {}
        for leaf, value, place in zip(result.leaves, result.values, places):
            if (id(leaf), place) not in made:
                made[id(leaf), place] = self.release(leaf, value, place)
        return [made[id(leaf), place] for leaf, place in zip(result.leaves, places)]

    def write_back_arguments(self) -> None:
        """Write the values of stand-ins back into the arguments, because traced values share no memory. One whose shape
        alone was changed stands for its argument no more."""
        for inside, outside, dim, before, _ in list(self.found.values()):
            if inside is outside or memory_array(refresh(inside)) is before:
                continue
            if not inside._fx_value_version:
                del self.found[id(inside)]
                continue
            with use_context(
                with_modes(CURRENT.get(), grad=current_modes().grad and inside._fx_was_replaced_with_grad)
            ):
                ensure_modifiable(outside)
                made = self.wrap_outer(inside._fx_value, dim)
                if made._fx_node is not None and is_array(made._fx_value):
                    # Its node is older than what was computed of it inside, and may not become younger.
                    protect_residuals(made.grad_fn, memory_array(outside), made._fx_value, made)
                    made = alias(made)
                assign(outside, made, "copy_")
            count_changes(outside, change_count(inside) - 1)

    def wrap_outer(self, value, place: int | None) -> Any:
        """Wrap a value as an outer Tensor, with the mapped dimension at `place`; return any other value unchanged."""
        return wrap_tree(value)

    def is_mapped(self, value) -> bool:
        """Whether an inner value has the mapped dimension outside."""
        return False

    def steps(self, chain: ViewChain, dim: int | None, place: int | None) -> ViewChain:
        """Translate the chain of a view to outer Tensors."""
        return chain

    def release(self, result, value, place: int | None = None) -> Any:
        """Return the outer Tensor for one result, with the mapped dimension at `place`."""
        made = self.wrap_outer(value, place)
        if not isinstance(result, Tensor):
            return made
        base = base_tensor(result)
        known = self.find(base) or self.note_result(base, place, made if result is base else None)
        if result is base and known.dim == place:
            return known.outside
        repeated = known.dim is None and place is not None  # along the mapped dimension, and so no view
        if result is base and not repeated:
            return known.outside.movedim(known.dim, place)
        view = None if repeated else self.release_view(result, made, known, place)
        return separate_memory(made, self.used_ids, place is None) if view is None else view

    def release_view(self, result: Tensor, made: Tensor, known: StandIn, place: int | None) -> Tensor | None:
        """Return the view of an outer Tensor that `result` is of the inner one: `made`, if that is in its memory. None
        if there is no such view."""
        chain, creation, outside = result._fx_view_meta.chain, result._fx_view_meta.creation, known.outside
        if not all(map(is_repeatable, chain.steps())):
            return None
        # What was made before the other was changed, or is read with a bit, is no view.
        unchanged = known.stamp is None or known.stamp == change_stamp(outside)
        toggling = any(map(toggles_bit, chain.steps()))
        steps = self.steps(chain, known.dim, place)
        if unchanged and not toggling and mark_as_view(made, outside, steps, creation):
            return made
        if (toggling or known.stamp is not None) and not self.is_repetition:
            return repeat_steps(steps, outside, creation)
        return None

    def find(self, base: Tensor) -> StandIn | None:
        """Find the outer Tensor for a Tensor that is no view: the Tensor itself, if it belongs to an outer level, or
        None, if it is new."""
        if id(base) not in self.found and (
            self.tape not in (base._fx_tape, base._fx_origin_tape) and is_open(base._fx_tape)
        ):
            self.note(base, base)
        return self.found.get(id(base))

    def note_result(self, base: Tensor, place: int | None, made: Tensor | None) -> StandIn:
        """Record the outer Tensor of a new Tensor that is no view: `made`, where that is given and fits."""
        mapped = self.is_mapped(refresh(base)._fx_value)
        if made is None or mapped is (place is None):
            place = 0 if mapped else None
            made = self.wrap_outer(to_outer_result(base, self.tape), place)
        outside = separate_memory(made, self.used_ids, not mapped)
        self.found[id(base)] = known = StandIn(base, outside, place, base._fx_value, None)
        return known


def is_open(tape: TapeInterpreter) -> bool:
    """Whether the level is open, or always will be."""
    return tape.permanent or any(level is tape for level in levels())


def change_stamp(tensor: Tensor) -> tuple[int, int]:
    """A stamp that changes whenever a Tensor is modified."""
    base = base_tensor(tensor)
    return base._fx_history_version, tensor_version(base)


def change_count(inside: Tensor) -> int:
    """The number of modifications of a Tensor since it began to stand for another."""
    value = inside._fx_value
    return inside._fx_value_version + (VERSIONS.version(value) if is_array(value) else 0)


def count_changes(tensor: Tensor, times: int) -> None:
    """Count the recorded modifications of a Tensor."""
    for _ in range(times):
        if is_array(tensor._fx_value):
            VERSIONS.record_change(memory_array(tensor), "copy_", source_info.user_frame())
        else:
            base_tensor(tensor)._fx_value_version += 1


def repeat_steps(steps: ViewChain, outside: Tensor, creation: str) -> Tensor:
    """Apply the view steps that were made inside to an outer Tensor, under the same modes."""
    if creation == "detached":
        return steps(outside.detach())
    with use_context(with_modes(CURRENT.get(), **CREATION_MODES.get(creation, {}))):
        return steps(outside)


def is_repeatable(step) -> bool:
    """Whether a view step can be repeated after its level is closed."""
    return not (isinstance(step, ViewStep) and any(isinstance(x, Tensor) for x in step.operands))


def toggles_bit(step) -> bool:
    """Whether a view step conjugates or negates the values in memory."""
    return isinstance(step, ViewStep) and bool(step.operation.bit)


def mark_as_view(made: Tensor, base: Tensor, chain: ViewChain, creation: str) -> bool:
    """Mark a Tensor as the view of another by a chain of steps; return False if they share no memory."""
    value = made._fx_value
    if is_array(value) is not is_array(base._fx_value) or (
        is_array(value) and memory_owner(value) is not memory_owner(base._fx_value)
    ):
        return False
    if creation != "detached" or base._fx_tape is not BASE_TAPE or not is_array(value):
        tangent = None if made._fx_view_meta is None else made._fx_view_meta.tangent
        made._fx_view_meta = make_chain_meta(base, chain, creation)
        made._fx_view_meta.tangent = tangent
        made._fx_view_meta.history_version = view_history_version(made._fx_view_meta.base, made)
    return True
