"""The levels that the transforms open, and how Tensors go in and come out.

Above each level of values (a batch, a tangent) there is a tape, so that inside the function Tensors are Tensors:
they may be given `requires_grad_()`, and `backward()` is then that of one entry of the batch.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from ...core import pytree
from ...core.aval import aval_of, is_differentiable
from ...core.errors import ConcretizationError
from ...core.interpreter import CURRENT, Context, Interpreter, within
from ...transforms.jvp import JVPInterpreter
from ...transforms.vmap import BatchInterpreter, BatchTracer
from .._core.duals import carried, handed, seed
from .._core.errors import ArgumentValueError, TensorError
from .._core.modes import DEFAULT, Modes, with_modes
from .._core.tape import TapeInterpreter, current_tape
from .._core.tensor import LEAF, Tensor, current, lower, make, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OUTER: Any = Interpreter.__dict__["outer"]


class Permeable:
    """A level without modes of its own: what is switched inside it, is further out as well."""

    __slots__ = ()

    def passed(self, modes: Modes, inside: Modes) -> Modes:
        """The modes one level further out, where they are `modes`, for what is done under `inside`."""
        return inside

    @property
    def outer(self) -> Context:
        """The Context in which the level was opened, under the modes of now."""
        context = OUTER.__get__(self)
        modes, inside = context.modes, CURRENT.get().modes
        if modes is inside:
            return context
        passed = self.passed(modes or DEFAULT, inside or DEFAULT)
        # The tape of `grad` differentiates also the gradients that `backward` inside a batch leaves.
        passive = passed.passive and not isinstance(context.interpreter, GradTape)
        return with_modes(context, **passed._asdict() | {"silent": False, "passive": passive})

    @outer.setter
    def outer(self, context: Context) -> None:
        OUTER.__set__(self, context)


class InnerTape(Permeable, TapeInterpreter):
    """The tape above a batch or a tangent."""

    stands_in = True
    __slots__ = ()


class GradTape(InnerTape):
    """The tape of `grad` and `vjp`. It records also under `no_grad`; inside, that holds for all levels."""

    name = "grad"
    stands_in = False
    differentiates = True
    __slots__ = ("thread",)

    def __init__(self, site: Any):
        super().__init__(site)
        self.thread = 0

    def passed(self, modes: Modes, inside: Modes) -> Modes:
        return modes._replace(grad=modes.grad and inside.grad)


class VmapInterpreter(Permeable, BatchInterpreter):
    """A batch of Tensors. `randomness`: "error", "same" or "different" random numbers for its entries."""

    __slots__ = ("randomness",)

    def __init__(self, site: Any, size: int, randomness: str = "error"):
        super().__init__(site, size)
        self.randomness = randomness

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        if primitive.on_tensors:
            params = params | {"randomness": self.randomness}
        return super().process(primitive, args, params)

    def owns(self, value: Any) -> bool:
        """Whether a value is a batch of this level."""
        return type(value) is BatchTracer and value.interpreter is self

    def concrete(self, tracer: Any, operation: str) -> Any:
        if operation == "indexing":
            raise BatchedValueError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                "indexing with a boolean mask.",
                hint="the mask chooses another number of elements in each entry: torch.where(mask, x, 0)",
            )
        raise BatchedValueError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
            "support that yet."
            if operation.startswith("bool")
            else "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() "
            "on a Tensor, please try to rewrite what you're doing with other operations.",
            hint="the value differs from one entry to the next: torch.where instead of `if`, Tensors for numbers",
        )


class BatchedValueError(TensorError, ConcretizationError):
    """One value asked of a batch."""


class PushInterpreter(Permeable, JVPInterpreter):
    """Tensors with tangents."""

    __slots__ = ()


def recording(tape: TapeInterpreter) -> within:
    """A context manager: the tape is the innermost level and records, whatever the modes outside are."""
    return within(Context(tape, OUTER.__get__(tape).watching))


class running(within):
    """A context manager: the tape is recording the function of its transform, for whose derivative what other threads
    do with its Tensors would be lost."""

    __slots__ = ("tape",)

    def __init__(self, tape: GradTape):
        super().__init__(recording(tape).context)
        self.tape = tape

    def __enter__(self) -> None:
        self.tape.thread = get_ident()
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.tape.thread = 0


# -- Tensors in and out ------------------------------------------
def is_none(x: Any) -> bool:
    return x is None


def flatten(structure: Any) -> tuple[list[Any], Any]:
    """The leaves of a pytree and its structure; None is a leaf, as it is to torch."""
    return pytree.flatten(structure, is_none)


def entering(tape: TapeInterpreter, x: Any) -> Any:
    """A Tensor as one of a tape that was opened just now, in which it may then be given a history; one that has a
    history further out, and what is no Tensor, as it is."""
    if not isinstance(x, Tensor) or current(x).node is not None:
        return x
    return carried(x, make(tape, lower(x, tape)), lambda t: make(tape, lower(t, tape)))


def leaf(tape: TapeInterpreter, x: Any) -> Tensor:
    """An argument that is differentiated, as a leaf of a tape."""
    if not isinstance(x, Tensor):
        raise ArgumentValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    value = lower(x, tape)
    if not is_differentiable(aval_of(value).dtype):
        raise TensorError("only Tensors of floating point dtype can require gradients")
    return carried(x, make(tape, value, LEAF), lambda t: make(tape, lower(t, tape)))


def left(tape: TapeInterpreter, result: Any) -> Any:
    """Results as values for the levels outside a tape; all that is no Tensor as it is."""
    return pytree.map(lambda r: lowered(r, tape), result, is_leaf=is_none)


def lowered(result: Any, tape: TapeInterpreter) -> Any:
    """A result as a value for the levels outside a tape, that of a dual with its tangent."""
    return seed(result, lambda r: lower(r, tape)) if isinstance(result, Tensor) else result


def returned(values: Any) -> Any:
    """Values as Tensors of the tape in charge; what is no value (a number, None) as it is."""
    tape = current_tape()

    def tensor_of(value: Any) -> Any:
        return handed(value, lambda v: wrap(v, tape)) if hasattr(value, "shape") else value

    return pytree.map(tensor_of, values, is_leaf=is_none)


def ensure_tensors(results: Sequence[Any], message: str) -> None:
    """Raise for results that are no Tensors."""
    for r in results:
        if not isinstance(r, Tensor):
            raise TensorError(f"{message}, got unsupported type {type(r)}")


def pair(result: Any, name: str) -> tuple[Any, Any]:
    """(output, aux) of a function with `has_aux`."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TensorError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The places of the arguments that `argnums` names, none of them negative."""
    if isinstance(argnums, int):
        chosen: tuple[int, ...] = (argnums,)
    elif isinstance(argnums, tuple) and all(isinstance(i, int) for i in argnums):
        chosen = argnums
    else:
        raise TensorError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not chosen:
        raise TensorError("argnums must be non-empty")
    for i in chosen:
        if not -count <= i < count:
            raise TensorError(f"Got argnum={i}, but only {count} positional inputs")
    if len({i % count for i in chosen}) < len(chosen):
        raise TensorError(f"argnums elements must be unique, got {argnums}")
    return tuple([i % count for i in chosen])


def selected(args: Sequence[Any], argnums: Any) -> Any:
    """The arguments that `argnums` names: one for an int, a tuple of them for a tuple."""
    chosen = tuple([args[i] for i in positions(argnums, len(args))])
    return chosen if isinstance(argnums, tuple) else chosen[0]


def partial_call(
    func: Callable[..., Any], args: Sequence[Any], argnums: Any, kwargs: dict | None = None
) -> Callable[..., Any]:
    """`func` as a function of the arguments that `argnums` names."""
    places = positions(argnums, len(args))

    def called(*chosen: Any) -> Any:
        filled = list(args)
        for place, x in zip(places, chosen):
            filled[place] = x
        return func(*filled, **(kwargs or {}))

    return called
