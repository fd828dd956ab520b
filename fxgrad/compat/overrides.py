"""torch.overrides: classes that say themselves what functions of torch do with them (`__torch_function__`)."""

from __future__ import annotations

import sys
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import _surface  # Tensors have all their methods
from ._core.overriding import BaseTorchFunctionMode, TorchFunctionMode, call_first, find_overriders
from ._core.tensor import Tensor
from ._declare.spaces import SPACES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any of these arguments overrides functions.

    >>> import fxgrad.compat as torch
    >>> torch.overrides.has_torch_function((torch.ones(1), 2))
    False
    """
    return bool(find_overriders(relevant_args))


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Whether this argument overrides functions."""
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Whether any of these arguments overrides functions."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call what arguments have in the place of a function, and return its result.

    Args:
        public_api: the function, as users know it.
        relevant_args: the arguments that may override it.
        args, kwargs: all that it was called with.

    Raises:
        TypeError: none of them has an answer.
    """
    return call_first(public_api, find_overriders(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Decorate a function so that arguments may override it.

    Args:
        dispatcher: (the arguments of the function) → those that may.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            found = find_overriders(dispatcher(*args, **kwargs))
            return call_first(call, found, args, kwargs) if found else function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a Tensor, or has `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensors or reads one of their properties."""
    return func in SPACES["method"].values() or getattr(func, "__name__", "") == "__get__"


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that `__torch_function__` is asked about, by the module or class that has them."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    for space, members in SPACES.items():
        place = Tensor if space == "method" else find_place(space)
        functions = [f for n, f in members.items() if callable(f) and not isinstance(f, type | property)]
        if place is not None:
            found[place] = functions
    return found


def find_place(space: str) -> ModuleType | None:
    """Find the module that has the functions of a space."""
    found: Any = sys.modules[__name__.rpartition(".")[0]]
    for part in [] if space == "function" else space.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, ModuleType) else None


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for each overridable function, a function of the same arguments that returns -1."""
    return {
        f: lambda *args, **kwargs: -1 for functions in get_overridable_functions().values() for f in functions
    }


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions of torch that cannot be overridden: those that make Tensors, and ask about settings."""
    overridable = {f for functions in get_overridable_functions().values() for f in functions}
    return {f for f in vars(_surface).values() if callable(f) and f not in overridable}


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name under which torch has a function: "torch.Tensor.add"; None if it has it not.

    >>> import fxgrad.compat as torch
    >>> torch.overrides.resolve_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    for space in sorted(SPACES, key=lambda name: (name == "function", name == "method")):
        for name, member in SPACES[space].items():
            if member is f:
                path = {"function": "", "method": "Tensor."}.get(space, f"{space}.")
                return f"torch.{path}{name}"
    return None


__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]
