"""Primitive: a name and its rules. `primitive.call` is the function that binds it to operands.

The rules are methods, one for each thing an interpreter may ask; `ops.kinds` supplies them for families of
operations (elementwise, linear, …), so that a declaration states only the mathematics. An interpreter written
later adds no method here: it asks for what is here, or treats primitives by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .aval import PLAIN, Aval
from .errors import FxgradError, NotDifferentiableError, UnsupportedError, reword
from .graph import Graph, iter_subgraphs
from .interpreter import (
    CURRENT,
    EVAL,
    VALUES,
    acting_level,
    as_value,
    describe_chain,
    is_plain,
    named_axes,
)
from .staging import stages_effects
from .surface import first_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Every declared primitive by name. Filled while fxgrad.ops is imported, not changed afterwards.
REGISTRY: dict[str, Primitive] = {}


class Primitive:
    """An operation that interpreters know by its rules.

    `make_kernel(xp)` returns the function that computes it on the arrays of the namespace `xp`; it is called as
    kernel(*operands, **params). Operands are values that may be traced, params are static and hashable.
    """

    name: str
    make_kernel: Callable[[Any], Callable[..., Any]] | None
    call: Any

    multiple_results = False
    symbol: str | None = None  # infix or prefix sign in printed graphs
    entrywise = (
        False  # each entry of the result is a function of those of the broadcast operands at its place
    )
    formula: Callable[..., Any] | None = (
        None  # (*operands, **params) → results, or None where the kernel is better
    )
    formula_from: int | None = None  # entries from which on it is; None: as many as are worth machine code

    computes: str | None = (
        None  # the function of entries, by which machine code knows it whatever its derivative is
    )

    unfold: Callable[[Any, Any], Any] | None = (
        None  # (operands, params) → results, by the operations of a program
    )

    # Traits, which interpreters heed whatever the rules are; `Equation.has_trait` looks in sub-graphs as well.
    effectful = False  # has side effects: an equation is kept even if its results are unused
    bound_to_axis = False  # its result depends on the mapped axis that its param `axis_name` names
    identity_params = False  # its params hold functions made for one call: no other equation ever equals it
    changes_nothing = False  # its result is its operand: what computes values leaves it out
    kernel_shortcut = True  # over plain values a level may run its kernel at once, in its own Context
    errors_are_users = False  # what its kernel raises comes from user code, and is not ours to reword
    rules_run_user_code = False  # its derivative rules call functions of the user's

    def __init__(self, name: str, make_kernel: Callable[[Any], Callable[..., Any]] | None = None):
        self.name, self.make_kernel = name, make_kernel
        if make_kernel is not None:
            self.kernel = make_kernel(np)
        self.call = self.make_call()
        self.call.primitive = self
        self.call.__name__ = self.call.__qualname__ = name

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

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

    # -- what interpreters ask ------------------------------------------------------------------------------------
    def kernel(self, *args: Any, **params: Any) -> Any:
        """Compute on NumPy arrays and scalars."""
        raise UnsupportedError(
            f"{self.name} cannot be evaluated",
            hint="use it under the transform that gives it meaning, or declare a kernel",
        )

    def evaluate(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute on arrays of any library."""
        from . import arrays

        return arrays.evaluate(self, args, params)

    def abstract_eval(self, avals: Sequence[Aval], params: dict[str, Any]) -> Any:
        """Return the Aval of the result, or a tuple of them if there are several results."""
        raise UnsupportedError(
            f"{self.name} cannot be staged: it has no abstract rule",
            hint="an abstract rule; or use it outside of jit and make_graph",
        )

    def subgraphs(self, avals: Sequence[Aval], params: dict[str, Any]) -> list[Graph]:
        """Return the Graphs that the operation carries out."""
        return []

    def acts(self, params: dict[str, Any]) -> bool:
        """Return whether it does something besides computing, or depends on the open axes, whatever its operands are;
        or a Graph among its params does."""
        return self.effectful or self.bound_to_axis

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
        """Return the result and its tangent; a tangent that is None is zero."""
        raise NotDifferentiableError(
            f"{self.name} has no forward-mode rule",
            hint="reverse mode (fx.vjp, fx.jacrev), or fx.custom_jvp around it",
        )

    def vjp(
        self,
        apply: Callable[..., Any],
        values: Sequence[Any],
        needed: Sequence[Any],
        params: dict[str, Any],
        snapshot: Callable[[Any], Any],
    ) -> tuple[Any, Any, Any]:
        """Return (result, rule, residuals) with respect to the operands whose `needed` is not None.

        `apply` computes the primitive: its kernel where all values are plain, its `call` otherwise. The rule is a
        PullbackRule, or None where the result does not depend differentiably on those operands. `snapshot` makes a
        value safe to keep: it copies what the user may write to.
        """
        raise NotDifferentiableError(
            f"{self.name} has no reverse-mode rule",
            hint="forward mode (fx.jvp, fx.jacfwd), or fx.custom_vjp around it",
        )

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
        """Return cotangents of the operands that are given as Avals, in which the operation is linear; the others are
        values."""
        from .errors import NotLinearError

        raise NotLinearError(
            f"{self.name} is not linear in its traced operands",
            hint="fx.vjp(f, x), which linearizes a function first",
        )

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Return (result, whether it is batched) for operands whose batch axis is leading where `is_batched` is
        true."""
        raise UnsupportedError(
            f"{self.name} has no batching rule", hint="use fx.vmap(f, chunk_size=1) or a loop"
        )


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
            args = tuple([as_value(a) for a in args])
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
