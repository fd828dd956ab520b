"""Handlers of operations: functions that are told of each operation in the current Context before it runs, and may
return its result instead.

They are a mode (`Modes.handlers`, the innermost last). Without it this code is not reached, because fast paths serve
Contexts without modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...extend import RematPullback
from .._core.tape import Node, TapeInterpreter, no_copy

Recorded = tuple[Any, "Node | None"]  # the value of a result, or those of several, and the Node
UNKNOWN: Any = object()


class OperationCall:
    """One application of an operation to the user's operands. `known`, where it is set, is the value of its result,
    which is not computed then."""

    __slots__ = (
        "edges",
        "is_inplace",
        "known",
        "operands",
        "operation",
        "params",
        "primitive",
        "tape",
        "values",
    )

    def __init__(
        self, operands: Sequence[Any], is_inplace: bool, tape: TapeInterpreter, recorded: tuple[Any, ...]
    ):
        self.operands, self.is_inplace, self.tape, self.known = operands, is_inplace, tape, UNKNOWN
        self.primitive, self.values, self.edges, self.params, self.operation = recorded

    def record(self) -> Recorded:
        """Compute and record the operation."""
        primitive = self.primitive if self.known is UNKNOWN else KnownResult(self.primitive, self.known)
        return self.tape.record(primitive, self.values, self.edges, self.params, self.operation)


class OperationHandler:
    """The base of handlers."""

    def handle(self, call: OperationCall, proceed: Callable[[], Recorded]) -> Recorded:
        """Return what `proceed` returns, which has the handlers further out handle the call and records it."""
        return proceed()


def handle_call(
    handlers: Sequence[OperationHandler],
    operands: Sequence[Any],
    target: Any,
    tape: TapeInterpreter,
    *recorded: Any,
) -> Recorded:
    """Have an operation on operands handled, by the last of the handlers first, and recorded by a tape; `recorded` are
    the arguments of `tape.record`, `target` is the operand that is modified or None."""
    return proceed(handlers, OperationCall(operands, target is not None, tape, recorded))


def proceed(handlers: Sequence[OperationHandler], call: OperationCall) -> Recorded:
    """Have the last of the handlers handle a call, which the others then do; without handlers it is recorded."""
    return handlers[-1].handle(call, partial(proceed, handlers[:-1], call)) if handlers else call.record()


class KnownResult:
    """A primitive whose result for certain operands is known: only its rule is asked for."""

    kernel_shortcut = False

    def __init__(self, primitive: Any, result: Any):
        self.primitive, self.result = primitive, result
        self.name, self.multiple_results = primitive.name, primitive.multiple_results

    def call(self, *values: Any, **params: Any) -> Any:
        """Return the result."""
        return self.result

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        """Return the result, and the rule of the primitive with its residuals."""
        y, rule, residuals = self.primitive.vjp(self.call, values, needed, params, snapshot)
        if rule is not None and rule.saved_from is None:
            residuals = (y if self.multiple_results else [y], values, rule, residuals)
            rule = RematPullback(self.primitive, needed, params, no_copy)
        return y, rule, residuals
