"""What `torch.utils` has."""

from .. import _surface  # Tensors have all their methods
from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
