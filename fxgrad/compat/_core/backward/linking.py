"""Gradients of piecewise linear functions, whose own derivative is 0. They do not read the operand, but torch records
that they depend on it: second derivatives are zeros there, and not missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....extend import Elementwise, Masked
from ..primitives import declare_primitive
from ..tape import Node, PrimitiveName, TapeInterpreter, TapeTracer

# The operations, and torch's name for those whose gradients are recorded under that of another.
LINKED = {
    **{f"{kind}_pool{rank}d": "" for kind in ("avg", "adaptive_avg", "adaptive_max") for rank in (1, 2, 3)},
    **{f"max_{kind}{rank}d": "" for kind in ("pool", "unpool") for rank in (1, 2, 3)},
    **{f"max_pool{rank}d_with_indices": "" for rank in (1, 2, 3)},
    "copysign": "Mul",
    **dict.fromkeys(
        ("fractional_max_pool", "hardshrink", "hardtanh", "leaky_relu", "nll_loss", "softshrink"), ""
    ),
    **{
        "prelu": "PreluKernelBackward",
        "relu": "ThresholdBackward",
        "relu6": "HardtanhBackward",
        "threshold": "",
    },
}


def zero_link(t, y, value, operand) -> Masked:
    return Masked(t, False)


linked = declare_primitive(
    Elementwise,
    "linked",
    lambda xp: lambda value, operand: value,
    (lambda t, y, *_: t, zero_link),
    linear=(0,),
)


class NameOfGradient:
    """The name of a step that computes a gradient of an operation."""

    def __init__(self, operation: Any, name: str):
        self.name = f"{operation.name}_backward"
        self.node_name = f"{name or operation.node_name.removesuffix('0')}Backward0"


NAMES: dict[str, NameOfGradient] = {}


def link_operands(tape: TapeInterpreter, node: Node, cts: Sequence[Any]) -> Sequence[Any]:
    """Let the cotangents that a node gives depend on its operands, where they do in torch."""
    operation = node.operation
    if getattr(operation, "name", "") not in LINKED or type(operation) is PrimitiveName:
        return cts
    name = NAMES.get(operation.name)
    if name is None:
        name = NAMES[operation.name] = NameOfGradient(operation, LINKED[operation.name])
    return [link(tape, parent, ct, name) for parent, ct in zip(node.next_edges, cts)]


def link(tape: TapeInterpreter, parent: Any, ct: Any, name: NameOfGradient) -> Any:
    """Return a cotangent that depends on the operand of an edge, by a derivative of 0."""
    if parent is None or ct is None:
        return ct
    ct = ct.densify() if type(ct) is Masked else ct
    own = type(ct) is TapeTracer and ct.interpreter is tape
    value, edge = (ct.primal, ct.edge) if own else (ct, None)
    y, made = tape.record(linked.primitive, (value, value), (edge, parent), {}, name)  # type: ignore[attr-defined]
    return TapeTracer(tape, y, made)
