"""The recorded call of a node: its parameters, which operands were given, and which of them were numbers.

Nodes store nothing for this: their rules were derived for one kind of call, and know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tape import Node


def recorded_rule(node: Node) -> Any:
    """The rule of the primitive as which a node was recorded."""
    return getattr(node.rule, "rule", node.rule)  # of a dual


def recorded_params(node: Node) -> dict[str, Any]:
    """The parameters of the operation that a node has recorded, as far as they are known."""
    rule, declared = recorded_rule(node), getattr(node.operation, "primitive", None)
    primitive = getattr(rule, "primitive", None)
    if declared is not None and primitive is declared.primitive:
        return node.operation.defaults
    return rule.params if getattr(primitive, "pattern", ()) else {}


def given_operands(node: Node) -> list[str]:
    """The declared names of a node's operands; none where not each of them is one of the declared Tensors."""
    operation = node.operation
    pattern = (
        getattr(getattr(recorded_rule(node), "primitive", None), "pattern", ()) or operation.full_pattern
    )
    given = [name for name, present in zip(operation.names, pattern) if present]
    whole = len(given) == len(node.next_edges) and all(type(present) is not int for present in pattern)
    return given if whole else []


def number_operands(node: Node) -> set[str]:
    """The names of the operands that were numbers of Python's."""
    avals = getattr(recorded_rule(node), "operands", ())
    return {name for name, aval in zip(given_operands(node), avals) if aval.weak}


def overload_name(node: Node) -> str:
    """The name of a node's operation with torch's counter, by which it tells overloads of one name apart."""
    operation = node.operation
    counter = getattr(operation, "overload", None)
    if counter is None:
        return operation.node_name
    count = int(counter(number_operands(node), recorded_params(node)))
    return f"{operation.node_name[:-1]}{count}"
