"""Rules: an operation as interpreters know it.

The rules are methods, one for each thing an interpreter may ask; `ops.kinds` supplies them for families of
operations (elementwise, linear, …), so that a declaration states only the mathematics. An interpreter written
later adds no method here: it asks for what is here, or treats operations by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .aval import Aval
from .errors import NotDifferentiableError, NotLinearError, UnsupportedError

if TYPE_CHECKING:
    from .graph import Graph

# Every declared operation by name. Filled while fxgrad.ops is imported, not changed afterwards.
REGISTRY: dict[str, Any] = {}


class Rules:
    """What is known of an operation: its name, its traits and its rules, one for each thing an interpreter may ask.

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

    # The name of the library's primitive that has its values, whatever its derivative is: compilers go by that, since
    # primitives of users and of other surfaces may share a name. "": they do not know it.
    computes = ""

    unfold: Callable[[Any, Any], Any] | None = (
        None  # (operands, params) → results, by the operations of a program
    )

    # Traits, which interpreters heed whatever the rules are; `Equation.has_trait` looks in sub-graphs as well.
    effectful = False  # does something besides computing: an equation is kept though nobody needs its results
    bound_to_axis = False  # its result depends on the mapped axis that its param `axis_name` names
    identity_params = False  # its params hold functions made for one call: no other equation ever equals it
    changes_nothing = False  # its result is its operand: what computes values leaves it out
    kernel_shortcut = True  # over plain values a level may run its kernel at once, in its own Context
    errors_are_users = False  # what its kernel raises comes from user code, and is not ours to reword
    rules_run_user_code = False  # its derivative rules call functions of the user's

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def kernel(self, *args: Any, **params: Any) -> Any:
        """Compute on NumPy arrays and scalars."""
        raise UnsupportedError(
            f"{self.name} cannot be evaluated",
            hint="use it under the transform that gives it meaning, or declare a kernel",
        )

    def evaluate(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute on arrays of any library."""
        raise NotImplementedError

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
