"""torch.autograd.graph: the recorded graph as the user sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import source_info
from ...core.aval import aval_of
from .._core.errors import TensorError
from .._core.memory import VERSIONS, is_array
from .._core.tape import Node, node_and_index
from .._core.tensor import Tensor, gradient_edge, refresh

if TYPE_CHECKING:
    from collections.abc import Iterable


class GradientEdge(NamedTuple):
    """One result of a Node, which `backward` and `grad` take in place of the Tensor that was made there, which need not
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
    parent = gradient_edge(refresh(tensor))
    if parent is None:
        raise TensorError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    node, index = node_and_index(parent)
    node.__dict__["aval"] = aval_of(tensor.value)
    return GradientEdge(node, index)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a modification of Tensors in place that was made behind autograd's back, so that backward refuses what
    was computed of them before. Inference Tensors have no count."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t.is_inference_tensor and is_array(refresh(t).value):
            VERSIONS.record_change(t.value, "increment_version", source_info.user_frame())


__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version"]
