"""torch.signal.windows: weights that decrease towards both ends of a signal."""

from .. import _surface  # noqa: F401  where they are declared
from .._declare.spaces import SPACES

globals().update(SPACES["signal.windows"])
__all__ = [*SPACES["signal.windows"]]  # pyright: ignore[reportUnsupportedDunderAll]
