"""Transposition of a Graph that is linear in some of its inputs, by the primitives' transpose rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.aval import Aval, is_differentiable
from ..core.graph import Graph, Literal
from .masked import add_cotangents


def transpose_call(graph: Graph, operands: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Return cotangents of the operands that are given as Avals, in which a Graph is linear, for `cts` of its outputs;
    the other operands are values, and have none."""
    linear = [i for i, v in enumerate(operands) if type(v) is Aval]
    known = [i for i in range(len(operands)) if i not in linear]
    inputs = [graph.inputs[i] for i in (*known, *linear)]
    ordered = Graph(inputs, graph.equations, graph.outputs, graph.captured)
    found = dict(zip(linear, transpose_graph(ordered, [operands[i] for i in known], len(linear), cts)))
    return [found.get(i) for i in range(len(operands))]


def transpose_graph(graph: Graph, known: Sequence[Any], count: int, cts: Sequence[Any]) -> list[Any]:
    """Return cotangents of the last `count` inputs of `graph`, in which it is linear, for `cts` of the outputs.

    `known` are the values of the other inputs. What the graph computes in integers on the way is constant, unless all
    of those inputs are integers. Runs under the current interpreter; cotangents may be None (zero)
    or `Masked`. Raises `NotLinearError` where the graph is not linear in those inputs.
    """
    split = len(graph.inputs) - count
    linear = graph.dependents(graph.inputs[split:])
    floating = any(is_differentiable(v.aval.dtype) for v in graph.inputs[split:])
    values: dict[Any, Any] = dict(graph.captured)
    values.update(zip(graph.inputs[:split], known))

    def operand(atom: Any) -> Any:
        if type(atom) is Literal:
            return atom.value
        return atom.aval if atom in linear else values[atom]

    backwards = []
    for equation in graph.equations:
        if any(v in linear for v in equation.outputs):
            backwards.append(equation)
        elif linear.isdisjoint(equation.inputs):  # others are effects on linear values, not known here
            out = equation.primitive.call(*[operand(a) for a in equation.inputs], **equation.params)
            values.update(zip(equation.outputs, out if equation.primitive.multiple_results else [out]))

    pending: dict[Any, Any] = {}

    def accumulate(atom: Any, ct: Any) -> None:
        if ct is not None and type(atom) is not Literal and atom in linear:
            pending[atom] = add_cotangents(pending[atom], ct) if atom in pending else ct

    for atom, ct in zip(graph.outputs, cts):
        accumulate(atom, ct)
    for equation in reversed(backwards):
        primitive = equation.primitive
        incoming = [pending.pop(v, None) for v in equation.outputs]
        if all(ct is None for ct in incoming):
            continue
        operands = [operand(a) for a in equation.inputs]
        if floating and not any(is_differentiable(a.aval.dtype) for a in equation.outputs):
            continue
        ct = incoming if primitive.multiple_results else incoming[0]
        for atom, result in zip(equation.inputs, primitive.transpose(ct, operands, equation.params)):
            accumulate(atom, result)
    return [pending.get(v) for v in graph.inputs[split:]]
