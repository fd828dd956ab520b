"""torch.fx.passes.shape_prop: shapes and dtypes of the values of a Graph, for inputs that are run through it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core.dtypes import dtype
from ..._core.layout import channels_last, channels_last_3d, contiguous_format, memory_format
from ..._core.tensor import Size, Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate


class TensorMetadata(NamedTuple):
    """What a Tensor is apart from its entries: `node.meta["tensor_meta"]`."""

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def extract_metadata(x: Tensor) -> TensorMetadata:
    """Return what a Tensor is apart from its entries."""
    formats = (contiguous_format, channels_last, channels_last_3d)
    fitting = [f for f in formats if f is contiguous_format or x.dim() == (4 if f is channels_last else 5)]
    held = next((f for f in fitting if x.is_contiguous(memory_format=f)), None)
    return TensorMetadata(x.shape, x.dtype, x.requires_grad, x.stride(), held, False, {})


_extract_tensor_metadata = extract_metadata


class ShapeProp(Interpreter):
    """An Interpreter that notes what each value is: `node.meta["tensor_meta"]` and `node.meta["type"]`.

    Args:
        gm: the GraphModule.

    >>> from fxgrad.compat.fx.passes.shape_prop import ShapeProp
    >>> module = torch.fx.symbolic_trace(torch.nn.Linear(3, 2))
    >>> _ = ShapeProp(module).propagate(torch.zeros(5, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes]
    [(5, 3), (2, 3), (2,), (5, 2), (5, 2)]
    """

    def __init__(self, gm: Any, fake_mode: Any = None):
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Return the value of a Node, and note what it is.

        Args:
            n: the Node.
        """
        result = super().run_node(n)
        tensors: list[Tensor] = []

        def describe(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            tensors.append(x)
            return extract_metadata(x)

        described = map_aggregate(result, describe)
        if tensors:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module.

        Args:
            args: its arguments.

        Returns:
            Its result.
        """
        return super().run(*args)


__all__ = ["ShapeProp", "TensorMetadata"]
