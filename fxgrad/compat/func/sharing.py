"""What results of a transform have in common with Tensors outside of it.

A Tensor inside stands for one outside: an argument, or a result that was handed out. If it is a result, then so is that
one; and a view of it is handed out as the view that the same steps make there, known as one, so that what is written
into it is written into the history as well. All other results have memory of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.interpreter import CURRENT, levels, within
from .._core.backward.accumulation import apart, memories
from .._core.inplace import assign, ensure_modifiable
from .._core.memory import is_array, root
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE
from .._core.tensor import Tensor, current
from .._core.views import Step, Steps, base_of, stage, transferred, version
from .transform_levels import flatten, lowered, returned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core.tape import TapeInterpreter


# The modes that make a view of that creation.
MADE: dict[str, dict[str, bool]] = {"no_grad": {"grad": False}, "inference": {"inference": True}}


class Pair(NamedTuple):
    """A Tensor that stands for one outside, which is mapped over `dim`; its value and the `moment` of the other when
    this was noted (None: no user code has run since)."""

    inside: Tensor
    outside: Tensor
    dim: int | None
    value: Any
    moment: tuple[int, int] | None


class Outside:
    """The Tensors outside for which those of a tape stand, and the memories that are somebody's.

    One outside may have a dimension more, `dim`, over which it is mapped.
    """

    def __init__(self, tape: TapeInterpreter, given: Iterable[Any] = ()):
        self.tape = tape
        self.found: dict[int, Pair] = {}  # by the id of the one inside
        self.taken = memories(given)

    def note(self, inside: Any, outside: Any, dim: int | None = None) -> None:
        """Note that a Tensor stands for another."""
        if isinstance(inside, Tensor):
            self.found[id(inside)] = Pair(inside, outside, dim, inside.value, moment(outside))

    def restore(self) -> None:
        """Write into arguments what a function wrote into the Tensors that stood for them: traced values are no
        memory. One whose shape alone was changed stands for its argument no more."""
        for inside, outside, dim, before, _ in list(self.found.values()):
            if inside is outside or current(inside).value is before:
                continue
            if not inside.replacements:
                del self.found[id(inside)]
                continue
            with within(with_modes(CURRENT.get(), grad=current_modes().grad and inside.recorded)):
                ensure_modifiable(outside)
                assign(outside, self.tensor_of(inside.value, dim), "copy_")

    def tensor_of(self, value: Any, place: int | None) -> Any:
        """A value as a Tensor outside, with the mapped dimension at `place`; what is no value as it is."""
        return returned(value)

    def maps(self, value: Any) -> bool:
        """Whether a value inside has the mapped dimension outside."""
        return False

    def steps(self, steps: Steps, dim: int | None, place: int | None) -> Steps:
        """The steps to a view as those of Tensors outside."""
        return steps

    def released(self, result: Any, values: Any) -> Any:
        """A pytree of results as it is outside; `values` are what the levels there have of it."""
        leaves, structure = flatten(result)
        return structure.unflatten([self.release(r, v) for r, v in zip(leaves, flatten(values)[0])])

    def release(self, result: Any, value: Any, place: int | None = None) -> Any:
        """One result, with the mapped dimension at `place`."""
        made = self.tensor_of(value, place)
        if not isinstance(result, Tensor):
            return made
        base = base_of(result)
        if id(base) not in self.found:
            self.meet(base, place, made if result is base else None)
        _, outside, dim, _, then = self.found[id(base)]
        if result is base and dim == place:
            return outside
        if dim is not None or place is None:  # otherwise it was repeated along the dimension
            if result is base:
                return outside.movedim(dim, place)
            steps = result.aspect.steps
            if all(map(repeatable, steps.in_order())):
                steps, creation = self.steps(steps, dim, place), result.aspect.creation
                if then is not None and then != moment(outside):  # what was made before is no view any more
                    with within(with_modes(CURRENT.get(), **MADE.get(creation, {}))):
                        return steps(outside)
                if view(made, outside, steps, creation):
                    return made
        return apart(made, self.taken, place is None)

    def meet(self, base: Tensor, place: int | None, made: Tensor | None) -> None:
        """Note which Tensor outside one is that is no view: `made`, where that is given and fits."""
        if self.tape not in (base.tape, base.home) and is_open(base.tape):
            self.note(base, base)
            return
        mapped = self.maps(current(base).value)
        if made is None or mapped is (place is None):
            place = 0 if mapped else None
            made = self.tensor_of(lowered(base, self.tape), place)
        outside = apart(made, self.taken, not mapped)
        self.found[id(base)] = Pair(base, outside, place, base.value, None)


def is_open(tape: TapeInterpreter) -> bool:
    """Whether the level is, or always will be."""
    return tape.permanent or any(level is tape for level in levels())


def moment(tensor: Tensor) -> tuple[int, int]:
    """What changes when a Tensor is modified."""
    base = base_of(tensor)
    return base.generation, version(base)


def repeatable(step: Any) -> bool:
    """Whether the step can be done when the level in which it was done first is closed."""
    return not (isinstance(step, Step) and any(isinstance(x, Tensor) for x in step.operands))


def view(made: Tensor, base: Tensor, steps: Steps, creation: str) -> bool:
    """Note that a Tensor is the view that these steps make of another; False if it does not share its memory."""
    value = made.value
    if is_array(value) is not is_array(base.value) or (
        is_array(value) and root(value) is not root(base.value)
    ):
        return False
    if creation != "detached" or base.tape is not BASE or not is_array(value):
        tangent = None if made.aspect is None else made.aspect.tangent
        made.aspect = transferred(base, steps, creation)
        made.aspect.tangent, made.aspect.generation = tangent, stage(made.aspect.base, made)
    return True
