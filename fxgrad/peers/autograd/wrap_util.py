"""`autograd.wrap_util`: operators on functions of one argument, for functions of several."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["subvals", "unary_to_nary", "wraps"]


def subvals(x: Any, ivs: Any) -> tuple[Any, ...]:
    """Return a tuple with other values at some places: `ivs` are pairs of a place and a value."""
    values = list(x)
    for i, v in ivs:
        values[i] = v
    return tuple(values)


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any) -> Callable[..., Any]:
    """Return a decorator that gives a function the name and the docstring of another."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name, doc = getattr(fun, "__name__", "[unknown name]"), getattr(fun, "__doc__", None) or ""
        function.__name__ = namestr.format(fun=name, **kwargs)
        function.__doc__ = docstr.format(fun=name, doc=doc, **kwargs)
        return function

    return decorate


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator (fun, x) → result as one that takes a function of several arguments, and which of these is x:
    its number, or several, of which x is then the tuple or list."""

    @functools.wraps(unary_operator)
    def nary_operator(
        fun: Callable[..., Any], argnum: Any = 0, *op_args: Any, **op_kwargs: Any
    ) -> Callable[..., Any]:
        @functools.wraps(fun, updated=())
        def nary_f(*args: Any, **kwargs: Any) -> Any:
            is_one = isinstance(argnum, int)

            def unary_f(x: Any) -> Any:
                return fun(*subvals(args, [(argnum, x)] if is_one else zip(argnum, x, strict=True)), **kwargs)

            x = args[argnum] if is_one else tuple([args[i] for i in argnum])
            return unary_operator(unary_f, x, *op_args, **op_kwargs)

        return nary_f

    return nary_operator
