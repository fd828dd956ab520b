"""The namespaces of torch, and how functions get into them."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from .entry import is_entry_point, make_entrance, with_numpy_names

if TYPE_CHECKING:
    from collections.abc import Callable

# What the namespaces have: "function" is `torch.` itself, "method" the Tensor, others as "linalg", "nn.functional".
SPACES: dict[str, dict[str, Any]] = {"function": {}, "method": {}}


def expose(spaces: str = "function", name: str | None = None) -> Callable[[Any], Any]:
    """Put a function on Tensors into namespaces, as an entry point of the library."""

    def put(function) -> Any:
        entrance = function
        if type(function) is FunctionType and not is_entry_point(function):
            code = function.__code__
            parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            entrance = (with_numpy_names if "dim" in parameters else make_entrance)(function)
        for space in spaces.split():
            SPACES.setdefault(space, {})[name or function.__name__] = entrance
        return function

    return put
