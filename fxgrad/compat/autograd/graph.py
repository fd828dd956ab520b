"""torch.autograd.graph: the recorded graph as the user sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import source_info
from ...core.aval import aval_of
from .._core.errors import TensorError
from .._core.memory import MEMORIES, is_array
from .._core.tape import Node, as_edge
from .._core.tensor import Tensor, current, parent_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class GradientEdge(NamedTuple):
    """One result of a Node: what `backward` and `grad` take in place of the Tensor that was made there, which need not
    be alive any more. `ownership_token` is always None here."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The GradientEdge of a Tensor.

    Raises:
        RuntimeError: the Tensor requires no gradient.

    >>> import fxgrad.compat as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> torch.autograd.grad(y * y, edge)[0].item()
    18.0
    """
    parent = parent_of(current(tensor))
    if parent is None:
        raise TensorError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    node, index = as_edge(parent)
    node.__dict__["aval"] = aval_of(tensor.value)
    return GradientEdge(node, index)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a modification of Tensors in place that was made behind autograd's back, so that backward refuses what
    was computed of them before. Inference Tensors have no count."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t.is_inference_tensor and is_array(current(t).value):
            MEMORIES.modified(t.value, "increment_version", source_info.caller())


__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version"]
