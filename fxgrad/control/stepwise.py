"""Loops one step after the other under a level that watches, which is to see the operations of the body, at the user's
lines, and not those of the Graphs that the rules of a loop derive from it. Without such a level they are one operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core.aval import PLAIN, Aval
from ..core.errors import ConcretizationError
from ..core.interpreter import CURRENT, concrete
from ..transforms.subgraphs import is_abstract, parted
from . import loops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.graph import Graph


def in_steps(values: Sequence[Any]) -> bool:
    """Whether a loop over these values goes step by step."""
    return CURRENT.get().watching is not None and not any(map(is_abstract, values))


def scan_loop(count: Any, *args: Any, **params: Any) -> list[Any]:
    """`loops.Scan`, or its steps."""
    if type(count) not in PLAIN or not in_steps(args):
        return loops.scan.call(count, *args, **params)
    body, length = params["body"], params["length"]
    fixed, state, xs = parted(args, params["consts"], params["carry"])
    written: list[list[Any]] = [[None] * length for _ in body.out_avals[len(state) :]]
    for i in loops.positions(length, count, params["reverse"]):
        rows = [ops.getitem(x, index=(i,)) for x in xs]
        rows = [r.item() if v.aval.weak else r for r, v in zip(rows, body.inputs[len(fixed) + len(state) :])]
        state, ys = parted(body(*fixed, *state, *rows), len(state))
        for column, y in zip(written, ys):
            column[i] = y
    return [*state, *map(stacked, written, body.out_avals[len(state) :])]


def stacked(rows: Sequence[Any], aval: Aval) -> Any:
    """The rows as one array; those that no step wrote are zero."""
    if not rows:
        return np.zeros((0, *aval.shape), aval.dtype)
    filled = [
        np.zeros(aval.shape, aval.dtype) if r is None else ops.convert(r, dtype=aval.dtype) for r in rows
    ]
    return ops.concatenate(*[ops.reshape(r, shape=(1, *aval.shape)) for r in filled], axis=0)


def while_loop(*args: Any, cond: Graph, body: Graph, consts: int, max_steps: int | None) -> list[Any]:
    """`loops.While`, or its steps: not where the number of steps differs between the entries of a batch."""
    if in_steps(args):
        try:
            fixed, state = parted(args, consts)
            steps = 0
            while steps != max_steps and concrete(cond(*fixed, *state)[0], "bool()"):
                state = body(*fixed, *state)
                steps += 1
            return state
        except ConcretizationError:
            pass
    return loops.while_loop(*args, cond=cond, body=body, consts=consts, max_steps=max_steps)
