"""torch.fft: discrete Fourier transforms."""

from . import _surface  # noqa: F401  where they are declared
from ._declare.spaces import SPACES

globals().update(SPACES["fft"])
__all__ = [*SPACES["fft"]]  # pyright: ignore[reportUnsupportedDunderAll]
