"""Version counters of Tensors that users increment themselves."""

from __future__ import annotations

from collections.abc import Iterable

from ...extend import source_info
from .._core.memory import VERSIONS, is_array
from .._core.tensor import Tensor, refresh
from ..errors import TensorError


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a modification in place that was made behind autograd's back, by code that writes to the memory itself.

    Backward then refuses what was computed of the Tensor before. To count more often than was written does no harm.
    Inference Tensors have no count.

    Args:
        tensor: a Tensor, or several.

    Raises:
        RuntimeError: it is neither.

    >>> x = torch.ones(2)
    >>> x.numpy()[0] = 5.0
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, Iterable):
        raise TensorError(
            "increment_version expect a Iterable[Tensor] as input",
            hint="increment_version(x), or of a list of Tensors: increment_version([x, y])",
        )
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(t, Tensor):
            raise TensorError(
                "increment_version expects each element of the iterable to be a tensor",
                hint="a list of Tensors: [x for x in values if isinstance(x, torch.Tensor)]",
            )
        if not t._fx_is_inference_tensor and is_array(refresh(t)._fx_value):
            VERSIONS.record_change(t._fx_value, "increment_version", source_info.user_frame())
