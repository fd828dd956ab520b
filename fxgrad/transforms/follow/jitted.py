"""The functions that `jit(control="follow")` returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ...core import pytree, source_info
from ...core.aval import aval_of
from ...core.devices import CPU, DEFAULT_DEVICE
from ...core.errors import UnsupportedError
from ...core.graph import Graph, Var
from ...core.interpreter import CURRENT, Tracer, api_boundary, is_plain, leave_library
from ..jit import as_argnums, function_name, jit
from .following import FollowInterpreter, explore
from .program import Program
from .segments import Segments


class FollowingJit(jit):
    """A function that is staged from one decision to the next. `wrapped`, where set, says what is done to the Graphs of
    segments, and how this one is made of another."""

    wrapped: tuple[Callable[[Graph], Graph], Callable[..., Any], FollowingJit] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outer = CURRENT.get()
        if type(outer.interpreter) is FollowInterpreter:  # which goes on inside
            del outer  # as all variables here, it were part of the state
            fun = followed(self.fun)
            return fun(*args, **kwargs)
        try:
            if outer.observer is not None:
                return self.call_observed(outer.observer, args, kwargs)
            program: Any = self.last if DEFAULT_DEVICE.get() is CPU else None
            leaves = None if program is None else program.guard(args, kwargs)
            if program is None or leaves is None:
                return self.call_unguarded(args, kwargs)
            return program.run(leaves, True)
        except BaseException as error:  # as in `jit`
            leave_library(error, outer)
            raise

    def call_unguarded(self, args: Any, kwargs: Any) -> Any:
        """Call the function on arguments whose program has to be looked up."""
        leaves, program = self.lookup(args, kwargs, source_info.user_frame)
        return program.run(leaves, is_plain(leaves))

    def source(self, *args: Any, **kwargs: Any) -> str:
        """There is no one source of code that follows decisions."""
        raise UnsupportedError(
            f'{function_name(self.fun)} under jit(control="follow") has code for each way: it is not shown',
            hint='fx.jit(…, control="follow").lower(*args), which shows the ways',
        )

    @api_boundary
    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return what is known of the function for arguments of this kind, which is called with these if nothing is:
        ways are staged by values.

        Returns:
            `Segments`: a tree of decisions and of the code between them.
        """
        leaves, program = self.lookup(args, kwargs, source_info.user_frame)
        if program.start is None:
            program.run(leaves, is_plain(leaves))
        return Segments(program)

    def call_observed(self, observer: Any, args: Any, kwargs: Any) -> Any:
        """Call the function under an observer: as the Python that it is, or as one step."""
        if observer.is_stepwise:
            return super().call_observed(observer, args, kwargs)
        leaves, program = self.lookup(args, kwargs, source_info.user_frame)
        name, plain = f"jit({function_name(self.fun)})", is_plain(leaves)
        return observer.observe("jit", name, leaves, lambda: program.run(leaves, plain))

    def lookup(self, args: Any, kwargs: Any, site: Any) -> Any:
        leaves, program = super().lookup(args, kwargs, site)
        if any(isinstance(v, Tracer) for v in program.captured.values()):  # values of one call
            self.clear_cache()
            leaves, program = super().lookup(args, kwargs, site)
        return leaves, program

    def compile(self, fun: Callable[..., Any], args: Any, kwargs: Any, site: Any) -> Any:
        leaves, structure = pytree.flatten((args, kwargs))
        inputs = [Var(aval_of(v)) for v in leaves]
        program = Program(
            partial(explore, fun, structure), inputs, self.max_paths, self.fastmath, function_name(self.fun)
        )
        if self.wrapped is not None:
            program.wrap = self.wrapped[0]
        return program

    def wrap_segments(self, wrap: Any, remake: Any, static: tuple[int, ...]) -> FollowingJit:
        """Return the function whose segments are wrapped. `remake` makes it anew from this one."""
        fixed = (*as_argnums(self.options["static_argnums"]), *static)
        options: dict[str, Any] = {**self.options, "static_argnums": fixed}
        made = cast(FollowingJit, jit(self.fun, **options))
        made.wrapped = wrap, remake, self
        return made

    def __reduce__(self) -> Any:
        if self.wrapped is None:
            return super().__reduce__()
        _, remake, base = self.wrapped
        return remake, (base,)


def followed(function: Any) -> Any:
    """Return a function of the user's as the one that the current interpreter follows."""
    interpreter: Any = CURRENT.get().interpreter
    return interpreter.follower.follow(function)
