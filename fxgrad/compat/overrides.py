"""torch.overrides: classes that define the behaviour of torch's functions on them (`__torch_function__`)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import FunctionType, MethodWrapperType, ModuleType
from typing import Any

from . import _surface  # noqa: F401  Tensors have all their methods
from ._core.overriding import (
    NEVER_OVERRIDDEN,
    NOT_OVERRIDDEN,
    BaseTorchFunctionMode,
    TorchFunctionMode,
    asks,
    call_override,
    find_overriders,
    is_tensor_like,
    readers_of_others,
    skip_next_question,
)
from ._core.tensor import Tensor
from ._declare.packages import complete_module
from ._declare.spaces import SPACES

# Functions that make Tensors of what is none: modes override them, operands do not.
MAKERS = {
    "arange", "as_strided", "as_tensor", "asarray", "bartlett_window", "blackman_window", "cond", "empty",
    "empty_permuted", "empty_strided", "eye", "fftfreq", "frombuffer", "full", "hamming_window", "hann_window",
    "kaiser_window", "linspace", "logspace", "new", "new_empty", "new_empty_strided", "new_full", "new_ones",
    "new_tensor", "new_zeros", "normal", "ones", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "range", "result_type", "rfftfreq", "scalar_tensor", "sparse_coo_tensor",
    "sparse_csr_tensor", "tensor", "tril_indices", "triu_indices", "vander", "zeros"
}  # fmt: skip


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any of these arguments overrides functions, or a mode does.

    >>> torch.overrides.has_torch_function((torch.ones(1), 2))
    False
    """
    return asks(relevant_args)


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Whether this argument overrides functions, or a mode does.

    Args:
        relevant_arg: the argument.

    >>> torch.overrides.has_torch_function_unary(torch.zeros(2))
    False
    """
    return asks((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Whether any of these arguments overrides functions, or a mode does.

    >>> torch.overrides.has_torch_function_variadic(torch.zeros(2), 3)
    False
    """
    return asks(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call what a mode or arguments have in the place of a function, and return its result.

    Args:
        public_api: the function, as users know it.
        relevant_args: the arguments that may override it.
        args, kwargs: all that it was called with.

    Raises:
        TypeError: none of them has an answer.

    >>> class Length:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__, types
    >>> def double(x):
    ...     if torch.overrides.has_torch_function((x,)):
    ...         return torch.overrides.handle_torch_function(double, (x,), x)
    ...     return 2 * x
    >>> double(Length())[0]
    'double'
    """
    found = call_override(public_api, args, kwargs, tuple(relevant_args))
    if found is NOT_OVERRIDDEN:
        name = f"{public_api.__module__}.{public_api.__name__}"
        raise TypeError(
            f"no implementation found for '{name}' on types that implement __torch_function__: []"
        )
    return found


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Decorate a function so that arguments may override it.

    Args:
        dispatcher: (the arguments of the function) → those that may.

    Returns:
        A decorator.

    >>> def operands(x):
    ...     return (x,)
    >>> @torch.overrides.wrap_torch_function(operands)
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            found = call_override(call, args, kwargs, relevant) if asks(relevant) else NOT_OVERRIDDEN
            return function(*args, **kwargs) if found is NOT_OVERRIDDEN else found

        return call

    return decorate


def redispatch_function(
    func: Callable[..., Any],
    types: Sequence[type],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a function without its overrides; those of the functions that it calls apply.

    Args:
        func, types, args, kwargs: what `__torch_function__` was called with.

    Returns:
        What the function returns.

    >>> torch.overrides.redispatch_function(torch.add, (), (torch.ones(1), 2))
    tensor([3.])
    """
    with skip_next_question():
        return func(*args, **(kwargs or {}))


def enable_reentrant_dispatch() -> AbstractContextManager[None]:
    """Return a context manager that changes nothing: inside `__torch_dispatch__` functions ask as elsewhere.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     y = torch.zeros(2)
    """
    return nullcontext()


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensors or reads one of their properties. (A function that is there as
    `torch.add` and as `Tensor.add` is one of both.)

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add_)
    True
    """
    return func in overridable_methods() or getattr(func, "__name__", "") == "__get__"


def overridable_methods() -> list[Callable[..., Any]]:
    """The methods of Tensors that may be overridden."""
    return [f for name, f in SPACES["method"].items() if is_overridable(name, f)]


def is_overridable(name: str, member: Any) -> bool:
    """Whether a member of a namespace is a function that operands may override."""
    return type(member) is FunctionType and name not in NEVER_OVERRIDDEN and name not in MAKERS


def tensor_attributes() -> dict[str, property]:
    """The properties of Tensors, by name."""
    return {n: p for n, p in vars(Tensor).items() if type(p) is property}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that `__torch_function__` is asked about, by the module, class or property that has them.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for space, members in SPACES.items():
        place = Tensor if space == "method" else find_place(space)
        if place is not None:
            found[place] = [f for name, f in members.items() if is_overridable(name, f)]
    for attribute in tensor_attributes().values():
        found[attribute] = [attribute.__get__]
    return found


def find_place(space: str) -> ModuleType | None:
    """Find the module that has the functions of a space."""
    found: Any = sys.modules[__name__.rpartition(".")[0]]
    for part in [] if space == "function" else space.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, ModuleType) else None


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for each overridable function, a function with the same parameters that returns -1.

    >>> torch.add in torch.overrides.get_testing_overrides()
    True
    """
    functions = (f for found in get_overridable_functions().values() for f in found)
    return {f: make_constant(f) for f in functions}


def make_constant(function: Callable[..., Any]) -> Callable[..., int]:
    """Return a function with the parameters of another that returns -1."""

    def answer(*args: Any, **kwargs: Any) -> int:
        return -1

    answer.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return answer


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions of torch that operands cannot override: those that make Tensors, and are about settings.

    >>> torch.zeros in torch.overrides.get_ignored_functions()
    True
    """
    return {
        f
        for members in SPACES.values()
        for name, f in members.items()
        if type(f) is FunctionType and not is_overridable(name, f)
    }


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results keep their classes in the `__torch_function__` of Tensors.

    >>> type(torch.overrides.get_default_nowrap_functions()).__name__
    'set'
    """
    return set(readers_of_others())


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name under which torch has a function: "torch.Tensor.add"; None if it has it not.

    Args:
        f: the function.

    >>> torch.overrides.resolve_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    >>> torch.overrides.resolve_name(torch.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    if isinstance(f, MethodWrapperType):
        held = next((n for n, p in tensor_attributes().items() if p is f.__self__), None)
        return None if held is None else f"torch.Tensor.{held}.{f.__name__}"
    for space in sorted(SPACES, key=lambda name: (name == "function", name == "method")):
        for name, member in SPACES[space].items():
            if member is f:
                path = {"function": "", "method": "Tensor."}.get(space, f"{space}.")
                return f"torch.{path}{name}"
    return None


def _get_overloaded_args(relevant_args: Iterable[Any]) -> list[Any]:
    """Return the arguments that override functions, one of each class: see `find_overriders`."""
    return find_overriders(relevant_args)


__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

complete_module(globals(), "overrides")
