"""torch.linalg: products, systems of equations, decompositions and norms of matrices in the last two dimensions."""

from . import _surface  # noqa: F401  where they are declared
from ._declare.spaces import SPACES

globals().update(SPACES["linalg"])
__all__ = [*SPACES["linalg"]]  # pyright: ignore[reportUnsupportedDunderAll]
