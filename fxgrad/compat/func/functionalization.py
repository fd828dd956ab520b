"""`functionalize`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..errors import TensorError

REMOVABLE = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return `func` as it is: every transform here records in-place writes and views as pure operations.

    Args:
        func: a function of Tensors.
        remove: "mutations" or "mutations_and_views".

    Returns:
        `func`.

    Raises:
        RuntimeError: `remove` is something else.

    >>> torch.func.functionalize(torch.sin) is torch.sin
    False
    """
    if remove not in REMOVABLE:
        raise TensorError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            + " or ".join(map(repr, REMOVABLE))
        )

    @wraps(func)
    def wrapper(*args, **kwargs) -> Any:
        return func(*args, **kwargs)

    return wrapper
