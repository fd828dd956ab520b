"""`jax.extend.linear_util`: functions with what transforms attach to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "WrappedFun", "transformation", "transformation2", "transformation_with_aux", "transformation_with_aux2",
    "wrap_init",
]  # fmt: skip


class WrappedFun:
    """A function, with parameters that are given already."""

    def __init__(self, f: Callable[..., Any], params: dict[str, Any]):
        self.f, self.params = f, params

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.f(*args, **self.params, **kwargs)


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """Return a function as packages pass it on."""
    return WrappedFun(f, params or {})


def drive(steps: Callable[..., Any], fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function between the two steps of a generator, which gives the arguments, and a result for the result."""
    running = steps(*args, **kwargs)
    args, kwargs = next(running)
    return running.send(fun(*args, **kwargs))


def transformation2(function: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Return function(f, *given, *args) as what makes of f, with the values that are given, a function of args."""

    def transform(fun: WrappedFun, *given: Any) -> WrappedFun:
        return WrappedFun(lambda *args, **kwargs: function(fun.call_wrapped, *given, *args, **kwargs), {})

    return transform


def transformation(steps: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Return a generator of arguments and results as what makes a function of another."""
    return transformation2(lambda fun, *args, **kwargs: drive(steps, fun, *args, **kwargs))


def transformation_with_aux2(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return function(f, store, *given, *args) likewise; the second result gives what it has put into `store`."""

    def transform(fun: WrappedFun, *given: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        made = WrappedFun(
            lambda *args, **kwargs: function(fun.call_wrapped, store, *given, *args, **kwargs), {}
        )
        return made, lambda: store.val

    return transform


def transformation_with_aux(steps: Callable[..., Any]) -> Callable[..., Any]:
    """Return a generator likewise, whose last step gives the result and something beside it."""

    def keep(fun: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = drive(steps, fun, *args, **kwargs)
        store.store(aux)
        return result

    return transformation_with_aux2(keep)


class Store:
    """A place for what a transformation says beside its result."""

    val: Any = None

    def store(self, val: Any) -> None:
        """Put a value there."""
        self.val = val
