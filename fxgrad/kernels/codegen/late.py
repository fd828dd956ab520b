"""Code that is written and compiled once it pays.

To write and compile straight-line Python takes a thousand times as long as a call of it, and most functions of a test,
or of a program's first second, are called a few times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.costs import FUSED_ENTRIES, LATE_CALLS
from ...core.graph import Literal

if TYPE_CHECKING:
    from ...core.graph import Equation, Var


class LateCode:
    """A function that `make` compiles after `LATE_CALLS` calls, or at the first one on large arrays. Until then
    `evaluate` computes the same.

    Calls are counted, not timed: every run of a program gives the same digits. Whoever keeps the function appends to
    `uses` what puts the code in its place. With FXGRAD_NATIVE=always it is compiled at once.
    """

    __slots__ = ("calls", "code", "evaluate", "make", "uses")

    def __init__(self, evaluate: Callable[..., Any], make: Callable[[], Callable[..., Any]]):
        self.evaluate, self.make = evaluate, make
        self.calls = 0
        self.code: Any = None
        self.uses: list[Callable[[Any], None]] = []

    def __call__(self, *values: Any) -> Any:
        if self.code is None:
            self.calls += 1
            large = any([getattr(v, "size", 0) >= FUSED_ENTRIES for v in values])
            if not large and self.calls <= LATE_CALLS and os.environ.get("FXGRAD_NATIVE") != "always":
                return self.evaluate(*values)
        return self.compile()(*values)

    def compile(self) -> Any:
        """Return the code."""
        if self.code is None:
            self.code = self.make()
        uses, self.uses = self.uses, []
        for use in uses:
            use(self.code)
        return self.code


def compile_late(function: Any) -> Any:
    """Return the code of a function that may be late."""
    return function.compile() if type(function) is LateCode else function


def carry_out(equations: Sequence[Equation], values: dict[Any, Any], plain: bool) -> None:
    """Carry out equations on the values of variables, among which results are put: by kernels, if these are plain."""
    for equation in equations:
        primitive = equation.primitive
        operands = [a.value if type(a) is Literal else values[a] for a in equation.inputs]
        results = (primitive.kernel if plain else primitive.call)(*operands, **equation.params)
        if primitive.multiple_results:
            values.update(zip(equation.outputs, results))
        else:
            values[equation.outputs[0]] = results


def read_atom(atom: Any, values: dict[Var, Any]) -> Any:
    """Return the value of a variable or literal."""
    return atom.value if type(atom) is Literal else values[atom]
