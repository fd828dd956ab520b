"""The switches of the tape: whether it records, and what else user code may turn on and off.

They are part of the Context, so that a thread, an async task and each level of the stack has its own: what is
set outside a transform does not reach the operations of its function, and comes back by itself after it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.interpreter import CURRENT, EVAL, Context


class Modes(NamedTuple):
    """The modes of a Context. `grad`: operations are recorded; `inference`: results have no history and never will have
    one; `forward`: results get the tangents of dual operands; `multithreading` is remembered only: backward runs in
    the thread that calls it. `unrecorded` is for the library's own steps: the tape in charge does not record them,
    those further out do. `suspended`: nor does the tape outside all transforms, for which the tape above a batch or a
    tangent stands in."""

    grad: bool = True
    inference: bool = False
    forward: bool = True
    multithreading: bool = True
    unrecorded: bool = False
    suspended: bool = False

    @property
    def is_recording(self) -> bool:
        """Whether operations are recorded: inference mode has the last word."""
        return self.grad and not (self.inference or self.unrecorded or self.suspended)


DEFAULT_MODES = Modes()


def current_modes() -> Modes:
    """The switches of the current Context."""
    return CURRENT.get().modes or DEFAULT_MODES


def with_modes(context: Context, **changes) -> Context:
    """Return `context` with some switches changed."""
    modes: Modes | None = (context.modes or DEFAULT_MODES)._replace(**changes)
    outermost = context.interpreter is EVAL.interpreter and context.observer is None
    if modes == DEFAULT_MODES:
        modes = None
        if outermost:
            return EVAL
    elif outermost and modes == NO_GRAD.modes:
        return NO_GRAD
    return Context(context.interpreter, context.observer, modes)


# Outside all transforms, recording and not: the Contexts that fast paths know by identity are EVAL and this one.
NO_GRAD = Context(EVAL.interpreter, None, DEFAULT_MODES._replace(grad=False))
