"""Loops in two forms: as Python, and as machine code once they have run long enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from operator import length_hint
from typing import Any

from ..core.costs import COMPILATION, ROUND_TIME
from ..core.graph import Graph
from ..core.interpreter import CURRENT
from ..core.observer import observed_code
from ..kernels.codegen.loops import compile_scan, compile_while
from ..kernels.native import engine
from ..kernels.native.tier import Tier
from ..passes import functions


class Recurrence:
    """A scan as a function (steps, *consts, *carry, *xs, *ys) → the last carry, like that of `compile_scan`."""

    __slots__ = ("by_numpy", "carry", "consts", "cost", "native", "tier")

    def __init__(self, body: Graph, consts: int, carry: int):
        body = functions.copy_graph(body)
        self.consts, self.carry = consts, carry
        self.by_numpy = compile_scan(body, consts, carry)
        self.native: Callable[..., list[Any]] | None = None
        self.cost = functions.numpy_time(body)
        make = partial(make_native_scan, body, consts, carry, self.by_numpy)
        self.tier = Tier(make, 2 * COMPILATION, f"a loop of {len(body.equations)} operations")

    def __call__(self, steps: range, *operands: Any) -> list[Any]:
        if CURRENT.get().observer is not None:
            code = observed_code(self.by_numpy)
            if code is not self.by_numpy:
                return code(steps, *operands)
        native = self.native
        if native is not None:
            return native(steps, *operands)
        return self.run_before(steps, operands)

    @property
    def is_native(self) -> bool:
        """Whether machine code takes the steps."""
        return self.native is not None and self.native is not self.by_numpy

    def ask(self, count: int) -> bool:
        """Return whether machine code is to take so many steps."""
        if self.native is None:
            self.native = self.tier.ask(self.cost * count)
        return self.is_native

    def run_before(self, steps: range, operands: tuple) -> list[Any]:
        """Take steps in Python until there is machine code."""
        end = self.consts + self.carry
        fixed, state, stacks = operands[: self.consts], operands[self.consts : end], operands[end:]
        count = max(int(ROUND_TIME / self.cost), 1)
        while steps:
            if self.native is None:
                self.native = self.tier.ask(self.cost * min(count, len(steps)))
            if self.native is not None:
                return self.native(steps, *fixed, *state, *stacks)
            state, steps = self.by_numpy(steps[:count], *fixed, *state, *stacks), steps[count:]
        return list(state)


class Iteration:
    """A while loop as a function (*consts, *carry) → the last carry."""

    __slots__ = ("by_numpy", "consts", "cost", "max_steps", "native", "round", "tier")

    def __init__(self, cond: Graph, body: Graph, consts: int, max_steps: int | None):
        cond, body = functions.copy_graph(cond), functions.copy_graph(body)
        self.consts, self.max_steps = consts, max_steps
        self.by_numpy = compile_while(cond, body, consts, None, by_rounds=True)
        self.native: Callable[..., list[Any] | None] | None = None
        self.cost = functions.numpy_time(cond) + functions.numpy_time(body)
        self.round = max(int(ROUND_TIME / self.cost), 1)
        make = partial(make_native_while, cond, body, consts)
        self.tier = Tier(make, 2 * COMPILATION, f"a while loop of {len(body.equations)} operations")

    def __call__(self, *operands: Any) -> list[Any]:
        if CURRENT.get().observer is not None:
            code = observed_code(self.by_numpy)
            if code is not self.by_numpy:
                return code(possible_steps(self.max_steps), *operands)[:-1]
        if self.native is None and engine.mode() == "always":
            self.native = self.tier.ask(0.0)
        fixed, state, left, go_on = operands[: self.consts], operands[self.consts :], self.max_steps, True
        while go_on and left != 0:
            if self.native is not None:
                found = self.native(left, *fixed, *state)
                return self.by_numpy(possible_steps(left), *fixed, *state)[:-1] if found is None else found
            count = self.round if left is None else min(left, self.round)
            steps = iter(range(count))
            *state, go_on = self.by_numpy(steps, *fixed, *state)
            self.native = self.tier.ask(self.cost * (count - length_hint(steps)))
            left = None if left is None else left - count
        return list(state)


def possible_steps(most: int | None) -> Any:
    """Return what has an item for each step that may be taken."""
    return repeat(None) if most is None else range(most)


def make_native_scan(
    body: Graph, consts: int, carry: int, by_numpy: Callable[..., list[Any]]
) -> Callable[..., list[Any]]:
    """Return a scan as machine code, or `by_numpy` where that is not possible."""
    from ..kernels.native import recurrence

    for _ in numbers_held():
        gathered = functions.gather(body)
        if recurrence.admits(gathered, consts):
            return recurrence.make_scan(gathered, consts, carry, by_numpy)
    return by_numpy


def make_native_while(cond: Graph, body: Graph, consts: int) -> Callable[..., list[Any] | None]:
    """Return a while loop (most steps, *consts, *carry) → the last carry as machine code. It gives None where NumPy
    has to compute it."""
    from ..kernels.native import recurrence

    for _ in numbers_held():
        graphs = functions.gather(cond), functions.gather(body)
        if recurrence.admits(graphs[1], consts, graphs[0]):
            return recurrence.make_while(*graphs, consts)
    return lambda *operands: None


def is_compilable(cond: Graph, body: Graph, consts: int) -> bool:
    """Whether a while loop can be machine code here."""
    if engine.mode() == "never":
        return False
    from ..kernels.native import recurrence

    return any(
        recurrence.admits(functions.gather(body), consts, functions.gather(cond)) for _ in numbers_held()
    )


def numbers_held() -> Iterator[int]:
    """Generate the numbers of entries up to which a value is held in registers, each while it holds."""
    from ..kernels.native.steps import FEW, HELD, MANY

    for number in (MANY, FEW):
        token = HELD.set(number)
        try:
            yield number
        finally:
            HELD.reset(token)
