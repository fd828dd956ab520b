"""The values that a Node has saved, under torch's names: `_saved_self`, `_saved_other`, …, `_saved_result`."""

from __future__ import annotations

from typing import Any

from ..errors import TensorError
from ..tape import BASE_TAPE, FREED, FREED_MESSAGE, AccumulateGrad, Edge, Node
from ..tensor import Tensor, make_tensor

SAVED_PREFIX = "_saved_"


def get_saved(node: Node, name: str) -> Any:
    """Return the saved value of that name: a Tensor with the history that it had; None for an operand that was not
    needed beside another.

    Raises:
        AttributeError: there is no such operand or result.
        RuntimeError: what was saved has been freed.
    """
    values = saved_values(node) if name.startswith(SAVED_PREFIX) else {}
    if name not in values:
        raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
    return values[name]


def saved_values(node: Node) -> dict[str, Tensor | None]:
    """All saved values of a node, by name."""
    if node.residuals is FREED:
        raise TensorError(FREED_MESSAGE)
    names = saved_operand_names(node)
    values: dict[str, Tensor | None] = {}

    def tensor(value, parent) -> Tensor:
        return parent.variable if type(parent) is AccumulateGrad else make_tensor(BASE_TAPE, value, parent)

    def operand(index: int, value) -> Any:
        if index < len(names):
            for name in names:
                values.setdefault(name, None)
            values[names[index]] = tensor(value, node.next_edges[index])
        return value

    def result(index: int, value) -> Any:
        several = node.result_avals is not None
        values[f"{SAVED_PREFIX}result{index if several else ''}"] = tensor(
            value, Edge(node, index) if several else node
        )
        return value

    if node.rule is not None:
        node.rule.map_residuals(node.residuals, operand, result)
    return values


def saved_operand_names(node: Node) -> list[str]:
    """The names of a node's operands, where each edge belongs to one of the operation's declared Tensors."""
    declared = getattr(node.operation, "operands", None)
    if declared is None:
        declared = ["self", "other"]
    elif len(declared) != len(node.next_edges) or any(d.startswith("*") for d in declared):
        return []
    return [SAVED_PREFIX + ("self" if d == "input" else d) for d in declared[: len(node.next_edges)]]


def list_attributes(node: Node) -> list[str]:
    """The names of a Node's attributes, with those of its saved values."""
    return [*object.__dir__(node), *(() if node.residuals is FREED else saved_values(node))]


Node.attach(__getattr__=get_saved, __dir__=list_attributes)
