"""torch.return_types: the named tuples that operations with several results return."""

from . import _surface  # noqa: F401  where they are declared
from ._declare.named_results import RETURN_TYPES

globals().update(RETURN_TYPES)
__all__ = [*RETURN_TYPES]  # pyright: ignore[reportUnsupportedDunderAll]
