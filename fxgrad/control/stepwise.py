"""Loops that run one step after the other while a level observes: it is to see the operations of the body, at
the user's lines, and not those of the Graphs that the rules of a loop derive from it. Without such a level
they are one operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core import observer
from ..core.aval import PLAIN, Aval
from ..core.errors import ConcretizationError
from ..core.interpreter import concretize
from ..transforms.subgraphs import is_abstract, split_list
from . import loops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.graph import Graph


def is_stepwise(values: Sequence[Any]) -> bool:
    """Whether a loop over these values runs step by step."""
    return observer.is_stepwise() and not any(map(is_abstract, values))


def run_scan(count: Any, *args: Any, **params: Any) -> list[Any]:
    """Run a scan as one operation, or step by step."""
    if type(count) not in PLAIN or not is_stepwise(args):
        return loops.scan_primitive.call(count, *args, **params)
    body, length = params["body"], params["length"]
    fixed, state, xs = split_list(args, params["consts"], params["carry"])
    written: list[list[Any]] = [[None] * length for _ in body.out_avals[len(state) :]]
    for i in loops.step_rows(length, count, params["reverse"]):
        rows = [ops.getitem(x, index=(i,)) for x in xs]
        rows = [r.item() if v.aval.weak else r for r, v in zip(rows, body.inputs[len(fixed) + len(state) :])]
        state, ys = split_list(body(*fixed, *state, *rows), len(state))
        for column, y in zip(written, ys):
            column[i] = y
    return [*state, *map(stack_steps, written, body.out_avals[len(state) :])]


def stack_steps(rows: Sequence[Any], aval: Aval) -> Any:
    """Stack the rows into one array; those that no step wrote are zero."""
    if not rows:
        return np.zeros((0, *aval.shape), aval.dtype)
    filled = [
        np.zeros(aval.shape, aval.dtype) if r is None else ops.convert(r, dtype=aval.dtype) for r in rows
    ]
    return ops.concatenate(*[ops.reshape(r, shape=(1, *aval.shape)) for r in filled], axis=0)


def run_while(*args: Any, cond: Graph, body: Graph, consts: int, max_steps: int | None) -> list[Any]:
    """Run a while loop as one operation, or step by step, unless the number of steps differs between the
    entries of a batch."""
    if is_stepwise(args):
        try:
            fixed, state = split_list(args, consts)
            steps = 0
            while steps != max_steps and concretize(cond(*fixed, *state)[0], "bool()"):
                state = body(*fixed, *state)
                steps += 1
            return state
        except ConcretizationError:
            pass
    return loops.while_call(*args, cond=cond, body=body, consts=consts, max_steps=max_steps)
