"""torch.utils.dlpack: memory exchanged with other libraries without a copy."""

from __future__ import annotations

from typing import Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.tensor import Tensor
from .._declare.spaces import SPACES


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Make a Tensor on the memory of an array of another library: `torch.from_dlpack`.

    Args:
        ext_tensor: the array.
        device: where the Tensor is to be: where the array is unless given.
        copy: True: always in memory of its own.

    >>> import numpy as np
    >>> from fxgrad.compat.utils.dlpack import from_dlpack
    >>> from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.], dtype=torch.float64)
    """
    made = SPACES["function"]["from_dlpack"](ext_tensor)
    placed = made if device is None else made.to(device)
    return placed.clone() if copy else placed


def to_dlpack(tensor: Tensor) -> object:
    """Return a capsule of a Tensor's memory, which another library's `from_dlpack` takes once."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
