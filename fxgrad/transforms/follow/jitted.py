"""The functions that `jit(control="follow")` returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...core import pytree, source_info
from ...core.aval import aval_of
from ...core.devices import CPU, DEFAULT_DEVICE
from ...core.errors import UnsupportedError
from ...core.graph import Var
from ...core.interpreter import CURRENT, Tracer, leave_library
from ..jit import function_name, jit
from .following import FollowInterpreter, explore
from .program import Program


class FollowingJit(jit):
    """A function that is staged from one decision to the next."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(CURRENT.get().interpreter, FollowInterpreter):  # which goes on inside
            fun = followed(self.fun)
            return fun(*args, **kwargs)  # with no other variables here, which were part of its state
        outer = CURRENT.get()
        try:
            observer = outer.observer
            if observer is not None and observer.is_stepwise:
                return self.call_observed(observer, args, kwargs)
            program = self.last if DEFAULT_DEVICE.get() is CPU else None
            leaves = None if program is None else program.guard(args, kwargs)
            if program is None or leaves is None:
                leaves, program = self.lookup(args, kwargs, source_info.user_frame)
            return program.run(leaves)
        except BaseException as error:  # as in `jit`
            leave_library(error, outer)
            raise

    def source(self, *args: Any, **kwargs: Any) -> str:
        """There is no one source of code that follows decisions."""
        raise UnsupportedError(
            f'{function_name(self.fun)} under jit(control="follow") has code for each way: it is not shown',
            hint="fx.jit without control, for a function that does not decide by values",
        )

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """There is no one Graph either."""
        return self.source()

    def lookup(self, args: Any, kwargs: Any, site: Any) -> Any:
        leaves, program = super().lookup(args, kwargs, site)
        if any(isinstance(v, Tracer) for v in program.captured.values()):  # values of one call
            self.clear_cache()
            leaves, program = super().lookup(args, kwargs, site)
        return leaves, program

    def compile(self, fun: Callable[..., Any], args: Any, kwargs: Any, site: Any) -> Any:
        leaves, structure = pytree.flatten((args, kwargs))
        inputs = [Var(aval_of(v)) for v in leaves]
        return Program(
            partial(explore, fun, structure), inputs, self.max_paths, self.fastmath, function_name(self.fun)
        )


def followed(function: Any) -> Any:
    """Return a function of the user's as the one that the current interpreter follows."""
    interpreter: Any = CURRENT.get().interpreter
    return interpreter.follower.follow(function)
