"""The functions that transforms return: as fast to call as their body, named after their function, and picklable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, update_wrapper
from importlib import import_module
from inspect import unwrap
from types import MethodType
from typing import Any, Self

from ..core.errors import StructureError


class DerivedFunction(partial):
    """A function made of another by a transform. It has the name, the docstring and the attributes of that function,
    and is pickled as the transform, the function and the options.

    A partial application of nothing is called in C, which an instance with a `__call__` is not.
    """

    __slots__ = ("fun", "options", "transform")

    transform: Callable[..., Any]
    fun: Callable[..., Any]
    options: dict[str, Any]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """Attributes that the user has given to the function, and none of `jit`'s, say, if it is jitted."""
        if name in ("fun", "options", "transform"):  # which are not there yet
            raise AttributeError(name)
        return getattr(unwrap(self.fun), name)

    def __repr__(self) -> str:
        return f"<fx.{self.transform.__name__} of {describe_function(self.fun)}>"

    def __reduce__(self) -> Any:
        return pickled_form(self, self.transform, self.fun, self.options)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:  # as functions are copied
        return self


def refuse_arithmetic(name: str) -> Callable[..., Any]:
    """Return the method for an operator on a function that a transform made: arithmetic is that of its results."""

    def method(self: DerivedFunction, *others: Any) -> Any:
        raise StructureError(
            f"{name} of <{describe_function(self)}>, a function that has not been called",
            hint=f"its result, fx.{self.transform.__name__}(f)(x)",
        )

    return method


for operator in ("add", "sub", "mul", "truediv", "matmul", "pow", "getitem", "neg"):
    for side in ("", "r") if operator not in ("getitem", "neg") else ("",):
        setattr(DerivedFunction, f"__{side}{operator}__", refuse_arithmetic(operator))


def derive(
    body: Callable[..., Any], transform: Callable[..., Any], fun: Callable[..., Any], **options: Any
) -> Any:
    """Return transform(fun, **options), whose body this is."""
    function = DerivedFunction(body)
    update_wrapper(function, fun, updated=())
    function.transform, function.fun, function.options = transform, fun, options
    return function


def load_methods() -> None:
    """Load what makes traced values behave like arrays in the user's code: operators, methods, NumPy's protocols,
    writes.

    It stands above the transforms and is loaded when one is first used, in whatever process that is.
    """
    import_module("fxgrad.numpy.boxes")


def describe_function(fun: Any) -> str:
    """Return a function's name; of one that a transform made, what it was made of."""
    text = repr(fun)
    return text[1:-1] if text.startswith("<fx.") else getattr(fun, "__qualname__", None) or text


def pickled_form(
    derived: Any, transform: Callable[..., Any], fun: Callable[..., Any], options: dict[str, Any]
) -> Any:
    """Return what `__reduce__` of a derived function returns: its name if it stands in its module under the name of
    `fun`, as with a decorator, and else how it is made."""
    name = getattr(fun, "__qualname__", "")
    found: Any = sys.modules.get(derived.__module__)
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is derived else (partial(transform, **options), (fun,))
