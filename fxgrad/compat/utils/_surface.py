"""The names of `torch.utils`."""

from .. import _surface  # Tensors have all their methods
from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
