"""torch.utils._contextlib: context managers that are decorators as well, also of generators, from which packages derive
theirs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that runs inside a context. Each step of a generator runs inside one, and what it is stopped for
    outside.

    Args:
        ctx: a context manager, or a function that makes one.
        func: the function, or a class, whose construction runs inside then.

    Returns:
        A function.
    """
    enter: Any = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else lambda: ctx

    if inspect.isgeneratorfunction(func):

        @wraps(func)
        def generate(*args: Any, **kwargs: Any) -> Any:
            steps = func(*args, **kwargs)
            step, given = steps.send, (None,)
            while True:
                try:
                    with enter():
                        value = step(*given)
                except StopIteration as end:
                    return end.value
                try:
                    step, given = steps.send, ((yield value),)
                except GeneratorExit:
                    with enter():
                        steps.close()
                    raise
                except BaseException as error:
                    step, given = steps.throw, (error,)

        return generate

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return func(*args, **kwargs)

    return run


class _DecoratorContextManager:
    """The base of context managers that decorate functions: each call runs inside a copy of it, which `clone` makes."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return a new context manager of the same kind."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The base of those without parameters, which may be used as a decorator without being called."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
