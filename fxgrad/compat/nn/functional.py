"""torch.nn.functional: activations, losses, convolutions, pooling, normalization, attention."""

from typing import Any

from .. import _surface  # noqa: F401  where they are declared
from .._declare.spaces import SPACES

globals().update(SPACES["nn.functional"])


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
