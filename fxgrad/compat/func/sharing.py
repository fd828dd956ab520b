"""The memory that results of a transform share with Tensors outside of it.

A Tensor inside stands for one outside: an argument, or a result that was handed out. If it is a result, then so is that
one; and a view of it is handed out as the view that the same steps make there, known as one, so that what is written
into it is written into the history as well. All other results have memory of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import pytree
from ...core.interpreter import CURRENT, levels, use_context
from ...transforms.arguments import restrict_arguments
from .._core.backward.accumulation import memory_ids, separate_memory
from .._core.inplace import assign, ensure_modifiable
from .._core.memory import is_array, memory_owner
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE_TAPE
from .._core.tensor import Tensor, refresh
from .._core.views import (
    ViewChain,
    ViewStep,
    base_tensor,
    make_chain_meta,
    tensor_version,
    view_history_version,
)
from .arguments import flatten_tree, is_leaf, split_aux
from .transform_levels import enter_tape, to_outer_result, wrap_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .._core.tape import TapeInterpreter


# The modes that make a view of that creation.
CREATION_MODES: dict[str, dict[str, bool]] = {"no_grad": {"grad": False}, "inference": {"inference": True}}


class StandIn(NamedTuple):
    """A Tensor that stands for an outer one, which is mapped over `dim`; its value, and the `stamp` of the other when
    this was recorded (None: no user code has run since)."""

    inside: Tensor
    outside: Tensor
    dim: int | None
    value: Any
    stamp: tuple[int, int] | None


class Result:
    """What a function has returned: its leaves, and their values for the levels outside the tape, which outlive it."""

    __slots__ = ("leaves", "structure", "values", "whole")

    def __init__(self, whole, tape: TapeInterpreter):
        self.whole = whole
        self.leaves, self.structure = flatten_tree(whole)
        self.values = [to_outer_result(r, tape) for r in self.leaves]


class OuterTensors:
    """The outer Tensors for which Tensors of a tape stand, and the memories that are already in use.

    One outside may have a dimension more, `dim`, over which it is mapped. Of the function that is called inside, they
    bring in the arguments, and hand out the results.
    """

    results: list[Result]  # the output, and aux

    def __init__(self, tape: TapeInterpreter, given: Iterable[Any] = ()):
        self.tape = tape
        self.found: dict[int, StandIn] = {}  # by the id of the one inside
        self.used_ids = memory_ids(given)

    def note(self, inside, outside, dim: int | None = None) -> Any:
        """Record that an inner Tensor stands for an outer one; return the inner one."""
        if isinstance(inside, Tensor):
            self.found[id(inside)] = StandIn(inside, outside, dim, inside.value, change_stamp(outside))
        return inside

    def enter(self, x) -> Any:
        """Wrap the Tensors of a pytree for the tape, and record what they stand for."""

        def enter_leaf(leaf) -> Any:
            self.used_ids |= memory_ids((leaf,))
            return self.note(enter_tape(self.tape, leaf), leaf)

        return pytree.map(enter_leaf, x, is_leaf=is_leaf)

    def restrict(
        self, func: Callable[..., Any], args: tuple, kwargs: dict, places: Sequence[int]
    ) -> Callable[..., Any]:
        """Return `func` as a function of the arguments at some places; it is given stand-ins for the others."""
        entered = tuple([x if i in places else self.enter(x) for i, x in enumerate(args)])
        return restrict_arguments(func, entered, kwargs, places)

    def collect(self, result, name: str = "", has_aux: bool = False) -> Result:
        """Take what the function has returned, while the tape is the innermost level; return the output."""
        parts = split_aux(result, name) if has_aux else (result,)
        self.results = [Result(part, self.tape) for part in parts]
        return self.results[0]

    def release_results(self) -> list[Any]:
        """Return [output], or [output, aux], as outer Tensors."""
        return [
            result.structure.unflatten([self.release(r, v) for r, v in zip(result.leaves, result.values)])
            for result in self.results
        ]

    def write_back_arguments(self) -> None:
        """Write into arguments what a function wrote into the Tensors that stood for them: traced values share no
        memory. One whose shape alone was changed stands for its argument no more."""
        for inside, outside, dim, before, _ in list(self.found.values()):
            if inside is outside or refresh(inside).value is before:
                continue
            if not inside.value_version:
                del self.found[id(inside)]
                continue
            with use_context(
                with_modes(CURRENT.get(), grad=current_modes().grad and inside.was_replaced_with_grad)
            ):
                ensure_modifiable(outside)
                assign(outside, self.wrap_outer(inside.value, dim), "copy_")

    def wrap_outer(self, value, place: int | None) -> Any:
        """Wrap a value as an outer Tensor, with the mapped dimension at `place`; anything else stays as it is."""
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
        if id(base) not in self.found:
            self.note_base(base, place, made if result is base else None)
        _, outside, dim, _, then = self.found[id(base)]
        if result is base and dim == place:
            return outside
        if dim is not None or place is None:  # otherwise it was repeated along the dimension
            if result is base:
                return outside.movedim(dim, place)
            steps = result.view_meta.chain
            if all(map(is_repeatable, steps.steps())):
                steps, creation = self.steps(steps, dim, place), result.view_meta.creation
                if then is not None and then != change_stamp(
                    outside
                ):  # what was made before is no view any more
                    with use_context(with_modes(CURRENT.get(), **CREATION_MODES.get(creation, {}))):
                        return steps(outside)
                if mark_as_view(made, outside, steps, creation):
                    return made
        return separate_memory(made, self.used_ids, place is None)

    def note_base(self, base: Tensor, place: int | None, made: Tensor | None) -> None:
        """Record the outer Tensor of one that is no view: `made`, where that is given and fits."""
        if self.tape not in (base.tape, base.origin_tape) and is_open(base.tape):
            self.note(base, base)
            return
        mapped = self.is_mapped(refresh(base).value)
        if made is None or mapped is (place is None):
            place = 0 if mapped else None
            made = self.wrap_outer(to_outer_result(base, self.tape), place)
        outside = separate_memory(made, self.used_ids, not mapped)
        self.found[id(base)] = StandIn(base, outside, place, base.value, None)


def is_open(tape: TapeInterpreter) -> bool:
    """Whether the level is open, or always will be."""
    return tape.permanent or any(level is tape for level in levels())


def change_stamp(tensor: Tensor) -> tuple[int, int]:
    """A stamp that changes whenever a Tensor is modified."""
    base = base_tensor(tensor)
    return base.history_version, tensor_version(base)


def is_repeatable(step) -> bool:
    """Whether a view step can be repeated after the level in which it was made is closed."""
    return not (isinstance(step, ViewStep) and any(isinstance(x, Tensor) for x in step.operands))


def mark_as_view(made: Tensor, base: Tensor, chain: ViewChain, creation: str) -> bool:
    """Mark a Tensor as the view that a chain makes of another; return False if they share no memory."""
    value = made.value
    if is_array(value) is not is_array(base.value) or (
        is_array(value) and memory_owner(value) is not memory_owner(base.value)
    ):
        return False
    if creation != "detached" or base.tape is not BASE_TAPE or not is_array(value):
        tangent = None if made.view_meta is None else made.view_meta.tangent
        made.view_meta = make_chain_meta(base, chain, creation)
        made.view_meta.tangent, made.view_meta.history_version = (
            tangent,
            view_history_version(made.view_meta.base, made),
        )
    return True
