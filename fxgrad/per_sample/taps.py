"""Taps: equations inserted into a Graph after a use of a parameter. They keep the activation that met the parameter,
and obtain the cotangent of the result.

The body of a loop or a checkpoint cannot keep values outside. There the activation becomes a further result (of a loop,
one row for each step), and a zero is added to the result of the use, whose cotangent is the wanted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import ops
from ..core.aval import Aval
from ..core.graph import Equation, Graph, Var
from ..core.interpreter import CURRENT
from ..transforms.subgraphs import cached_on_graph, split_list, zeros_of_aval
from ..transforms.vjp import primal_and_node

if TYPE_CHECKING:
    from .uses import Use


class Tap:
    """The operation (result, activation) → result that keeps the activation, and makes a leaf of reverse mode of the
    result."""

    name = "tap"
    multiple_results = False
    activation: Any
    result: Any
    leaf: list

    def call(self, result: Any, activation: Any) -> Any:
        """Return the result as a value of the current level, one of reverse mode."""
        interpreter: Any = CURRENT.get().interpreter
        tracer, self.leaf = interpreter.tap(result)
        self.result = tracer.primal
        self.activation, _ = primal_and_node(interpreter, activation)
        return tracer


class TappedCall:
    """A loop or a checkpoint with Taps in the Graph inside it, by (equation, operand that is the activation)."""

    name = "tapped_call"
    multiple_results = True

    def __init__(self, primitive: Any, taps: dict[tuple[Any, int], Tap]):
        self.primitive, self.taps = primitive, taps

    def call(self, *operands: Any, **params: Any) -> list[Any]:
        """Return the results of the loop, or of the checkpoint."""
        interpreter: Any = CURRENT.get().interpreter
        (name,) = params.keys() & {"body", "graph"}
        steps = (params["length"],) if "length" in params else ()
        inside = params[name]
        tapped = insert_inner_taps(inside, tuple(self.taps))
        like, _ = primal_and_node(interpreter, operands[-1])
        added = []
        for tap, var in zip(self.taps.values(), tapped.inputs[len(inside.inputs) :]):
            tap.result = zeros_of_aval(Aval((*steps, *var.aval.shape), var.aval.dtype), like)
            tracer, tap.leaf = interpreter.tap(tap.result)
            added.append(tracer)
        results = self.primitive.call(*operands, *added, **params | {name: tapped})
        results, activations = split_list(results, len(inside.outputs))
        for tap, activation in zip(self.taps.values(), activations):
            tap.activation, _ = primal_and_node(interpreter, activation)
        return results


@cached_on_graph
def insert_inner_taps(graph: Graph, places: tuple[tuple[int, int], ...]) -> Graph:
    """Return a Graph with further inputs that are added to the results of the equations at `places`, (index, operand
    that is the activation), and with the activations as further results."""
    added = {index: Var(graph.equations[index].outputs[0].aval) for index, _ in places}
    equations = []
    for index, e in enumerate(graph.equations):
        if index in added:
            result = Var(e.outputs[0].aval)
            equations.append(Equation(e.primitive, e.inputs, [result], e.params, e.site, e.quiet))
            e = Equation(ops.add.primitive, (result, added[index]), e.outputs, {}, e.site, e.quiet)
        equations.append(e)
    activations = [graph.equations[index].inputs[operand] for index, operand in places]
    outputs = (*graph.outputs, *activations)
    return Graph((*graph.inputs, *added.values()), equations, outputs, graph.captured, graph.name)


def insert_taps(graph: Graph, uses: Sequence[Use]) -> tuple[Graph, list[Tap]]:
    """Return the Graph with a Tap at each use, and these."""
    taps = [Tap() for _ in uses]
    found: dict[int, list[tuple[Use, Tap]]] = {}
    for use, tap in zip(uses, taps):
        found.setdefault(use.index, []).append((use, tap))
    equations: list[Any] = []
    for index, e in enumerate(graph.equations):
        here = found.get(index)
        if here is None:
            equations.append(e)
        elif here[0][0].inner is not None:
            tapped: Any = TappedCall(e.primitive, {(use.inner, use.activation): tap for use, tap in here})
            equations.append(Equation(tapped, e.inputs, e.outputs, e.params, e.site, e.quiet))
        else:
            ((use, tap),) = here
            result = Var(e.outputs[0].aval)
            equations.append(Equation(e.primitive, e.inputs, [result], e.params, e.site, e.quiet))
            operands = result, e.inputs[use.activation]
            equations.append(Equation(tap, operands, e.outputs, {}, e.site, e.quiet))  # type: ignore[arg-type]
    return Graph(graph.inputs, equations, graph.outputs, graph.captured, graph.name), taps
