"""Primitive: an operation that is bound to operands, by a function, `primitive.call`: it runs the kernel, or hands the
operation to the current interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .arrays import as_value, evaluate
from .aval import PLAIN, Aval
from .errors import FxgradError, reword
from .graph import Graph, iter_subgraphs
from .interpreter import (
    CURRENT,
    EVAL,
    VALUES,
    acting_level,
    describe_chain,
    is_plain,
    named_axes,
)
from .labels import common_labels
from .rules import REGISTRY, Rules
from .staging import stages_effects
from .surface import first_object


class Primitive(Rules):
    """An operation with its rules (see `Rules`), and `call`, the function that binds it to operands.

    Args:
        name: of the operation; `register` enters it under that.
        make_kernel: as of `Rules`.
    """

    def __init__(self, name: str, make_kernel: Callable[[Any], Callable[..., Any]] | None = None):
        self.name, self.make_kernel = name, make_kernel
        if make_kernel is not None:
            self.kernel = make_kernel(np)
        self.call = self.make_call()
        self.call.primitive = self
        self.call.__name__ = self.call.__qualname__ = name

    def make_call(self) -> Callable[..., Any]:
        """The bind function: straight to the kernel on plain values, to the current interpreter otherwise."""
        primitive, kernel, current = self, self.kernel, CURRENT.get

        def call(*args: Any, **params: Any) -> Any:
            for a in args:
                if type(a) not in PLAIN:
                    return bind(primitive, args, params)
            if current().observer:
                return bind(primitive, args, params)
            return kernel(*args, **params)

        return call

    def evaluate(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        return evaluate(self, args, params)


class HigherOrder(Primitive):
    """A primitive whose params hold functions: Graphs, its bodies, or the user's own. It has a list of results.

    What it carries out may belong to levels further out, so it runs in their Context also where its operands are plain:
    a body may do collectives, a function close over tracers.
    """

    multiple_results = True
    kernel_shortcut = False
    errors_are_users = True

    def make_call(self) -> Callable[..., Any]:
        """The bind function: plain values go straight to the kernel where no level could want to know of what it
        does besides: no axis is open for collectives, and nothing has effects that are to be staged."""
        primitive, kernel, current = self, self.kernel, CURRENT.get

        def call(*args: Any, **params: Any) -> Any:
            if is_plain(args):
                context = current()
                if context is EVAL or not (
                    context.observer or named_axes() or (stages_effects() and primitive.acts(params))
                ):
                    return kernel(*args, **params)
            return bind(primitive, args, params)

        return call

    def subgraphs(self, avals: Sequence[Aval], params: dict[str, Any]) -> list[Graph]:
        return [graph for _, graph in iter_subgraphs(params)]

    def acts(self, params: dict[str, Any]) -> bool:
        return super().acts(params) or any(graph.acts for _, graph in iter_subgraphs(params))


def bind(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Hand the operation to the current interpreter, after turning foreign operands (lists, …) into values."""
    for a in args:
        if a.dtype.hasobject if type(a) is np.ndarray else type(a) not in VALUES:
            held = first_object(args)
            if held is not None:
                return held.__fxgrad_call__(primitive.call, args, params)
            labels = common_labels(args) if primitive.entrywise else None
            args = tuple([as_value(a) for a in args])
            if labels is not None:
                return labels.label(bind(primitive, args, params))
            break
    try:
        return CURRENT.get().interpreter.process(primitive, args, params)
    except KERNEL_ERRORS as error:
        explain(error, primitive, args)


# What kernels raise for operands that do not fit, and what we raise ourselves.
KERNEL_ERRORS = (ValueError, TypeError, IndexError, FloatingPointError, FxgradError)


def explain(error: Exception, primitive: Primitive, args: tuple[Any, ...]) -> NoReturn:
    """Raise the error of a kernel with operation, operands, chain of transforms and the user's line; as it is where
    it is ours or the user's own, and outside transforms, where NumPy's errors are the reference."""
    if isinstance(error, FxgradError):  # raised further out, where fewer levels were open
        error.chain = max(error.chain, describe_chain(), key=len)
        raise error
    if primitive.errors_are_users or acting_level() is EVAL.interpreter:
        raise error
    raise reword(error, primitive.name, args) from error


def register(primitive: Primitive, registry: dict[str, Primitive] = REGISTRY) -> Primitive:
    """Enter a declared primitive into a registry, from which tests and tables are generated."""
    if primitive.name in registry:
        raise ValueError(f"a primitive named {primitive.name!r} exists already")
    registry[primitive.name] = primitive
    if registry is REGISTRY:
        primitive.computes = primitive.name
    return primitive
