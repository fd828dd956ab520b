"""The levels that transforms open, and the conversion of Tensors on entry and exit.

Above each level of values (a batch, a tangent) there is a tape, so that the function works on Tensors: they may be
given `requires_grad_()`, and `backward()` is then that of one entry of the batch.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ...extend import (
    CURRENT,
    BatchInterpreter,
    BatchTracer,
    Context,
    Interpreter,
    JVPInterpreter,
    aval_of,
    is_differentiable,
    pytree,
    use_context,
)
from .._core.duals import carry_tangent, dual_cotangent, dual_gradient
from .._core.error_messages import tensor_hint
from .._core.modes import DEFAULT_MODES, Modes, current_tools, tools_of, with_modes
from .._core.tape import TapeInterpreter, TensorPrimitive, current_tape
from .._core.tensor import LEAF, Tensor, make_tensor, refresh, to_outer, wrap
from ..errors import ArgumentValueError, BatchedValueError, TensorError
from .arguments import is_leaf

OUTER: Any = Interpreter.outer


class SharesModes:
    """A level without modes of its own: a mode that is switched inside it is switched outside as well."""

    __slots__ = ()

    def modes_outside(self, modes: Modes, inside: Modes) -> Modes:
        """Return the modes one level further out, for the modes `inside` of this level."""
        return inside

    @property
    def outer(self) -> Context:
        """The Context in which the level was opened, with the current modes."""
        context = OUTER.__get__(self)
        modes, inside = context.modes, CURRENT.get().modes
        if modes is inside:
            return context
        found = self.modes_outside(modes or DEFAULT_MODES, inside or DEFAULT_MODES)
        # The tape of `grad` differentiates also the gradients that `backward` inside a batch leaves.
        suspended = found.suspended and not isinstance(context.interpreter, GradTape)
        return with_modes(context, **found._asdict() | {"unrecorded": False, "suspended": suspended})

    @outer.setter
    def outer(self, context: Context) -> None:
        OUTER.__set__(self, context)


class InnerTape(SharesModes, TapeInterpreter):
    """The tape above a batch or a tangent."""

    is_stand_in = True
    __slots__ = ()


class GradTape(InnerTape):
    """The tape of `grad` and `vjp`. It records also under `no_grad`; inside, that holds for all levels."""

    name = "grad"
    is_stand_in = False
    is_differentiating = True
    __slots__ = ("thread",)

    def __init__(self, site):
        super().__init__(site)
        self.thread = 0

    def modes_outside(self, modes: Modes, inside: Modes) -> Modes:
        return modes._replace(grad=modes.grad and inside.grad, **tools_of(inside))


class VmapInterpreter(SharesModes, BatchInterpreter):
    """A batch of Tensors. `randomness`: "error", "same" or "different" random numbers for its entries; `dims`: the
    dimension along which an argument was mapped, where that is not the first, by the id of its batch."""

    __slots__ = ("dims", "randomness")

    def __init__(self, site, size: int, randomness: str = "error"):
        super().__init__(site, size)
        self.randomness = randomness
        self.dims: dict[int, int] = {}

    def process(self, primitive, args: tuple, params: dict) -> Any:
        if isinstance(primitive, TensorPrimitive):
            dims = [self.dims.get(id(a.value), 0) if self.owns(a) else None for a in args]
            params = params | {"randomness": self.randomness, "dims": dims}
        return super().process(primitive, args, params)

    def owns(self, value) -> bool:
        """Whether a value is a batch of this level."""
        return type(value) is BatchTracer and value.interpreter is self

    def concretize(self, tracer, operation: str) -> Any:
        message, hint = WORDS.get(operation.removesuffix("()"), WORDS["item"])
        raise BatchedValueError(message, hint=hint)


DIFFERENT_VALUES = (
    "the value differs from one entry to the next: torch.where instead of `if`, Tensors for numbers"
)
DIFFERENT_SHAPES = "the number of elements differs from one entry to the next: torch.where(mask, x, 0)"
# Why an operation that asks for a value is refused, in torch's words, and what to write instead.
WORDS = {
    "item": (
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        "Tensor, please try to rewrite what you're doing with other operations.",
        DIFFERENT_VALUES,
    ),
    "bool": (
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
        "that yet.",
        DIFFERENT_VALUES,
    ),
    "one_hot": (
        "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.",
        DIFFERENT_SHAPES,
    ),
    "indexing": (
        "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
        "with a boolean mask.",
        DIFFERENT_SHAPES,
    ),
    "masked_select": (
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
        "each batch this would return a differently shaped Tensor.",
        DIFFERENT_SHAPES,
    ),
    **{
        name: (
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"aten::{name}.",
            DIFFERENT_SHAPES,
        )
        for name in ("nonzero", "unique", "unique_consecutive", "where")
    },
}


class TangentInterpreter(SharesModes, JVPInterpreter):
    """The level of `jvp`: Tensors with tangents."""

    __slots__ = ()


def record_on(tape: TapeInterpreter) -> use_context:
    """A context manager: the tape is the innermost level and records, whatever the modes outside are, except
    tools."""
    return use_context(with_modes(Context(tape, OUTER.__get__(tape).observer), **current_tools()))


class record_in_thread(use_context):
    """A context manager: the tape records the function of its transform in this thread. What other threads did with its
    Tensors would be lost to the derivative."""

    __slots__ = ("tape",)

    def __init__(self, tape: GradTape):
        super().__init__(record_on(tape).context)
        self.tape = tape

    def __enter__(self) -> None:
        self.tape.thread = get_ident()
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.tape.thread = 0


# -- Tensors in and out ------------------------------------------
def enter_tape(tape: TapeInterpreter, x) -> Any:
    """Wrap a Tensor for a newly opened tape, on which it may get a history. A Tensor with a history further out, and
    anything else, is returned as it is."""
    if not isinstance(x, Tensor) or refresh(x)._fx_node is not None:
        return x
    return carry_tangent(
        x, make_tensor(tape, to_outer(x, tape)), lambda t: make_tensor(tape, to_outer(t, tape))
    )


def as_leaf(tape: TapeInterpreter, x) -> Tensor:
    """Wrap an argument that is differentiated as a leaf of a tape."""
    if not isinstance(x, Tensor):
        raise ArgumentValueError(
            f"Thing passed to transform API must be Tensor, got {type(x)}",
            hint=tensor_hint(x) or "argnums= of those arguments that are Tensors",
        )
    value = to_outer(x, tape)
    if not is_differentiable(aval_of(value).dtype):
        raise TensorError(
            "only Tensors of floating point dtype can require gradients",
            hint="x.to(torch.float32), or argnums= of the arguments that are floating",
        )
    return carry_tangent(x, make_tensor(tape, value, LEAF), lambda t: make_tensor(tape, to_outer(t, tape)))


def to_outer_result(result, tape: TapeInterpreter) -> Any:
    """Convert a result to a value for the levels outside a tape; a dual keeps its tangent."""
    return dual_cotangent(result, lambda r: to_outer(r, tape)) if isinstance(result, Tensor) else result


def wrap_tree(values) -> Any:
    """Wrap the values of a pytree as Tensors of the current tape; leave numbers, None and Tensors unchanged."""
    tape = current_tape()

    def wrap_leaf(value) -> Any:
        if isinstance(value, Tensor) or not hasattr(value, "shape"):
            return value
        return dual_gradient(value, lambda v: wrap(v, tape))

    return pytree.map(wrap_leaf, values, is_leaf=is_leaf)
