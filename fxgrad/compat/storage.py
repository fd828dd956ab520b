"""torch.storage: the memory that Tensors share."""

from ._core.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
