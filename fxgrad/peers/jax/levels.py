"""Levels of transforms, as programs written for JAX see them: `Trace`, `Tracer`, and queries about open levels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.errors import UnsupportedError
from ...core.interpreter import CURRENT, EVAL, Context, levels, use_context
from ...core.interpreter import Tracer as HouseTracer
from ...transforms.jvp import JVPTracer as HouseJVPTracer

__all__ = [
    "JVPTracer", "Trace", "TraceTag", "Tracer", "eval_context", "find_top_trace", "get_opaque_trace_state",
    "set_current_trace", "take_current_trace", "trace_state_clean",
]  # fmt: skip


class Trace:
    """A level, as JAX shows it: equal to another that shows the same.

    Args:
        main: the interpreter.
    """

    def __init__(self, main: Any = None):
        self.main = main

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.main is other.main

    def __hash__(self) -> int:
        return id(self.main)


class TraceTag:
    """A name of a level."""


class TracerKind(type):
    """The class of `Tracer` and others, which says what `isinstance` means: classes derived from them are ordinary."""

    house = object  # what they are here: each has its own

    def __instancecheck__(cls, instance: Any) -> bool:
        if "house" not in vars(cls):
            return type.__instancecheck__(cls, instance)
        return isinstance(getattr(instance, "_fx_value", instance), cls.house)


class Tracer(metaclass=TracerKind):
    """The class of arrays whose value is traced, for `isinstance`."""

    house = HouseTracer


class JVPTracer(metaclass=TracerKind):
    """The class of arrays that a forward-mode derivative traces, for `isinstance`."""

    house = HouseJVPTracer


def get_opaque_trace_state(convention: str | None = None) -> Any:
    """Return what is equal as long as the same levels are open."""
    return tuple(levels())


def trace_state_clean() -> bool:
    """Whether no transform is open."""
    return next(levels(), None) is None


def find_top_trace(args: Any) -> Trace:
    """Return the innermost level that some arrays belong to: that of evaluation if none is traced."""
    values = [getattr(a, "_fx_value", a) for a in args]
    own = [value.interpreter for value in values if isinstance(value, HouseTracer)]
    return Trace(next((level for level in levels() if level in own), EVAL.interpreter))


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Close all levels within a block, which gets the innermost one."""
    current = CURRENT.get()
    with use_context(EVAL):
        yield Trace(current.interpreter)


@contextmanager
def set_current_trace(trace: Any, check_leaks: bool = False) -> Iterator[None]:
    """Open a level of `take_current_trace` within a block.

    Raises:
        UnsupportedError: it is a level of the program's own.
    """
    if type(trace) is not Trace:
        raise UnsupportedError(
            f"set_current_trace: {type(trace).__name__} interprets JAX's primitives",
            hint="derive it from fx.Interpreter",
        )
    with use_context(EVAL if trace.main is EVAL.interpreter else Context(trace.main)):
        yield


@contextmanager
def eval_context() -> Iterator[None]:
    """Close all levels within a block."""
    with use_context(EVAL):
        yield
