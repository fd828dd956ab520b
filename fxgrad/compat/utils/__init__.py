"""torch.utils: checkpoints, and batches of data."""

from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
