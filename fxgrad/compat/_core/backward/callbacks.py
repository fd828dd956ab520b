"""How backward calls hooks, in the order that torch documents: those of the Tensor; what retains its gradient; those
before the Node; the Node, or the accumulation of a leaf; those after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core.aval import aval_of
from ..dtypes import type_name
from ..errors import ArgumentError, TensorError
from ..tape import as_edge
from ..tensor import Tensor, current
from .accumulation import accumulate, handed_out, taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tape import Node


def on_results(node: Node, ct: Any, create: bool) -> Any:
    """The cotangent of a node after the hooks of the Tensors that are its results."""
    for index, hooks in node.hooks.results.items():
        value = part(node, ct, index)
        if value is None:
            continue
        gradient = first = handed_out(value)
        for hook in hooks.now():
            found = hook(gradient)
            if found is not None:
                gradient = replacement(hook, found, gradient)
        if gradient is not first:
            value = taken(gradient, create)
            ct = value if node.avals is None else ct | {index: value}
    for index, reference in node.hooks.retaining.items():
        tensor, value = reference(), part(node, ct, index)
        if tensor is not None and value is not None and as_edge(tensor.node) == (node, index):
            accumulate(tensor, [value], create)
    return ct


def before(node: Node, ct: Any, create: bool) -> Any:
    """The cotangent of a node after the hooks before it."""
    for hook in node.hooks.before.now():
        given = gradients(node, ct)
        found = hook(given)
        if found is not None:
            cts = [None if g is None else taken(g, create) for g in replacements(hook, found, given)]
            ct = cts[0] if node.avals is None else {i: c for i, c in enumerate(cts) if c is not None}
    return ct


def after(node: Node, ct: Any, results: Sequence[Any], create: bool) -> Sequence[Any]:
    """The cotangents of a node's parents after the hooks behind it."""
    if not node.hooks.after:
        return results
    outputs = gradients(node, ct)
    for hook in node.hooks.after.now():
        inputs = tuple([None if r is None else handed_out(r) for r in results])
        found = hook(inputs, outputs)
        if found is not None:
            results = [None if g is None else taken(g, create) for g in replacements(hook, found, inputs)]
    return results


def part(node: Node, ct: Any, index: int) -> Any:
    """The cotangent of one of a node's results, or None."""
    return ct if node.avals is None else ct.get(index)


def gradients(node: Node, ct: Any) -> tuple[Tensor | None, ...]:
    """The cotangents of all results of a node, for the user."""
    values = [part(node, ct, i) for i in range(node.count)]
    return tuple([None if v is None else handed_out(v) for v in values])


def replacement(hook: Any, found: Any, given: Tensor | None) -> Tensor:
    """What a hook returned in place of a gradient: a Tensor of that dtype and shape."""
    if not isinstance(found, Tensor):
        raise ArgumentError(f"expected Variable, but hook returned '{type(found).__name__}'")
    if given is not None:
        have, want = aval_of(current(found).value), aval_of(given.value)
        if have.dtype != want.dtype:
            types = f"was {type_name(want.dtype)} got {type_name(have.dtype)}"
            raise TensorError(f"hook '{name_of(hook)}' has changed the type of value ({types})")
        if have.shape != want.shape:
            raise TensorError(f"hook '{name_of(hook)}' has changed the size of value")
    return found


def replacements(hook: Any, found: Any, given: Sequence[Any]) -> list[Any]:
    """What a hook of a Node returned in place of its gradients."""
    if not isinstance(found, tuple):
        raise ArgumentError(f"expected tuple, but hook returned '{type(found).__name__}'")
    if len(found) != len(given):
        raise TensorError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values (got {len(found)}, but expected "
            f"{len(given)})"
        )
    return [None if f is None else replacement(hook, f, g) for f, g in zip(found, given)]


def name_of(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
