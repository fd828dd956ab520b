"""Loops over rows in two forms: as Python, and as machine code once they have run often enough."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.graph import Graph
from ..core.interpreter import CURRENT
from ..core.observer import observed_code
from ..kernels.codegen.loops import compile_scan, inline_groups
from ..kernels.group import COMPILATION, ENTRY, OPERATION
from ..kernels.native.tier import Tier
from ..passes import fusion

if TYPE_CHECKING:
    from collections.abc import Callable

# Nanoseconds that NumPy takes for the steps of one call of machine code: between calls Ctrl-C acts.
UNINTERRUPTED = 1e8


class Recurrence:
    """A scan as a function (steps, *consts, *carry, *xs, *ys) → the last carry, like that of `compile_scan`."""

    __slots__ = ("by_numpy", "cost", "native", "tier")

    def __init__(self, body: Graph, consts: int, carry: int):
        body = Graph(
            body.inputs, body.equations, body.outputs, body.captured, body.name
        )  # whose cache may keep this
        self.by_numpy = compile_scan(body, consts, carry)
        self.native: Callable[..., list[Any]] | None = None
        self.cost = OPERATION + sum(map(step_cost, inline_groups(body).equations))
        make = partial(compile_loop, body, consts, carry, self.by_numpy, self.cost)
        self.tier = Tier(make, 2 * COMPILATION, f"a loop of {len(body.equations)} operations")

    def __call__(self, steps: range, *operands: Any) -> list[Any]:
        if CURRENT.get().observer is not None:
            code = observed_code(self.by_numpy)
            if code is not self.by_numpy:
                return code(steps, *operands)
        native = self.native
        if native is None:
            native = self.native = self.tier.ask(self.cost * len(steps))
        return (native or self.by_numpy)(steps, *operands)


def step_cost(equation: Any) -> float:
    """Return the nanoseconds that NumPy takes about for an equation."""
    return OPERATION + ENTRY * max([a.aval.size for a in (*equation.inputs, *equation.outputs)])


def compile_loop(
    body: Graph, consts: int, carry: int, by_numpy: Callable[..., list[Any]], cost: float
) -> Callable[..., list[Any]]:
    """Return a scan as machine code, or `by_numpy` where that is not possible."""
    from ..kernels.native import recurrence

    body = fusion.gather_groups(inline_groups(body))
    if not recurrence.admits(body):
        return by_numpy
    return recurrence.make_loop(body, consts, carry, by_numpy, max(int(UNINTERRUPTED / cost), 1))
