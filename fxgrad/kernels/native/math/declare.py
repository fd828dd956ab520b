"""The decorators that declare vector functions, and their registry."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from ..ir import Value


class Rule(NamedTuple):
    """The code of a primitive, the kinds of dtypes that it supports (b, i, u, f), and whether it is inlined."""

    write: Callable
    kinds: str
    inline: bool


FUNCTIONS: dict[str, Rule] = {}


def function(write: Callable[..., Value]) -> Callable[..., Value]:
    """Declare a function of floating vectors, to be called, under its Python name."""
    FUNCTIONS[write.__name__] = Rule(write, "f", False)
    return write


def in_double(write: Callable[..., Value]) -> Callable[..., Value]:
    """Make a function of doubles one of float32 as well: computed in double precision, and rounded."""

    @functools.wraps(write)
    def of_either(*operands: Value) -> Value:
        first, *_ = operands
        if first.type.element == "double":
            return write(*operands)
        cast, wide = first.function.cast, first.type.of("double")
        first, *rest = (cast("fpext", x, wide) for x in operands)
        return cast("fptrunc", first.call(write.__name__, *rest), operands[0].type)

    return of_either


def inline(kinds: str, *names: str) -> Callable[[Callable], Callable]:
    """Declare a function that is inlined at its uses, for kinds of dtypes, under its own name or others."""

    def declare(write: Callable) -> Callable:
        for name in names or (write.__name__.rstrip("_"),):
            FUNCTIONS[name] = Rule(write, kinds, True)
        return write

    return declare
