"""torch.nn.functional: activations, losses, convolutions, pooling, normalization, attention."""

from typing import Any

from .. import _surface  # noqa: F401  where they are declared
from .._declare.spaces import SPACES

globals().update(SPACES["nn.functional"].loaded())


def __getattr__(name: str) -> Any:
    """Load a function of a family that few programs use."""
    if name == "__all__":
        return sorted({name for name in __dir__() if not name.startswith("_")})
    if name in SPACES["nn.functional"]:
        return globals().setdefault(name, SPACES["nn.functional"][name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *SPACES["nn.functional"]})
