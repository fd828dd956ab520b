"""Inference Tensors: what inference mode makes, and autograd refuses to keep.

They have an aspect, so that operations look at them first, and no base: their views have no history and follow none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import views
from .errors import TensorError
from .modes import current_modes
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


def follow(operation: Any, flat: Sequence[Any], results: Sequence[Tensor], inside: bool) -> None:
    """Mark the results of an operation that are inference Tensors: all that are made `inside` inference mode but for
    views of ordinary ones, and the views of inference Tensors anywhere.

    Raises:
        TensorError: an inference Tensor is among what was kept for backward.
    """
    first = flat[0] if flat and isinstance(flat[0], Tensor) else None
    for result in results:
        if result.aspect is not None and operation.view:
            made = first.is_inference_tensor  # type: ignore[union-attr]
            if made:
                result.node = None
        else:
            made = inside
        if made:
            views.mark_inference(result)
    node = results[0].grad_fn if results else None
    if node is not None:
        node.rule.refill(node.residuals, lambda i, v: refuse(flat[i], v), lambda i, v: v)


def ensure_writable(tensor: Tensor) -> None:
    """Raise if it is an inference Tensor, and written to outside inference mode."""
    if tensor.is_inference_tensor and not current_modes().inference:
        raise TensorError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update."
        )


def refuse(operand: Any, value: Any) -> Any:
    """Raise if the operand that is kept is an inference Tensor."""
    if isinstance(operand, Tensor) and operand.is_inference_tensor:
        raise TensorError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
            "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    return value


def version(tensor: Tensor) -> int:
    """How often the Tensor was modified in place.

    Raises:
        TensorError: nobody counts that of an inference Tensor.
    """
    if tensor.is_inference_tensor:
        raise TensorError("Inference tensors do not track version counter.")
    return views.version(tensor)
