"""Gradient edges: the places in a graph at which the gradients of Tensors arrive."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...extend import Aval, aval_of
from .._core.tape import AccumulateGrad, Edge, Node, node_and_index, show_node
from .._core.tensor import Tensor, gradient_edge, refresh
from ..errors import ArgumentError, DimensionError, TensorError


class GradientEdge(NamedTuple):
    """The place in a graph where the gradient of a Tensor arrives, which `backward` and `grad` take instead of it: one
    result of a Node. The Tensor that was made there need not be alive any more, unless it is a leaf, which the
    `ownership_token` keeps.

    Args:
        node: the Node.
        output_nr: the number of its result.
        ownership_token: what keeps a leaf alive, or None.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> edge.output_nr
    0
    """

    node: Node
    output_nr: int
    ownership_token: Any = None

    def _fx_edge(self) -> Node | Edge:
        """The edge by which other nodes refer to this one: see `Node.next_edges`.

        Raises:
            IndexError: the Node has no such result.
        """
        node, index = self.node, self.output_nr
        if not 0 <= index < node.num_results:
            raise DimensionError(
                f"GradientEdge: {node.name()} has no output number {index}",
                hint=f"0 to {node.num_results - 1}",
            )
        return node if node.result_avals is None else Edge(node, index)

    def _fx_aval(self) -> Aval | None:
        """The shape and dtype of the result, or None if the Node was not obtained from the Tensor."""
        node, index = node_and_index(self._fx_edge())
        if type(node) is AccumulateGrad:
            return aval_of(node.value)
        return node.__dict__.get("aval") if node.result_avals is None else node.result_avals[index]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The GradientEdge of a Tensor: `grad(loss, get_gradient_edge(x))` is `grad(loss, x)`.

    Args:
        tensor: a Tensor that requires a gradient.

    Returns:
        A GradientEdge.

    Raises:
        RuntimeError: it requires none.
        TypeError: `tensor` is no Tensor.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> torch.autograd.grad(y * y, edge)[0].item()
    18.0
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentError(
            f"get_gradient_edge: expected a Tensor, but got {type(tensor).__name__}",
            hint="torch.autograd.graph.get_gradient_edge(y) of a Tensor y that requires a gradient",
        )
    parent = gradient_edge(refresh(tensor))
    if parent is None:
        raise TensorError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients",
            hint="tensor.requires_grad_()",
        )
    node, index = node_and_index(parent)
    is_leaf = type(node) is AccumulateGrad
    return GradientEdge(show_node(node, tensor._fx_value), index, tensor if is_leaf else None)
