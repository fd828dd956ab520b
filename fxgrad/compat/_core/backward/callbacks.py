"""The calls of hooks in backward, in the order that torch documents: the Tensor's hooks; those that retain its
gradient; the Node's pre-hooks; the Node, or the accumulation of a leaf; the Node's post-hooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....extend import aval_of
from ...errors import ArgumentError, TensorError
from ..dtypes import from_numpy_dtype, type_name
from ..error_messages import tensor_hint
from ..tape import AccumulateGrad, Node, node_and_index
from ..tensor import Tensor, refresh
from .accumulation import accumulate_grad, to_cotangent, to_gradient


def run_result_hooks(node: Node, ct, create_graph: bool) -> Any:
    """Run the hooks of the Tensors that are a node's results, and return the node's cotangent."""
    for index, hooks in node.hooks.result_hooks.items():
        value = result_cotangent(node, ct, index)
        if value is None:
            continue
        gradient = first = to_gradient(value)
        for hook in hooks.to_list():
            found = hook(gradient)
            if found is not None:
                gradient = check_replacement(hook, found, gradient)
        if gradient is not first:
            value = to_cotangent(gradient, create_graph)
            ct = value if node.result_avals is None else ct | {index: value}
    for index, reference in node.hooks.retaining_tensors.items():
        tensor, value = reference(), result_cotangent(node, ct, index)
        if tensor is not None and value is not None and node_and_index(tensor._fx_node) == (node, index):
            accumulate_grad(tensor, [value], create_graph)
    return ct


def run_pre_hooks(node: Node, ct, create_graph: bool) -> Any:
    """Run the pre-hooks of a node, and return its cotangent; None if they left nothing of it."""
    for hook in node.hooks.pre_hooks.to_list():
        given = result_gradients(node, ct)
        found = hook(given)
        if found is not None:
            cts = [
                None if g is None else to_cotangent(g, create_graph)
                for g in check_replacements(hook, found, given)
            ]
            ct = (
                cts[0]
                if node.result_avals is None
                else {i: c for i, c in enumerate(cts) if c is not None} or None
            )
    return ct


def run_post_accumulate_hooks(leaf: AccumulateGrad, tensor: Tensor) -> None:
    """Run the hooks of a leaf that are called when a gradient was added to its `.grad`."""
    for hook in leaf.hooks.post_accumulate_hooks.to_list():
        found = hook(tensor)
        if isinstance(found, Tensor):
            raise TensorError(
                "Tensor post accumulate grad hooks should return None.",
                hint="assign to tensor.grad in the hook",
            )
        if found is not None:
            raise not_a_gradient_error(found)


def run_post_hooks(node: Node, ct, results: Sequence[Any], create_graph: bool) -> Sequence[Any]:
    """Run the post-hooks of a node, and return the cotangents of its operands."""
    if not node.hooks.post_hooks:
        return results
    outputs = result_gradients(node, ct)
    for hook in node.hooks.post_hooks.to_list():
        inputs = tuple([None if r is None else to_gradient(r) for r in results])
        found = hook(inputs, outputs)
        if found is not None:
            results = [
                None if g is None else to_cotangent(g, create_graph)
                for g in check_replacements(hook, found, inputs)
            ]
    return results


def result_cotangent(node: Node, ct, index: int) -> Any:
    """The cotangent of one of a node's results, or None."""
    return ct if ct is None or node.result_avals is None else ct.get(index)


def result_gradients(node: Node, ct) -> tuple[Tensor | None, ...]:
    """The cotangents of all results of a node, as the user's gradients."""
    values = [result_cotangent(node, ct, i) for i in range(node.num_results)]
    return tuple([None if v is None else to_gradient(v) for v in values])


def not_a_gradient_error(found) -> ArgumentError:
    """Return the error for what a hook returned and is no Tensor."""
    return ArgumentError(
        f"expected Variable, but hook returned '{type(found).__name__}'", hint=tensor_hint(found)
    )


def check_replacement(hook, found, given: Tensor | None) -> Tensor:
    """Check what a hook returned in place of a gradient: it must be a Tensor of the same dtype and shape."""
    if not isinstance(found, Tensor):
        raise not_a_gradient_error(found)
    if given is not None:
        have, want = aval_of(refresh(found)._fx_value), aval_of(given._fx_value)
        if have.dtype != want.dtype:
            types = f"was {type_name(want.dtype)} got {type_name(have.dtype)}"
            raise TensorError(
                f"hook '{hook_name(hook)}' has changed the type of value ({types})",
                hint=f"gradient.to({from_numpy_dtype(want.dtype)})",
            )
        if have.shape != want.shape:
            raise TensorError(
                f"hook '{hook_name(hook)}' has changed the size of value",
                hint=f"return a gradient of shape {list(want.shape)}, not {list(have.shape)}",
            )
    return found


def check_replacements(hook, found, given: Sequence[Any]) -> list[Any]:
    """Check the tuple that a hook of a Node returned in place of its gradients."""
    if not isinstance(found, tuple):
        raise ArgumentError(
            f"expected tuple, but hook returned '{type(found).__name__}'",
            hint=f"return a tuple of {len(given)} gradients, or None to leave them as they are",
        )
    if len(found) != len(given):
        raise TensorError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(found)}, but expected "
            f"{len(given)})",
            hint="None in the place of a gradient that there is none of",
        )
    return [None if f is None else check_replacement(hook, f, g) for f, g in zip(found, given)]


def hook_name(hook) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
