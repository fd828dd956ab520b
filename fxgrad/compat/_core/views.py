"""Views: Tensors that share memory, and with it history.

A view of an array is a NumPy view: what is written into one is seen by all, by `numpy()` and `from_numpy` too. What
memory cannot do is history: after `y.mul_(2)` on a view `y = x[0]`, x has another grad_fn, and so has every other
view of it. An `Aspect` therefore remembers the base of a view and how to make the view from it again; when the
base's history was rewritten, the view makes its own anew before it is used. Traced values have no memory: there the
base is bound to a new value, and views make their value anew as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import aval_of, is_differentiable
from ...core.interpreter import CURRENT, within
from ...ops.indexing import ARRAY
from .errors import NotSupportedError, TensorError
from .memory import MEMORIES, is_array, root, same_place
from .modes import current_modes, with_modes
from .tape import BASE, LEAF, as_edge, current_tape
from .tensor import Tensor, follow_history, lower, make, tracer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .tape import TapeInterpreter


# Views that cannot be given another history, by the circumstances in which they were made.
REFUSED = {
    "multiple": "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    "no_grad": "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
    "moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
    "tracked) or both outside (if you want the inplace to be tracked).",
}
REFUSED["custom"] = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
REFUSED["inference"] = REFUSED["no_grad"].replace("no_grad", "inference_mode")


class Aspect:
    """What an operation has to know of a Tensor besides its value and node.

    `base` is the Tensor of which it is a view (None: it is none); `steps` make it from the base; `generation` and
    `version` are those of the base when this was last done. `creation` says under what circumstances the view was made:
    "default", "no_grad", "inference", "multiple" or "detached", which has no part in the history. `tangent` is that of
    forward mode.
    """

    __slots__ = ("base", "creation", "generation", "inherited", "steps", "tangent", "version")
    base: Any
    steps: Any

    def __init__(
        self,
        base: Tensor | None,
        steps: Steps | None = None,
        creation: str = "default",
        tangent: Any = None,
        inherited: bool = False,
    ):
        self.base, self.steps, self.creation, self.tangent = base, steps, creation, tangent
        self.inherited = inherited
        self.generation = 0 if base is None else base.generation
        self.version = version(base) if base is not None and creation in REFUSED else 0

    def use(self, view: Tensor) -> None:
        """`refresh` the view before its history is asked for. Raise where it would need another and can have none."""
        base = self.base
        if (
            self.creation in REFUSED
            and base.node is not None
            and self.version != version(base)
            and current_modes().grad
        ):
            raise refused(view, "its base or another view of its base has been modified inplace")
        self.refresh(view)

    def refresh(self, view: Tensor) -> None:
        """Bring the history (and a traced value) of the view up to date with its base. A view without one, made under
        no_grad or before the base required a gradient, requires a gradient with its base: it is a leaf."""
        base = self.base
        if base is None:
            return
        if self.generation != stage(base, view):
            self.remake(view, base)
        cut = view.node is None and base.node is not None and self.creation != "detached"
        if cut and is_differentiable(aval_of(view.value).dtype):
            view.node = LEAF

    def remake(self, view: Tensor, base: Tensor) -> None:
        """Make the view from its base once more."""
        with within(
            with_modes(context_of(base), grad=True, silent=self.creation != "default", forward=False)
        ):
            again = self.steps(base)
        if not is_array(view.value) or not is_array(again.value):
            history = self.creation != "detached"
            view.value, view.tape = again.value if history else stopped(again.value, again.tape), again.tape
        elif not same_place(view.value, again.value):
            raise NotSupportedError(
                "a view of a Tensor whose own shape was changed in place cannot be given a new history",
                hint="make the view after t_(), transpose_(), squeeze_(), …, or use the functions without underscore",
            )
        if self.creation == "default":
            view.node = again.node
            follow_history(view)
        self.generation = stage(base, view)


def refused(view: Tensor, event: str) -> TensorError:
    """The error for a view whose history would have to be rewritten."""
    aspect = view.aspect
    creation, node = aspect.creation, view.node
    mode = "inference mode" if creation == "inference" else "no_grad mode"
    by_mode = creation in ("no_grad", "inference")
    if by_mode and aspect.inherited:
        maker = aspect.steps.last.operation.node_name.partition("Backward")[0]
        subject = f"Output 0 of {maker} is a view of a view which was created in {mode}"
        event = f"{event} with grad mode enabled"
    elif by_mode or node is None or node is LEAF:
        enabled = "in normal mode" if creation == "inference" else "with grad mode enabled"
        subject, event = f"A view was created in {mode}", f"{event} {enabled}"
    else:
        index, maker = as_edge(node)[1], as_edge(node)[0].name().partition("Backward")[0]
        subject = f"Output {index} of {maker} is a view"
    return TensorError(f"{subject} and {event}. {REFUSED[creation]}")


def version(tensor: Tensor) -> int:
    """How often the memory of a Tensor was modified, or a traced value replaced."""
    base = base_of(tensor)
    if base.count is not None:
        return base.count.version
    return MEMORIES.version(tensor.value) if is_array(tensor.value) else base.replacements


def exchange(tensor: Tensor, value: Any) -> None:
    """Give a Tensor the memory of an array. Its modifications are counted on, with those of its former memory."""
    if is_array(tensor.value):
        count = tensor.count or MEMORIES.of(tensor.value)
        memory = MEMORIES.of(value)
        if memory is not count and count not in memory.also:
            memory.also += (count,)
        tensor.count = count
    tensor.value = value


def generation(base: Tensor) -> int:
    """How often the history of a Tensor was rewritten."""
    return base.generation


def stage(base: Tensor, view: Tensor) -> int:
    """The `generation` for a view of the base. A traced one, of an array, has no part in its memory."""
    return generation(base) if is_array(view.value) else generation(base) + version(base)


def renewed(base: Tensor) -> None:
    """Views of the base are to be made anew."""
    base.generation += 1


def context_of(tensor: Tensor) -> Any:
    """The Context in which the Tensor's tape is the current one."""
    context = CURRENT.get()
    tape = tensor.tape
    while context.interpreter is not tape and context.interpreter.outer is not None:
        context = context.interpreter.outer
    return context


class Steps:
    """How to make a view: the steps to the view of which it is one, and the last. Views share their first steps."""

    __slots__ = ("before", "last")

    def __init__(self, before: Steps | None, last: Callable[[Tensor], Tensor]):
        self.before, self.last = before, last

    def in_order(self) -> list[Any]:
        """All steps, the first one first."""
        found, steps = [], self
        while steps is not None:
            found.append(steps.last)
            steps = steps.before
        return found[::-1]

    def __call__(self, tensor: Tensor) -> Tensor:
        """The view of a Tensor."""
        for step in self.in_order():
            tensor = step(tensor)
        return tensor


class Step:
    """One view operation as a function of its first operand."""

    __slots__ = ("index", "operands", "operation", "params")

    def __init__(self, operation: Any, operands: Sequence[Any], params: dict, index: int | None):
        self.operation, self.operands, self.params, self.index = operation, operands, params, index

    def __call__(self, tensor: Tensor) -> Tensor:
        made = self.operation((tensor, *self.operands), dict(self.params))
        return made if self.index is None else made[self.index]

    def restored(self, value: Any, view: Any, tape: TapeInterpreter) -> Any:
        """The value of a Tensor of the tape after its view was given the value `view`."""
        if callable(self.operation.view):
            with within(tape.outer):
                return self.operation.view(value, view, **self.params)
        shape = value.shape
        size = int(np.prod(shape))
        places = self(make(tape, np.arange(size).reshape(shape))).value.reshape(-1)
        with within(tape.outer):
            flat = ops.reshape(value, shape=(size,))
            flat = ops.update(flat, ops.reshape(view, shape=places.shape), places, index=(ARRAY,))
            return ops.reshape(flat, shape=shape)


class Same:
    """The step from a Tensor to one of the same value."""

    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor

    def restored(self, value: Any, view: Any, tape: TapeInterpreter) -> Any:
        """See `Step.restored`."""
        return view


def set_view(
    result: Tensor,
    first: Any,
    operation: Any,
    operands: Sequence[Any],
    params: dict,
    index: int | None = None,
) -> None:
    """Note that the result of a view operation is a view of its first operand, if it shares its memory."""
    if is_array(result.value) and root(result.value) is not root(first.value):
        return
    modes = current_modes()
    creation = (
        "inference" if modes.inference else "no_grad" if not modes.grad else "multiple" if index is not None
        else "default"
    )  # fmt: skip
    result.aspect = derived(first, Step(operation, operands[1:], params, index), creation)
    if not is_array(result.value):
        result.aspect.generation = stage(result.aspect.base, result)


def derived(first: Tensor, step: Callable[[Tensor], Tensor], creation: str = "default") -> Aspect:
    """The aspect of a view of `first`, itself a view perhaps."""
    above = first.aspect
    if above is None or above.base is None:
        return Aspect(first, Steps(None, step), creation)
    inherited = creation == "default" or above.creation == "detached"
    creation = above.creation if inherited else creation
    return Aspect(above.base, Steps(above.steps, step), creation, inherited=inherited)


def transferred(first: Tensor, steps: Steps, creation: str) -> Aspect:
    """The aspect of a view that several steps make of `first`."""
    step, *rest = steps.in_order()
    aspect = derived(first, step, creation)
    for step in rest:
        aspect.steps = Steps(aspect.steps, step)
    return aspect


def detached(tensor: Tensor, value: Any) -> Tensor:
    """A Tensor without history whose value is that of another. Where that may be, or become, a traced one, it is a view
    without a part in the history."""
    tape = current_tape()
    value = stopped(value, tape)
    result = make(tape, value)
    if tensor.tape is tape and (tape is not BASE or not is_array(value)):
        result.aspect = derived(tensor, Same(), "detached")
    if tensor.is_inference_tensor:
        mark_inference(result)
    return result


def mark_inference(tensor: Tensor) -> None:
    """Make an inference Tensor of one that was just made."""
    tensor.is_inference_tensor = True
    if tensor.aspect is None or is_array(tensor.value):
        tensor.aspect = Aspect(None)


def base_of(tensor: Tensor) -> Tensor:
    """The Tensor of which it is a view, or itself."""
    aspect = tensor.aspect
    return tensor if aspect is None or aspect.base is None else aspect.base


def stopped(value: Any, tape: TapeInterpreter) -> Any:
    """A value without history on the levels outside of a tape."""
    if is_array(value):
        return value
    with within(tape.outer):
        return ops.stop_gradient(value)


def is_view(tensor: Tensor) -> bool:
    """Whether a Tensor is a view in the sense of the tape, which does not count detached ones."""
    aspect = tensor.aspect
    return aspect is not None and aspect.base is not None and aspect.creation != "detached"


def bring_home(base: Tensor) -> None:
    """Have a Tensor belong to the level at which it was made, and not to the one from which its value comes."""
    base.value, base.node, base.tape = tracer_of(base), None, base.home
    renewed(base)


def kept_history(base: Tensor, value: Any) -> Any:
    """The value that a base gets through a detached Tensor, with the history of the old one further out."""
    old = base.value
    if is_array(old) or not is_differentiable(aval_of(old).dtype):
        return value
    with within(base.tape.outer):
        none = ops.subtract(old, ops.stop_gradient(old))  # zeros, or NaN for what is not finite
        return ops.add(ops.stop_gradient(value), ops.where(ops.equal(none, 0), none, 0))


def replace(target: Tensor, value: Any) -> None:
    """Bind a Tensor, or where it is a view its base, to a new value: what has no memory cannot be overwritten."""
    aspect, base = target.aspect, base_of(target)
    if base is not target:
        steps, stages = aspect.steps.in_order(), [make(base.tape, base.value)]
        with within(with_modes(CURRENT.get(), silent=True)):
            for step in steps[:-1]:
                stages.append(step(stages[-1]))
        for step, stage in zip(reversed(steps), reversed(stages)):
            value = step.restored(lower(stage, base.tape), value, base.tape)
        if aspect.creation == "detached":
            value = kept_history(base, value)
    base.value = value
    base.replacements += 1
    base.recorded = base.recorded or current_modes().grad
    renewed(base)
