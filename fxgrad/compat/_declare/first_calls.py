"""The first calls of an operation's function, before its entry point is written and compiled."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...extend import EVAL, EXACT, SCALARS, costs
from .._core.dtypes import dtype
from .._core.modes import NO_GRAD
from .._core.tensor import Tensor

NOT_TAKEN: Any = object()
SIMPLE = EXACT | {float, complex, dtype, np.dtype}  # what static parameters may be


class FirstCalls:
    """The first calls of an operation on Tensors and simple parameters, where no mode is on. All others, and
    whatever is wrong with arguments, are left to the entry point."""

    __slots__ = ("calls", "names", "op", "positional")

    def __init__(self, op: Any):
        self.op, self.calls = op, 0
        self.names: list[str] = []
        self.positional: list[str] = []

    def __call__(self, context: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result, or NOT_TAKEN."""
        op = self.op
        self.calls += 1
        if self.calls > costs.LATE_CALLS or not (context is EVAL or context is NO_GRAD):
            return NOT_TAKEN
        if self.calls == 1:
            parameters = op.parameters
            if os.environ.get("FXGRAD_NATIVE") == "always" or any(
                [p.kind is p.VAR_POSITIONAL for p in parameters]
            ):
                self.calls = costs.LATE_CALLS
                return NOT_TAKEN
            self.names = [p.name for p in parameters]
            self.positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(self.positional):
            return NOT_TAKEN
        given = dict(zip(self.positional, args))
        for name, value in kwargs.items():
            if name in given or name not in self.names:
                return NOT_TAKEN
            given[name] = value
        operands = op.names if op.arguments is None else self.names
        for name, value in given.items():
            if not is_simple_operand(value) if name in operands else not is_simple(value):
                return NOT_TAKEN
        if type(given.get("input")) in SCALARS and not op.numbers:
            return NOT_TAKEN
        for p in op.parameters:
            if p.name not in given:
                if p.default is p.empty:
                    return NOT_TAKEN
                given[p.name] = p.default
        if op.arguments is not None:
            return op(*op.arguments(**given))
        params = {name: given[name] for name in self.names if name not in operands}
        return op(tuple([given[name] for name in operands]), params)


def is_simple(value: Any) -> bool:
    """Whether a static parameter is a simple value, or a tuple of such."""
    return type(value) in SIMPLE or (type(value) is tuple and SIMPLE.issuperset(map(type, value)))


def is_simple_operand(value: Any) -> bool:
    """Whether an operand, or a parameter that may be one, is a Tensor, a simple value, or a sequence of such."""
    kind = type(value)
    if kind is list or kind is tuple:
        return all([type(x) is Tensor or type(x) in SIMPLE for x in value])
    return kind is Tensor or kind in SIMPLE
