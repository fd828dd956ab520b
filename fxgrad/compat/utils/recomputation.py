"""Calls that save nothing for backward: the first request for a saved value runs the call again.

The call runs under saved-tensor hooks that keep a numbered `Place` for each value. When it runs again, it saves values
in the same order, which assigns them to the places; it stops as soon as the last of them is there. So everything that
works with such hooks works here: gradients of Tensors closed over, `autograd.grad`, higher derivatives, transforms,
nested calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple

from ...extend import CURRENT, EVAL, SCALARS, Tracer, aval_of, source_info, use_context
from .._core.backward import engine
from .._core.memory import ensure_unmodified
from .._core.modes import current_modes, with_modes
from .._core.packing import PackedValue, PackingHooks
from .._core.tape import BASE_TAPE, AccumulateGrad, current_tape, next_serial
from .._core.tensor import Tensor, gradient_edge, make_tensor, refresh
from .._declare.handlers import OperationCall, OperationHandler, Recorded
from .._make import generators
from ..errors import CheckpointError, TensorError
from ..func.transform_levels import record_on
from ..ops.overloads import called_operation

ALIKE = "a function that does the same each time: no state that it changes, no test of what it ran before"
PREFIX = "torch.utils.checkpoint: "
TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to `torch.utils.checkpoint.checkpoint(...)` "
    "or wrap the code block with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)
DEBUG_TEXT = """\
{error}

You are seeing this error because you passed `debug=True` to checkpoint: the original forward and the recomputation did
not save the same. These are the operations of both, with a mark (>) where they begin to differ.

Operations of the original forward:
{first}

Operations of the recomputation, as far as it went:
{second}"""


class StopRecomputation(BaseException):
    """The recomputation can stop, because all values have been found. It passes through user code, which is not to take
    it for an error."""


class GraphExecGroup:
    """A context manager in which backward passes that use different values of a checkpointed call share its second run.

    >>> runs = []
    >>> x = torch.ones(3, requires_grad=True)
    >>> parts = torch.utils.checkpoint.checkpoint(
    ...     lambda x: runs.append(1) or (x.sin(), x.exp()), x, use_reentrant=False, early_stop=False
    ... )
    >>> with torch.utils.checkpoint.GraphExecGroup():
    ...     for part in parts:
    ...         part.sum().backward()
    >>> len(runs)
    2
    """

    def __enter__(self) -> GraphExecGroup:
        if GROUP.get() is not None:
            raise TensorError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {GROUP.get()}",
                hint="one `with GraphExecGroup():` around all of them",
            )
        GROUP.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        GROUP.set(None)


GROUP: ContextVar[GraphExecGroup | None] = ContextVar("fxgrad group of backward passes", default=None)


class Place:
    """The reference of a node to a value: its number among the values that the call saved."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int):
        self.number = number


class FoundValue(NamedTuple):
    """A value of the second run, and the serial number at the time when it was saved."""

    tensor: Tensor
    order: int


class RecomputationHooks(PackingHooks):
    """Hooks that give back the very values, so that derivatives of outer levels go on through them."""

    __slots__ = ()

    def accepts(self, value: Any) -> bool:
        """See `PackingHooks`."""
        return isinstance(value, Tracer) or super().accepts(value)


class SavedArgument:
    """A Tensor that was an argument. Saved-tensor hooks that are in force where the call is made see it, so that a call
    within another keeps no argument that the other computes again."""

    __slots__ = ("edge", "kept")

    def __init__(self, tensor: Tensor):
        packing = current_modes().packing
        self.edge = gradient_edge(refresh(tensor))
        self.kept: Tensor | PackedValue = tensor
        if packing and packing[-1].accepts(tensor._fx_value):
            self.kept = packing[-1].pack(tensor)

    def unpack(self, start: int) -> Tensor:
        """Return the Tensor; raise if it was modified in place after a serial number."""
        kept = self.kept
        if isinstance(kept, Tensor):
            ensure_unmodified(kept._fx_value, start, self.edge)
            return kept
        value = kept.unpack()
        if type(self.edge) is AccumulateGrad:
            return self.edge.stand_in(value)
        return make_tensor(kept.tape, value, self.edge)


def save_argument(x: Any) -> Any:
    """Return the form in which an argument is kept."""
    return SavedArgument(x) if isinstance(x, Tensor) else x


class CheckpointedCall:
    """A call that can be repeated to recompute the values that it saved.

    What backward has not used yet is kept for the pass that is running, or for the group to which that belongs, and for
    no other; what is asked for outside of backward is computed for that once.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple,
        kwargs: dict[str, Any],
        second: AbstractContextManager[Any],
        *,
        preserves_rng: bool,
        compares_metadata: bool,
        stops_early: bool,
        logs_operations: bool,
    ):
        self.function, self.second = function, second
        self.compares_metadata, self.stops_early = compares_metadata, stops_early
        self.tape, self.modes = current_tape(), current_modes()
        self.rng = generators.get_rng_state() if preserves_rng else None
        self.start = next_serial()
        self.args = [save_argument(x) for x in args]
        self.kwargs = {name: save_argument(x) for name, x in kwargs.items()}
        self.places: list[weakref.ref[Place]] = []
        self.metadata: list[dict[str, Any]] = []
        self.is_complete = False  # the first run
        self.kept: tuple[weakref.ref[Any] | None, dict[int, FoundValue]] = None, {}  # for whom, and what
        self.log = OperationLog() if logs_operations else None

    def run(self, args: tuple, kwargs: dict[str, Any], first: AbstractContextManager[Any]) -> Any:
        """Run the function for the first time."""
        hooks = RecomputationHooks(self.pack, self.unpack)
        with saving_by(hooks), first, logging_to(self.log):
            result = self.function(*args, **kwargs)
        self.is_complete = True
        return result

    def pack(self, tensor: Tensor) -> Place:
        """Keep the metadata of a value."""
        place = Place(len(self.places))
        self.places.append(weakref.ref(place))
        self.metadata.append(metadata_of(tensor))
        return place

    def unpack(self, place: Place) -> Tensor:
        """Return the value that belongs to a place."""
        running = GROUP.get() or engine.RUNNING.get()
        ref, found = self.kept
        if running is None or ref is None or ref() is not running or place.number not in found:
            found = self.recompute()
            if running is not None:
                self.kept = weakref.ref(running), found
        tensor, order = found.pop(place.number)
        ensure_unmodified(tensor._fx_value, order)
        return tensor

    def recompute(self) -> dict[int, FoundValue]:
        """Run the function again; return the saved values that are still needed."""
        found: dict[int, FoundValue] = {}
        metadata: list[dict[str, Any]] = []
        count = len(self.places)

        def keep(tensor: Tensor) -> Tensor:
            number, detached = len(metadata), make_tensor(tensor._fx_tape, tensor._fx_value)
            metadata.append(metadata_of(tensor))
            if number < count:
                if self.places[number]() is not None:
                    found[number] = FoundValue(detached, next_serial())
                if self.stops_early and number == count - 1:
                    raise StopRecomputation
            elif self.is_complete:  # else backward runs inside the function, of which the rest comes later
                raise CheckpointError(
                    f"{PREFIX}trying to save more tensors during recomputation than during the original forward pass."
                    + TIP,
                    hint=ALIKE,
                )
            return detached

        log = None if self.log is None else OperationLog()
        try:
            self.run_again(RecomputationHooks(keep, lambda tensor: tensor), log)
            self.check_same(metadata)
        except CheckpointError as error:
            if self.log is None or log is None:
                raise
            text = str(error).partition(TIP)[0]
            raise CheckpointError(compare_logs(text, self.log.lines, log.lines), hint=error.hint) from None
        return found

    def run_again(self, hooks: PackingHooks, log: OperationLog | None) -> None:
        """Run the function again to collect its saved values, until the hooks stop it."""
        if self.tape is BASE_TAPE:
            modes = self.modes._replace(grad=True, handlers=())
            context, observer = with_modes(EVAL, **modes._asdict()), CURRENT.get().observer
            context = context if observer is None else observer.above(context)
        else:
            context = with_modes(record_on(self.tape).context, handlers=())
        with use_context(with_modes(context, packing=())):
            args = [self.argument(x) for x in self.args]
            kwargs = {name: self.argument(x) for name, x in self.kwargs.items()}
        try:
            with (
                resume_rng(self.rng),
                use_context(with_modes(context, packing=(hooks,))),
                self.second,
                logging_to(log),
            ):
                self.function(*args, **kwargs)
        except StopRecomputation:
            pass

    def argument(self, x: Any) -> Any:
        """Return an argument for the second run."""
        return x.unpack(self.start) if type(x) is SavedArgument else x

    def check_same(self, metadata: Sequence[dict[str, Any]]) -> None:
        """Raise if the second run saved other values than the first, as far as that has come."""
        expected, found = len(self.metadata), len(metadata)
        if found < expected or (found > expected and self.is_complete):
            raise CheckpointError(
                f"{PREFIX}A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {expected}\nNumber of tensors saved during recomputation: "
                f"{found}.{TIP}",
                hint=ALIKE,
            )
        lines = [
            f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}"
            for i, (a, b) in enumerate(zip(self.metadata, metadata))
            if a != b and self.places[i]() is not None
        ]
        if self.compares_metadata and lines:
            raise CheckpointError(
                f"{PREFIX}Recomputed values for the following tensors have different metadata than during the forward "
                "pass.\n" + "\n".join(lines) + f".{TIP}",
                hint=ALIKE,
            )


def metadata_of(tensor: Tensor) -> dict[str, Any]:
    """The metadata that must be equal in both runs."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def saving_by(hooks: PackingHooks) -> use_context:
    """A context manager in which saved values pass through the given hooks."""
    context = CURRENT.get()
    return use_context(with_modes(context, packing=(*current_modes().packing, hooks)))


@contextmanager
def resume_rng(state: Tensor | None) -> Iterator[None]:
    """A context manager in which the default generator continues from a given state; then its old state returns."""
    if state is None:
        yield
        return
    before = generators.get_rng_state()
    generators.set_rng_state(state)
    try:
        yield
    finally:
        generators.set_rng_state(before)


# -- what was done ------------------------------------------
class OperationLog(OperationHandler):
    """The operations that were called, with the user's lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def handle(self, call: OperationCall, proceed: Callable[[], Recorded]) -> Recorded:
        """Write down an operation."""
        operation = called_operation(call.operation.name, call.operands, call.is_inplace)
        given = [repr(v if type(v) in SCALARS else aval_of(v)) for v in call.values]
        given += [f"{name}={v!r}" for name, v in call.params.items()]
        self.lines.append(f"{operation}({', '.join(given)})  {source_info.user_frame().describe()}")
        return proceed()


def logging_to(log: OperationLog | None) -> AbstractContextManager[Any]:
    """A context manager in which operations are logged, if there is a log."""
    if log is None:
        return nullcontext()
    return use_context(with_modes(CURRENT.get(), handlers=(*current_modes().handlers, log)))


def compare_logs(error: str, first: Sequence[str], second: Sequence[str]) -> str:
    """The text of an error with the operations of both runs."""
    same = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second)))

    def listing(lines: Sequence[str]) -> str:
        return "\n".join(f"{'>' if i == same else ' '} {line}" for i, line in enumerate(lines)) or "  none"

    return DEBUG_TEXT.format(error=error, first=listing(first), second=listing(second))
