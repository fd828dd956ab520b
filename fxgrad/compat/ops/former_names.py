"""Functions that torch has removed: they name their replacements."""

from __future__ import annotations

from typing import Any, NoReturn

from .._declare.spaces import expose
from ..errors import TensorError

SUCCESSORS = {
    "eig": ("linalg.eig", "function method"),
    "lstsq": ("linalg.lstsq", "function method"),
    "matrix_rank": ("linalg.matrix_rank", "function"),
    "solve": ("linalg.solve", "function method"),
    "symeig": ("linalg.eigh", "function method"),
}


def declare_refusal(name: str, successor: str, spaces: str) -> None:
    """Expose a function that raises RuntimeError and names the other."""

    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise TensorError(
            "This function was deprecated since version 1.9 and is now removed.", hint=f"torch.{successor}(…)"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"There is `{successor}` in its place."
    expose(spaces, name)(refuse)


for name, (successor, spaces) in SUCCESSORS.items():
    declare_refusal(name, successor, spaces)
