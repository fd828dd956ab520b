"""The names of `torch.utils`."""

from .. import _surface  # Tensors have all their methods
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
