"""`autograd.tracer`, `autograd.extend`: traced values, and operations with derivatives of the user's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import numpy as fnp
from ...core import pytree
from ...core.errors import NotDifferentiableError, UnsupportedError
from ...core.interpreter import Tracer
from ...transforms.custom.rules import custom
from .wrap_util import subvals

__all__ = [
    "Box", "Primitive", "def_linear", "defjvp", "defjvp_argnum", "defvjp", "defvjp_argnum", "defvjp_argnums", "getval",
    "isbox", "notrace_primitive", "primitive",
]  # fmt: skip

Box = Tracer


def isbox(x: Any) -> bool:
    """Whether a value is traced."""
    return isinstance(x, Tracer)


def getval(x: Any) -> Any:
    """Return a value; a traced one itself, of which `if x > 0:` and `float(x)` see the number."""
    return x


class Primitive:
    """A function with derivatives by `defvjp` and `defjvp`, which is not traced itself."""

    def __init__(self, fun: Callable[..., Any]):
        self.__name__ = getattr(fun, "__name__", "a primitive")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.pullback_of: Callable[[int], Callable[..., Any] | None] = self.without_rule
        self.pullbacks: Callable[..., Any] | None = None  # (places, ans, args, kwargs) → ct → cotangents
        self.tangent_of: Callable[..., Any] | None = None

    def without_rule(self, place: int) -> Any:
        """Raise the error for an argument without a derivative."""
        raise NotDifferentiableError(
            f"{self.__name__}: there is no derivative with respect to argument {place}",
            hint=f"defvjp({self.__name__}, …, argnums=({place},))",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        places = [i for i, a in enumerate(args) if any(isinstance(leaf, Tracer) for leaf in pytree.leaves(a))]
        if not places:
            return self.fun(*args, **kwargs)

        def fill(values: Sequence[Any]) -> tuple[Any, ...]:
            return subvals(args, zip(places, values, strict=True))

        def pull(ct: Any, ans: Any, *values: Any) -> tuple[Any, ...]:
            given = fill(values)
            if self.pullbacks is not None:
                return tuple(self.pullbacks(places, ans, given, kwargs)(ct))
            makers = [self.pullback_of(place) for place in places]
            return tuple([None if make is None else make(ans, *given, **kwargs)(ct) for make in makers])

        def push(primals: Any, tangents: Any) -> tuple[Any, Any]:
            given = fill(primals)
            ans = self(*given, **kwargs)
            assert self.tangent_of is not None
            parts = [
                self.tangent_of(place, t, ans, given, kwargs)
                for place, t in zip(places, tangents, strict=True)
            ]
            return ans, functools.reduce(fnp.add, parts)

        rules: dict[str, Any] = {"vjp": pull} if self.tangent_of is None else {"vjp": pull, "jvp": push}
        call = custom(lambda *values: self.fun(*fill(values), **kwargs), check=False, **rules)
        return call(*[args[place] for place in places])


primitive = Primitive


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results do not depend on its arguments smoothly: it is called on their values."""
    return f_raw


def as_primitive(fun: Any) -> Primitive:
    """Return a function that derivatives are defined for.

    Raises:
        UnsupportedError: it is not one of the user's primitives.
    """
    if not isinstance(fun, Primitive):
        name = getattr(fun, "__name__", fun)
        raise UnsupportedError(
            f"{name}: it has its derivative already, or is traced",
            hint="decorate a function of yours: @primitive",
        )
    return fun


def defvjp(fun: Any, *vjpmakers: Any, argnums: Sequence[int] | None = None) -> None:
    """Define pullbacks: `maker(ans, *args)` is the function from the cotangent of the result to that of an argument."""
    rules = dict(zip(range(len(vjpmakers)) if argnums is None else argnums, vjpmakers, strict=True))
    target = as_primitive(fun)
    target.pullback_of = lambda place: rules[place] if place in rules else target.without_rule(place)


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Define pullbacks by `maker(argnum, ans, args, kwargs)`."""
    as_primitive(fun).pullback_of = lambda place: (
        lambda ans, *args, **kwargs: vjpmaker(place, ans, args, kwargs)
    )


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Define the pullbacks of several arguments together: `maker(argnums, ans, args, kwargs)`."""
    as_primitive(fun).pullbacks = vjpmaker


def defjvp(fun: Any, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Define tangents: `rule(g, ans, *args)`, or "same" for an argument in which the function is linear."""
    rules = dict(zip(range(len(jvpfuns)) if argnums is None else argnums, jvpfuns, strict=True))
    target = as_primitive(fun)

    def push(place: int, tangent: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        rule = rules[place] if place in rules else target.without_rule(place)
        if rule is None:
            return fnp.zeros_like(ans)
        if rule == "same":
            return target(*subvals(args, [(place, tangent)]), **kwargs)
        return rule(tangent, ans, *args, **kwargs)

    target.tangent_of = push


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Define tangents by `maker(argnum, g, ans, args, kwargs)`."""
    as_primitive(fun).tangent_of = jvpmaker


def def_linear(fun: Any) -> None:
    """Define a function as linear in each of its arguments."""
    target = as_primitive(fun)
    target.tangent_of = lambda place, g, ans, args, kwargs: target(*subvals(args, [(place, g)]), **kwargs)
