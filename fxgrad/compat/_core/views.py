"""Views: Tensors that share memory, and with it history.

A view of an array is a NumPy view: all views see a write into one of them, also through `numpy()` and `from_numpy`.
Memory does not share history: after `y.mul_(2)` on a view `y = x[0]`, x has another grad_fn, and so has every other
view of it. A `ViewMeta` therefore stores the base of a view and the steps that made the view from it. After the base's
history was rewritten, a view makes its own history anew before it is used. Traced values have no memory: there the base
is bound to a new value, and views recompute their values as well. So do conjugates and negatives of an array, which
NumPy cannot represent without a copy (`LazyMeta`); writes into these go to the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import (
    CURRENT,
    BatchTracer,
    JVPTracer,
    PrimalTracer,
    ReverseTracer,
    aval_of,
    is_differentiable,
    ops,
    use_context,
)
from ..errors import NotSupportedError, TensorError
from .bits import has_bit, memory_array, read_with_bits
from .memory import VERSIONS, is_array, is_same_view, shares_memory
from .modes import DEFAULT_MODES, NO_GRAD, current_modes, with_modes
from .tape import (
    BASE_TAPE,
    LEAF,
    Node,
    TapeInterpreter,
    TapeTracer,
    current_tape,
    node_and_index,
    record_node,
)
from .tensor import Tensor, attach_retain_hook, gradient_edge, make_tensor, refresh, to_outer, to_tracer

# The messages for views that cannot be given another history, by the way in which they were made.
NO_REBASE_MESSAGES = {
    "multiple": "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    "no_grad": "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
    "moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
    "tracked) or both outside (if you want the inplace to be tracked).",
}
NO_REBASE_MESSAGES["custom"] = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
NO_REBASE_MESSAGES["inference"] = NO_REBASE_MESSAGES["no_grad"].replace("no_grad", "inference_mode")


class ViewMeta:
    """The view and forward-mode metadata of a Tensor: what operations look at besides its value and node.

    `base` is the Tensor of which it is a view (None: it is no view); `chain` makes it from the base; `history_version`
    and `base_version` are those of the base when this was last done, `arrays` the values of base and view when it was
    first done. `creation` says how the view was made: "default", "no_grad", "inference", "multiple" or "detached",
    which takes no part in the history. `tangent` is the TangentCell of forward mode.
    """

    __slots__ = (
        "arrays",
        "base",
        "base_version",
        "chain",
        "creation",
        "history_version",
        "is_inherited",
        "tangent",
    )
    base: Any
    chain: Any  # a ViewChain, or None
    arrays: tuple[Any, Any] | None
    bits = 0  # see `LazyMeta`

    def __init__(
        self,
        base: Tensor | None,
        chain: ViewChain | None = None,
        creation: str = "default",
        tangent=None,
        is_inherited: bool = False,
    ):
        self.base, self.chain, self.creation, self.tangent = base, chain, creation, tangent
        self.is_inherited, self.arrays = is_inherited, None
        self.history_version = 0 if base is None else base._fx_history_version
        self.base_version = tensor_version(base) if base is not None and creation in NO_REBASE_MESSAGES else 0

    def refresh_history(self, view: Tensor) -> None:
        """Refresh the view before its history is asked for. Raise if it would need another history and cannot have
        one."""
        base = self.base
        if (
            self.creation in NO_REBASE_MESSAGES
            and (base._fx_node is not None or has_outer_history(base._fx_value))
            and self.base_version != tensor_version(base)
            and current_modes().grad
        ):
            raise rebase_error(view, "its base or another view of its base has been modified inplace")
        self.refresh(view)

    def refresh(self, view: Tensor) -> None:
        """Bring the history (and a traced value) of the view up to date with its base. A view without a history, made
        under no_grad or before the base required a gradient, requires a gradient as soon as its base does: it is a
        leaf."""
        base = self.base
        if base is None:
            return
        current = type(view._fx_value) is np.ndarray and self.history_version == base._fx_history_version
        if not current and self.history_version != view_history_version(base, view):
            self.regenerate(view, base)
        cut = view._fx_node is None and base._fx_node is not None and self.creation != "detached"
        if cut and is_differentiable(aval_of(view._fx_value).dtype):
            view._fx_node = LEAF

    def regenerate(self, view: Tensor, base: Tensor) -> None:
        """Make the view from its base again: its history alone, where both are still the arrays that they were."""
        arrays = self.arrays
        unchanged = arrays is not None and arrays[0] is base._fx_value and arrays[1] is view._fx_value
        if self.creation == "default":
            node = self.chain.record(gradient_edge(base)) if unchanged else None
            view._fx_node = self.replay(view, base) if node is None else node
            attach_retain_hook(view)
        elif not unchanged:
            self.replay(view, base)
        self.history_version = view_history_version(base, view)

    def replay(self, view: Tensor, base: Tensor) -> Any:
        """Give the view the value that its steps make of its base, and return the history that goes with it."""
        modes = {"grad": True, "inference": False, "forward": False, "unrecorded": self.creation != "default"}
        with use_context(with_modes(tape_context(base._fx_tape), **modes)):
            again = self.chain(base)
        if not is_array(view._fx_value) or not is_array(again._fx_value):
            view._fx_value, view._fx_tape = again._fx_value, again._fx_tape
            self.leave_memory()
            if self.creation == "detached":
                view._fx_value = stop_outer_gradient(again._fx_value, again._fx_tape)
        elif not is_same_view(memory_array(view), memory_array(again)):
            raise NotSupportedError(
                "a view of a Tensor whose own shape was changed in place cannot be given a new history",
                hint="make the view after t_(), transpose_(), squeeze_(), …, or use the functions without underscore",
            )
        return again._fx_node

    def leave_memory(self) -> None:
        """Note that the value of the view is traced from now on."""

    def extend(self, first: Tensor, step: Callable[[Tensor], Tensor], creation: str) -> ViewMeta:
        """Make the ViewMeta of a view of `first`, the Tensor whose ViewMeta this is."""
        if self.base is None:
            return ViewMeta(first, ViewChain(None, step), creation)
        inherited = creation == "default" or self.creation == "detached"
        creation = self.creation if inherited else creation
        return ViewMeta(self.base, ViewChain(self.chain, step), creation, is_inherited=inherited)

    def without_base(self) -> ViewMeta:
        """Make the ViewMeta of a Tensor with the same value that is no view."""
        return ViewMeta(None)


class LazyMeta(ViewMeta):
    """The ViewMeta of a view whose entries are conjugates or negatives of those in memory, as the `bits` say. `memory`
    is an array there; None where the value is traced."""

    __slots__ = ("bits", "memory")
    bits: int

    def __init__(self, meta: ViewMeta, bits: int, memory):
        super().__init__(meta.base, meta.chain, meta.creation, meta.tangent, meta.is_inherited)
        self.history_version, self.bits, self.memory = meta.history_version, bits, memory

    def refresh(self, view: Tensor) -> None:
        """Bring the view up to date with its base and with its memory."""
        super().refresh(view)
        if self.memory is not None:
            view._fx_value = read_with_bits(self.memory, self.bits)

    def leave_memory(self) -> None:
        self.memory = None

    def extend(self, first: Tensor, step: Callable[[Tensor], Tensor], creation: str) -> ViewMeta:
        memory = self.memory
        if memory is not None:
            with use_context(NO_GRAD):
                memory = step(make_tensor(BASE_TAPE, memory))._fx_value
        return LazyMeta(super().extend(first, step, creation), self.bits, memory)

    def without_base(self) -> ViewMeta:
        return LazyMeta(super().without_base(), self.bits, self.memory)


def set_bits(tensor: Tensor, bits: int, memory) -> None:
    """Have a Tensor show the entries of an array in memory with these bits."""
    meta = tensor._fx_view_meta or ViewMeta(None)
    plain = ViewMeta(meta.base, meta.chain, meta.creation, meta.tangent, meta.is_inherited)
    tensor._fx_view_meta = LazyMeta(plain, bits, memory) if bits else plain
    refresh(tensor)


def carry_bits(tensor: Tensor, stand_in: Tensor) -> Tensor:
    """Copy the bits of a Tensor to the Tensor that represents it inside a transform."""
    if has_bit(tensor) and stand_in is not tensor:
        memory = memory_array(tensor) if is_array(stand_in._fx_value) else None
        stand_in._fx_view_meta = LazyMeta(
            stand_in._fx_view_meta or ViewMeta(None), tensor._fx_view_meta.bits, memory
        )
    return stand_in


def toggle_bit(
    result: Tensor, first: Tensor, step: Callable[[Tensor], Tensor], creation: str, bit: int
) -> None:
    """Make the result of `conj`, or of a negative view, a view of `first` in the same memory, with that bit where
    `first` does not have it and without where it does."""
    above = first._fx_view_meta
    if above is None:
        meta, bits = ViewMeta(first, ViewChain(None, step), creation), bit
    else:
        meta, bits = ViewMeta.extend(above, first, step, creation), above.bits ^ bit
    memory = memory_array(first) if is_array(result._fx_value) else None
    if memory is None:
        meta.history_version = view_history_version(meta.base, result)
    elif not bits:
        result._fx_value = memory
    result._fx_view_meta = LazyMeta(meta, bits, memory) if bits else meta


def rebase_error(view: Tensor, event: str) -> TensorError:
    """Return the error for a view whose history would have to be rewritten and cannot be."""
    meta = view._fx_view_meta
    creation, node = meta.creation, view._fx_node
    mode = "inference mode" if creation == "inference" else "no_grad mode"
    enabled = "in normal mode" if creation == "inference" else "with grad mode enabled"
    by_mode = creation in ("no_grad", "inference")
    if by_mode and meta.is_inherited:
        maker = meta.chain.last_step.operation.node_name.rpartition("Backward")[0]
        subject = f"Output 0 of {maker} is a view of a view which was created in {mode}"
        event = f"{event} {enabled}"
    elif by_mode or node is None or node is LEAF:  # torch says so of every view without a history
        subject, event = f"A view was created in {mode}", f"{event} {enabled}"
    else:
        index, maker = node_and_index(node)[1], node_and_index(node)[0].name().rpartition("Backward")[0]
        subject = f"Output {index} of {maker} is a view"
    hint = "a new Tensor in place of the change: x = x + y for x += y; or base[i] += y, without the view"
    return TensorError(f"{subject} and {event}. {NO_REBASE_MESSAGES[creation]}", hint=hint)


def tensor_version(tensor: Tensor) -> int:
    """How often the memory of a Tensor was modified, or a traced value replaced."""
    base = tensor if tensor._fx_view_meta is None else base_tensor(tensor)
    if base._fx_version_counter is not None:
        return base._fx_version_counter.version
    return VERSIONS.version(memory_array(tensor)) if is_array(tensor._fx_value) else base._fx_value_version


def replace_memory(tensor: Tensor, value, bits: int | None = None) -> None:
    """Give a Tensor the memory of an array, to be read with these bits (None: with those that it has). The version
    counter of its former memory goes on counting with the new one."""
    if is_array(tensor._fx_value):
        count = tensor._fx_version_counter or VERSIONS.of(memory_array(tensor))
        memory = VERSIONS.of(value)
        if memory is not count and count not in memory.linked:
            memory.linked += (count,)
        tensor._fx_version_counter = count
    tensor._fx_value = value
    meta = tensor._fx_view_meta
    if bits or (meta is not None and meta.bits):
        set_bits(tensor, meta.bits if bits is None else bits, value)


def view_history_version(base: Tensor, view: Tensor) -> int:
    """How often the history of a base was rewritten, as one of its views sees it. A traced view of an array does not
    share its memory, so modifications count as well."""
    return (
        base._fx_history_version
        if is_array(view._fx_value)
        else base._fx_history_version + tensor_version(base)
    )


def tape_context(tape: TapeInterpreter) -> Any:
    """The Context in which a tape is the current one."""
    context = CURRENT.get()
    while context.interpreter is not tape and context.interpreter.outer is not None:
        context = context.interpreter.outer
    return context


class ViewChain:
    """How a view is made from its base: the chain to the view before it, and the last step. Views share the beginnings
    of their chains."""

    __slots__ = ("last_step", "previous")

    def __init__(self, previous: ViewChain | None, last_step: Callable[[Tensor], Tensor]):
        self.previous, self.last_step = previous, last_step

    def steps(self) -> list[Any]:
        """The steps of the chain, the first one first."""
        found, steps = [], self
        while steps is not None:
            found.append(steps.last_step)
            steps = steps.previous
        return found[::-1]

    def __call__(self, tensor: Tensor) -> Tensor:
        """Apply the steps to a Tensor and return the view."""
        for step in self.steps():
            tensor = step(tensor)
        return tensor

    def record(self, edge) -> Any:
        """Record the steps anew from the gradient edge of a base, and return the view's node. Return None if there is
        nothing to record, or a step cannot be recorded without being made again."""
        for step in self.steps():
            if edge is None or step.pullback is None:
                return None
            rule, residuals, pull_plain = step.pullback
            edge = record_node(step.operation, rule, residuals, (edge,), pull_plain)
        return edge


class ViewStep:
    """One view operation as a function of its first operand. `index` says which of several results the view is.
    `pullback` is (rule, residuals, pull_plain) of the node that recorded it, where these depend on no values."""

    __slots__ = ("index", "operands", "operation", "params", "pullback")

    def __init__(self, operation, operands: Sequence[Any], params: dict, index: int | None, pullback):
        self.operation, self.operands, self.params, self.index = operation, operands, params, index
        self.pullback = pullback

    def __call__(self, tensor: Tensor) -> Tensor:
        made = self.operation((tensor, *self.operands), dict(self.params))
        return made if self.index is None else made[self.index]

    def write_back(self, value, view, tape: TapeInterpreter) -> Any:
        """Return the value that a Tensor has after its view was given the value `view`."""
        if callable(self.operation.view):
            with use_context(tape.outer):
                return self.operation.view(value, view, **self.params)
        shape = value.shape
        size = int(np.prod(shape))
        places = self(make_tensor(tape, np.arange(size).reshape(shape)))._fx_value.reshape(-1)
        with use_context(tape.outer):
            flat = ops.reshape(value, shape=(size,))
            flat = ops.update(flat, ops.reshape(view, shape=places.shape), places, index=(ops.ARRAY,))
            return ops.reshape(flat, shape=shape)


class IdentityStep:
    """The view step that returns a Tensor of the same value."""

    pullback = None

    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor

    def write_back(self, value, view, tape: TapeInterpreter) -> Any:
        """Return the view's value, as `ViewStep.write_back` does."""
        return view


def record_view(
    result: Tensor, first, operation, operands: Sequence[Any], params: dict, index: int | None = None
) -> None:
    """Record that the result of a view operation is a view of its first operand, if the two share memory."""
    made, source = result._fx_value, first._fx_value
    has_memory = type(made) is np.ndarray or is_array(made)
    shares = has_memory and shares_memory(made, source)
    if has_memory and not shares and not operation.bit:
        while type(source) is TapeTracer:  # of which this is a view that is not recorded
            source = source.primal
        if source is first._fx_value or not shares_memory(made, source):
            return
    modes = CURRENT.get().modes or DEFAULT_MODES
    creation = (
        "inference" if modes.inference else "no_grad" if not modes.grad else "multiple" if index is not None
        else "default"
    )  # fmt: skip
    node, pullback = result._fx_node, None
    if type(node) is Node and len(node.next_edges) == 1 and node.rule.saved_from == ():
        pullback = node.rule, node.residuals, node.pull_plain
    step, above = ViewStep(operation, operands[1:], params, index, pullback), first._fx_view_meta
    if not shares and operation.bit:
        toggle_bit(result, first, step, creation, operation.bit)
        return
    meta = (
        ViewMeta(first, ViewChain(None, step), creation)
        if above is None
        else above.extend(first, step, creation)
    )
    result._fx_view_meta = meta
    if not has_memory:
        meta.history_version = view_history_version(meta.base, result)
    elif meta.base is first:
        meta.arrays = source, made
    elif above is not None and above.arrays is not None and above.arrays[1] is source:
        meta.arrays = above.arrays[0], made


def make_view_meta(first: Tensor, step: Callable[[Tensor], Tensor], creation: str = "default") -> ViewMeta:
    """Make the ViewMeta of a view of `first`, which may be a view itself."""
    above = first._fx_view_meta
    if above is None:
        return ViewMeta(first, ViewChain(None, step), creation)
    return above.extend(first, step, creation)


def make_chain_meta(first: Tensor, chain: ViewChain, creation: str) -> ViewMeta:
    """Make the ViewMeta of a view that a whole chain of steps makes of `first`."""
    step, *rest = chain.steps()
    meta = make_view_meta(first, step, creation)
    for step in rest:
        meta.chain = ViewChain(meta.chain, step)
    return meta


def make_detached(tensor: Tensor, value) -> Tensor:
    """Make a Tensor without history of the value of another Tensor: of its memory, or the same place in an alias of
    that. Where the value is traced, or may become so, the new Tensor is a view that takes no part in the history."""
    tape = current_tape()
    value = stop_outer_gradient(value, tape)
    result = make_tensor(tape, value)
    if tensor._fx_tape is tape and (tape is not BASE_TAPE or not is_array(value)):
        result._fx_view_meta = make_view_meta(tensor, IdentityStep(), "detached")
    elif has_bit(tensor):
        result._fx_view_meta = LazyMeta(ViewMeta(None), tensor._fx_view_meta.bits, value)
    refresh(result)
    if tensor._fx_is_inference_tensor:
        mark_inference(result)
    return result


def mark_inference(tensor: Tensor) -> None:
    """Turn a newly made Tensor into an inference Tensor."""
    tensor._fx_is_inference_tensor = True
    meta = tensor._fx_view_meta
    if meta is None or is_array(tensor._fx_value):
        tensor._fx_view_meta = ViewMeta(None) if meta is None else meta.without_base()


def is_plain_view(tensor: Tensor) -> bool:
    """Whether a Tensor with metadata is nothing but a view of another; it is brought up to date."""
    meta = tensor._fx_view_meta
    base = meta.base
    if base is None or base._fx_view_meta is not None or meta.tangent is not None:
        return False
    is_current = (
        meta.history_version == base._fx_history_version
        and meta.creation == "default"
        and type(meta) is ViewMeta
        and type(tensor._fx_value) is np.ndarray
        and (base._fx_node is None or tensor._fx_node is not None)
    )
    if not is_current:
        meta.refresh_history(tensor)
    return True


def base_tensor(tensor: Tensor) -> Tensor:
    """Return the Tensor of which a Tensor is a view, or the Tensor itself."""
    meta = tensor._fx_view_meta
    return tensor if meta is None or meta.base is None else meta.base


def stop_outer_gradient(value, tape: TapeInterpreter) -> Any:
    """Cut the history of a value on the levels outside a tape."""
    if is_array(value):
        return value
    with use_context(tape.outer):
        return ops.stop_gradient(value)


def is_view(tensor: Tensor) -> bool:
    """Whether the tape regards a Tensor as a view; detached views do not count."""
    meta = tensor._fx_view_meta
    return meta is not None and meta.base is not None and meta.creation != "detached"


def move_to_origin(base: Tensor) -> None:
    """Move a Tensor from the level of its value to the level at which it was made."""
    base._fx_value, base._fx_node, base._fx_tape = to_tracer(base), None, base._fx_origin_tape
    base._fx_history_version += 1


def keep_history(old, value: Any, detached: bool) -> Any:
    """Return the value that replaces an old one where that is not recorded: with the history that the old one has on
    outer tapes, and also its derivatives on other levels if it is written through a detached Tensor."""
    if not isinstance(old, BatchTracer | TapeTracer | JVPTracer) and not (
        detached and isinstance(old, ReverseTracer)
    ):
        return value
    level: Any = old.interpreter
    owner = getattr(value, "interpreter", None)
    own = owner is level
    if owner is not None and not own:  # a level further in
        return value
    if isinstance(old, BatchTracer):
        batch = value.value if own else np.broadcast_to(value, (level.size, *value.shape)).copy()
        return BatchTracer(level, keep_history(old.value, batch, detached))
    primal = keep_history(old.primal, value.primal if own else value, detached)
    if isinstance(old, TapeTracer):
        return TapeTracer(level, primal, old.edge)
    if isinstance(old, ReverseTracer):
        return ReverseTracer(level, primal, old.node)
    tangent = value.tangent if own else None
    if detached:
        tangent = old.tangent
    elif old.tangent is not None:
        tangent = np.zeros(primal.shape, primal.dtype) if tangent is None else tangent
        tangent = keep_history(old.tangent, tangent, detached)
    return JVPTracer(level, primal, tangent)


def has_outer_history(value) -> bool:
    """Whether a traced value has a history on a tape further out."""
    while isinstance(value, PrimalTracer | BatchTracer):
        if isinstance(value, TapeTracer) and value.edge is not None:
            return True
        value = value.value if isinstance(value, BatchTracer) else value.primal
    return False


def rebind_value(target: Tensor, value) -> None:
    """Bind a Tensor, or its base where it is a view, to a new value: traced values have no memory to overwrite."""
    meta, base = target._fx_view_meta, base_tensor(target)
    if base is not target:
        steps, stages = meta.chain.steps(), [make_tensor(base._fx_tape, base._fx_value)]
        with use_context(with_modes(CURRENT.get(), unrecorded=True)):
            for step in steps[:-1]:
                stages.append(step(stages[-1]))
        for step, stage in zip(reversed(steps), reversed(stages)):
            value = step.write_back(to_outer(stage, base._fx_tape), value, base._fx_tape)
    detached = meta is not None and meta.creation == "detached"
    modes = current_modes()
    if detached or not (modes.grad or modes.unrecorded):
        value = keep_history(base._fx_value, value, detached)
    base._fx_was_replaced_with_grad = base._fx_was_replaced_with_grad or (modes.grad and not detached)
    base._fx_value = value
    base._fx_value_version += 1
    base._fx_history_version += 1
