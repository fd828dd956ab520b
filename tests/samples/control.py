"""Operations whose params are Graphs: loops, branches, implicit solutions, checkpoints.

The Graphs have the avals of the operands, so these samples are for one dtype each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fxgrad import ops
from fxgrad.control.branches import switch_call
from fxgrad.control.linear_solve import linear_solve
from fxgrad.control.loops import scan_call, while_call
from fxgrad.core.aval import Aval
from fxgrad.core.graph import Graph
from fxgrad.core.staging import stage
from fxgrad.transforms.checkpoint import remat_call
from tests.sample import Sample

VECTOR, MATRIX = Aval((3,), np.dtype(float)), Aval((3, 3), np.dtype(float))
NUMBER, INDEX = Aval((), np.dtype(float)), Aval((), np.dtype(int))
COMPLEX = Aval((3,), np.dtype(complex))


def graph_of(fun: Callable[..., Sequence[Any]], *avals: Aval) -> Graph:
    return stage(fun, avals, fun.__name__)


def sample(call: Any, *operands: tuple[str, tuple[int, ...]], reference: Any = None, **params: Any) -> Sample:
    return Sample(call.primitive.name, operands, params, reference, of=call.primitive)


# -- loops: (w; carry; x) → (carry; y)
def cell(w, c, n, x):
    new = ops.sin(c * w) + x
    return [new, n + 1, new * x * ops.convert(n, dtype=np.dtype(float))]


def mixed(w, z, x):  # a carry that is complex, and one residual that no step changes
    return [z * ops.exp(1j * ops.sin(w)) + x, ops.real(z) * ops.exp(w)]


def by_rows(count, w, c, n, xs, reverse=False):
    ys = np.zeros(len(xs))
    order = range(min(int(count), len(xs)))
    for i in reversed(order) if reverse else order:
        c, n, ys[i] = cell(w, c, np.asarray(n), xs[i])
    return np.array([c, n, *ys])


def going_on(n, w, i, x):
    return [ops.less(i, n)]


def onward(n, w, i, x):
    return [i + 1, ops.sin(x) * w]


CELL = graph_of(cell, NUMBER, NUMBER, INDEX, NUMBER)
MIXED = graph_of(mixed, VECTOR, COMPLEX, VECTOR)
WHILE = {
    "cond": graph_of(going_on, INDEX, VECTOR, INDEX, VECTOR),
    "body": graph_of(onward, INDEX, VECTOR, INDEX, VECTOR),
}
SCALARS = ("real", ()), ("real", ()), ("count", ())
LOOPS = [
    *(
        sample(
            scan_call,
            ("count", ()),
            *SCALARS,
            ("real", (3,)),
            reference=lambda *operands, reverse=reverse: by_rows(*operands, reverse=reverse),
            body=CELL,
            consts=1,
            carry=2,
            length=3,
            reverse=reverse,
        )
        for reverse in (False, True)
    ),
    sample(
        scan_call,
        ("count", ()),
        *SCALARS,
        ("real", (0,)),
        body=CELL,
        consts=1,
        carry=2,
        length=0,
        reverse=False,
    ),
    sample(
        scan_call,
        ("count", ()),
        ("real", (3,)),
        ("complex", (3,)),
        ("real", (2, 3)),
        body=MIXED,
        consts=1,
        carry=1,
        length=2,
        reverse=False,
    ),
    *(
        sample(
            while_call,
            ("count", ()),
            ("real", (3,)),
            ("count", ()),
            ("real", (3,)),
            consts=2,
            max_steps=n,
            **WHILE,
        )
        for n in (2, 5)
    ),
]


# -- branches
def left(x, y):
    return [ops.sin(x) * y, y]


def middle(x, y):
    return [x + 0.0, ops.zeros_like(y)]


def right(x, y):
    return [ops.exp(y), x * x]


BRANCHES = tuple(graph_of(f, VECTOR, VECTOR) for f in (left, middle, right))
CHOICES = [
    sample(
        switch_call,
        ("index3", ()),
        ("real", (3,)),
        ("real", (3,)),
        reference=lambda i, x, y: np.concatenate(BRANCHES[min(max(i, 0), 2)](x, y)),
        branches=BRANCHES,
    ),
    sample(switch_call, ("bool", ()), ("real", (3,)), ("real", (3,)), branches=BRANCHES[:2]),
]


# -- implicit solutions: (A; b) → x
def times(a, x):
    return [ops.contract(a, x, spec="ij,j->i")]


def solved(a, b):
    return [ops.reshape(ops.solve(a, ops.reshape(b, shape=(3, 1))), shape=(3,))]


def solved_transposed(a, b):
    return solved(ops.permute(a, axes=(1, 0)), b)


SOLVES = [
    sample(
        linear_solve,
        ("dominant", (3, 3)),
        ("real", (3,)),
        reference=np.linalg.solve,
        matvec=graph_of(times, MATRIX, VECTOR),
        solve=graph_of(solved, MATRIX, VECTOR),
        transpose_solve=graph_of(solved_transposed, MATRIX, VECTOR),
        consts=1,
    )
]

CHECKPOINTS = [sample(remat_call, ("real", (3,)), ("real", (3,)), graph=BRANCHES[0])]

SAMPLES = [*LOOPS, *CHOICES, *SOLVES, *CHECKPOINTS]
