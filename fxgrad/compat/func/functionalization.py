"""`functionalize`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from .._core.errors import TensorError

if TYPE_CHECKING:
    from collections.abc import Callable

REMOVABLE = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` as it is: what writes in place and makes views is recorded as pure operations by every transform here.

    Args:
        func: a function of Tensors.
        remove: "mutations" or "mutations_and_views".
    """
    if remove not in REMOVABLE:
        raise TensorError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            + " or ".join(map(repr, REMOVABLE))
        )

    @wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized
