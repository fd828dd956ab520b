"""torch.special: special functions of each element."""

from . import _surface  # noqa: F401  where they are declared
from ._declare.spaces import SPACES

globals().update(SPACES.get("special", {}))
__all__ = [*SPACES.get("special", {})]  # pyright: ignore[reportUnsupportedDunderAll]
