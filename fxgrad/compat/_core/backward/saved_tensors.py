"""What a Node has saved, under torch's names: `_saved_self`, `_saved_other`, …, `_saved_result`."""

from __future__ import annotations

from typing import Any

from ..errors import TensorError
from ..tape import BASE, FREED, FREED_MESSAGE, AccumulateGrad, Edge, Node
from ..tensor import Tensor, make

PREFIX = "_saved_"


def saved(node: Node, name: str) -> Any:
    """The attribute of that name: a Tensor with the history that it had; None for an operand that was not needed beside
    another.

    Raises:
        AttributeError: there is no such operand or result.
        RuntimeError: what was saved has been freed.
    """
    values = saved_values(node) if name.startswith(PREFIX) else {}
    if name not in values:
        raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
    return values[name]


def saved_values(node: Node) -> dict[str, Tensor | None]:
    """All of them."""
    if node.residuals is FREED:
        raise TensorError(FREED_MESSAGE)
    names = operand_names(node)
    values: dict[str, Tensor | None] = {}

    def tensor(value: Any, parent: Any) -> Tensor:
        return parent.variable if type(parent) is AccumulateGrad else make(BASE, value, parent)

    def operand(index: int, value: Any) -> Any:
        if index < len(names):
            for name in names:
                values.setdefault(name, None)
            values[names[index]] = tensor(value, node.parents[index])
        return value

    def result(index: int, value: Any) -> Any:
        several = node.avals is not None
        values[f"{PREFIX}result{index if several else ''}"] = tensor(
            value, Edge(node, index) if several else node
        )
        return value

    if node.rule is not None:
        node.rule.refill(node.residuals, operand, result)
    return values


def operand_names(node: Node) -> list[str]:
    """Those of the operands, where each parent is one of the operation's declared Tensors."""
    declared = getattr(node.operation, "operands", None)
    if declared is None:
        declared = ["self", "other"]
    elif len(declared) != len(node.parents) or any(d.startswith("*") for d in declared):
        return []
    return [PREFIX + ("self" if d == "input" else d) for d in declared[: len(node.parents)]]


def directory(node: Node) -> list[str]:
    """The attributes of a Node, with those of what it has saved."""
    return [*object.__dir__(node), *(() if node.residuals is FREED else saved_values(node))]


Node.attach(__getattr__=saved, __dir__=directory)
