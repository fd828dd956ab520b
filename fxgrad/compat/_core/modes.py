"""The modes of the tape: whether it records, and other switches for user code.

They are part of the Context, so that each thread, each async task and each level of the stack has its own. A mode set
outside a transform does not affect the operations of its function, and is restored after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...extend import CURRENT, ERROR_STATE, EVAL, Context, use_context


class Modes(NamedTuple):
    """The modes of a Context. `grad`: operations are recorded; `inference`: results have no history and never will have
    one; `forward`: results get the tangents of dual operands; `multithreading` is remembered only: backward runs in the
    thread that calls it. `unrecorded` is for the library's own steps: the tape in charge does not record them, those
    further out do. `suspended`: nor does the tape outside all transforms, for which the tape above a batch or a tangent
    stands in. `anomaly`: nodes keep the stacks of their forward calls, and backward reports errors with them; with
    `check_nan` NaN is one. `packing`: the hooks that what nodes save goes through, the pair in force last, or, as
    `packing_refusal`, the words in which further ones are refused. `handlers`: what is told of each operation before it
    is computed, the innermost last (see `_declare.handlers`). `overriding`: the TorchFunctionModes in force, the
    innermost last (see `overriding`). `autocast`: in which precision operations compute, where that is not the
    operands' (see `_declare.autocast`)."""

    grad: bool = True
    inference: bool = False
    forward: bool = True
    multithreading: bool = True
    unrecorded: bool = False
    suspended: bool = False
    anomaly: bool = False
    check_nan: bool = True
    packing: tuple[Any, ...] = ()
    packing_refusal: str | None = None
    mutations: Any = None
    handlers: tuple[Any, ...] = ()
    overriding: tuple[Any, ...] = ()
    autocast: Any = None

    @property
    def is_recording(self) -> bool:
        """Whether operations are recorded: inference mode has the last word."""
        return self.grad and not (self.inference or self.unrecorded or self.suspended)


DEFAULT_MODES = Modes()
TOOLS = (
    "anomaly",
    "autocast",
    "check_nan",
    "packing",
    "mutations",
)  # modes that hold in backward and in transforms as well


def current_modes() -> Modes:
    """The switches of the current Context."""
    return CURRENT.get().modes or DEFAULT_MODES


def tools_of(modes: Modes | None) -> dict[str, Any]:
    """The modes that rules and transforms need, by name; an empty dict if all have their defaults."""
    return {} if modes is None else {name: getattr(modes, name) for name in TOOLS}


def current_tools() -> dict[str, Any]:
    """`tools_of` the current Context."""
    return tools_of(CURRENT.get().modes)


def with_modes(context: Context, **changes) -> Context:
    """Return `context` with some switches changed."""
    if not changes:
        return context
    outermost = context.interpreter is EVAL.interpreter and context.observer is None
    if outermost and context.modes is None:
        context = EVAL
    if changes == {"grad": False} and (
        context is EVAL or context is NO_GRAD
    ):  # the commonest switch, and its end
        return NO_GRAD
    if changes == {"grad": True} and (context is EVAL or context is NO_GRAD):
        return EVAL
    if context is EVAL and changes == {"grad": False, "forward": False}:
        return QUIET
    modes: Modes | None = (context.modes or DEFAULT_MODES)._replace(**changes)
    if modes == DEFAULT_MODES:
        modes = None
        if outermost:
            return EVAL
    elif outermost and modes == NO_GRAD.modes:
        return NO_GRAD
    elif outermost and modes == QUIET.modes:
        return QUIET
    return Context(context.interpreter, context.observer, modes)


class use_user_context(use_context):
    """A context manager for user code in the midst of the library's steps: it runs in the given Context, and
    floating-point errors are treated as before when it ends. (An error that leaves a function of torch's lets NumPy
    speak again.)"""

    __slots__ = ("error_state",)

    def __enter__(self) -> None:
        self.error_state = ERROR_STATE.get()
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__()
        ERROR_STATE.set(self.error_state)


# Outside all transforms the Contexts that fast paths know by identity are EVAL, where operations are recorded, and two
# where they are not: under no_grad, and in the forward of a Function, where there are no tangents either.
NO_GRAD = Context(EVAL.interpreter, None, DEFAULT_MODES._replace(grad=False))
QUIET = Context(EVAL.interpreter, None, DEFAULT_MODES._replace(grad=False, forward=False))
