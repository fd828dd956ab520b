"""torch.utils.hooks: the handle that every registration of a hook returns, and pickled hooks of Tensors."""

from .._core.hooks import RemovableHandle, unserializable_hook
from .._core.tensor import warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
