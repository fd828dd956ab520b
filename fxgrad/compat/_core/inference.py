"""Inference Tensors: inference mode makes them, and autograd refuses to save them.

They have a ViewMeta, so that operations look at them first, but no base: their views never have a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import TensorError
from . import views
from .modes import current_modes
from .tensor import Tensor, recorded_node


def mark_inference_results(operation, flat: Sequence[Any], results: Sequence[Tensor], inside: bool) -> None:
    """Mark the results of an operation that are inference Tensors: all results made `inside` inference mode except
    views of ordinary Tensors, and views of inference Tensors anywhere.

    Raises:
        TensorError: an inference Tensor is among what was saved for backward.
    """
    first = flat[0] if flat and isinstance(flat[0], Tensor) else None
    for result in results:
        if result._fx_view_meta is not None and operation.view:
            made = first._fx_is_inference_tensor  # type: ignore[union-attr]
            if made:
                result._fx_node = None
        else:
            made = inside
        if made:
            views.mark_inference(result)
    node = recorded_node(results[0]) if results else None
    if node is not None:
        node.rule.map_residuals(node.residuals, lambda i, v: ensure_savable(flat[i], v), lambda i, v: v)


def ensure_writable(tensor: Tensor) -> None:
    """Raise if an inference Tensor is written to outside inference mode."""
    if tensor._fx_is_inference_tensor and not current_modes().inference:
        raise TensorError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
            hint="x.clone() before, or with torch.inference_mode(): …",
        )


def ensure_savable(operand, value) -> Any:
    """Raise if an operand that is saved for backward is an inference Tensor."""
    if isinstance(operand, Tensor) and operand._fx_is_inference_tensor:
        raise TensorError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
            "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.",
            hint="x.clone()",
        )
    return value


def tracked_version(tensor: Tensor) -> int:
    """The version of the Tensor's memory: how often it was modified in place.

    Raises:
        TensorError: nobody counts that of an inference Tensor.
    """
    if tensor._fx_is_inference_tensor:
        raise TensorError(
            "Inference tensors do not track version counter.",
            hint="x.clone() outside torch.inference_mode() has a version; torch.no_grad() in its place",
        )
    return views.tensor_version(tensor)
