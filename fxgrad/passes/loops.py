"""What loops carry: no constant twice, and nothing that no step and no reader needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..core.graph import Equation, Graph, Literal, Var
from .common import share_common
from .draft import has_any, is_ours, stands_alone, with_inputs
from .marks import drop_marks

LOOPS = ("scan", "while_loop")


def trim_loops(graph: Graph) -> Graph:
    """Pass to the loops of a Graph every constant once, and leave out the values that they carry or stack for nobody:
    bit for bit the same values.

    >>> count = lambda n, x: fx.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, fnp.sin(s[1])), (0, x))[0]
    >>> trimmed = trim_loops(fx.make_graph(count)(3, 1.0)).equations[-1]
    >>> "sin" in {e.primitive.name for e in trimmed.params["body"].equations}
    False
    """
    if not has_any(graph, LOOPS):
        return graph
    shared = share_common(graph)
    equations: list[Equation] = []
    read = set(shared.outputs)
    for e in reversed(shared.equations):
        if e.primitive.name in LOOPS and is_ours(e) and not stands_alone(e):
            e = trim_loop(e, read)
        equations.append(e)
        read.update(e.inputs)
    if all(a is b for a, b in zip(reversed(equations), graph.equations)):
        return graph
    return Graph(shared.inputs, equations[::-1], shared.outputs, shared.captured, shared.name).prune()


def trim_loop(e: Equation, read: Collection[Any]) -> Equation:
    """Return the equation of a loop without what is passed to it twice or for nothing; `read` are the results that
    something reads."""
    params, consts = e.params, e.params["consts"]
    body, cond = drop_marks(params["body"]), params.get("cond")
    lead, operands = (
        e.inputs[: cond is None],
        e.inputs[cond is None :],
    )  # a scan is told how many steps to take
    carry = len(body.outputs) if cond is not None else params["carry"]
    carried = range(consts, consts + carry)

    inputs, numbers = list(body.inputs), first_places(operands, body.inputs, carried)
    body = substitute(body, {v: inputs[k] for v, k in zip(inputs, numbers)})
    decided = set[int]()
    if cond is not None:
        cond = substitute(cond, {v: cond.inputs[k] for v, k in zip(cond.inputs, numbers)})
        decided = {k for k, used in enumerate(cond.used_inputs()) if used}
    live = {k for k, v in enumerate(e.outputs) if v in read} | {k - consts for k in decided if k in carried}
    while True:
        needed = Graph(inputs, body.equations, [body.outputs[k] for k in sorted(live)], body.captured).prune()
        used = decided | {k for k, found in enumerate(needed.used_inputs()) if found}
        grown = live | {k - consts for k in used if k in carried}
        if grown == live:
            break
        live = grown
    kept = [k for k in range(len(inputs)) if (k - consts in live if k in carried else k in used)]
    if len(kept) == len(inputs) and len(live) == len(body.outputs):
        return e
    new = {
        **params,
        "body": Graph(
            [inputs[k] for k in kept], needed.equations, needed.outputs, needed.captured, body.name
        ),
        "consts": sum(k < consts for k in kept),
    }
    if cond is None:
        new["carry"] = sum(k in carried for k in kept)
    else:
        new["cond"] = Graph(
            [cond.inputs[k] for k in kept], cond.equations, cond.outputs, cond.captured, cond.name
        )
    given = [*lead, *(operands[k] for k in kept)]
    return Equation(e.primitive, given, [e.outputs[k] for k in sorted(live)], new, e.site, e.quiet)


def first_places(operands: Sequence[Any], inputs: Sequence[Var], carried: range) -> list[int]:
    """Return for each operand of a loop the place of the first that is the same: constants and rows, not what is
    carried."""
    met: dict[Any, int] = {}
    return [
        k if k in carried or type(a) is Literal else met.setdefault((a, k < carried.start, v.aval), k)
        for k, (a, v) in enumerate(zip(operands, inputs))
    ]


def substitute(graph: Graph, found: dict[Var, Var]) -> Graph:
    """Return a Graph with other variables in the places of some."""
    equations = [with_inputs(e, [found.get(a, a) for a in e.inputs]) for e in graph.equations]
    outputs = [found.get(a, a) for a in graph.outputs]
    return Graph(graph.inputs, equations, outputs, graph.captured, graph.name)
