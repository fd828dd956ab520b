"""Observers: levels that look at the operations of the user's program and change nothing.

`Context.observer` is the innermost observer. It receives operations through `process`, as every level does; a
function that takes several operations but is one step to the user is reported as a whole. Every observer reports
further to the next one outside, so that a checker inside a profile, and a profile inside a profile, see what they
would see alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .aval import PLAIN, Aval
from .interpreter import CURRENT, Context, Interpreter

if TYPE_CHECKING:
    from .graph import Equation
    from .primitive import Primitive
    from .pullback import PullbackRule


class Observer(Interpreter):
    """The base of levels that observe; what a method is told, it hands on.

    `is_stepwise`: compiled code and loops run as the Python that they were made of, so that every operation comes by.
    """

    observes = True
    is_stepwise = True
    __slots__ = ()

    def is_observing(self) -> bool:
        """Whether functions of the namespace are to be handed over."""
        outer = self.outer.observer
        return outer is not None and outer.is_observing()

    def observe(
        self,
        kind: str,
        name: str,
        operands: Sequence[Any],
        run: Callable[[], Any],
        number: Callable[[Any], int | None] | int | None = None,
    ) -> Any:
        """Run a step of some other kind: an operation or a node of another surface, a piece of the user's program.
        `number` is the serial number by which forward and backward steps belong together, or gives it once there is a
        result."""
        outer = self.outer.observer
        return run() if outer is None else outer.observe(kind, name, operands, run, number)

    def observe_function(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function of the namespace."""
        outer = self.outer.observer
        return (
            function(*args, **kwargs)
            if outer is None
            else outer.observe_function(name, function, args, kwargs)
        )

    def observe_equation(self, equation: Equation, run: Callable[[], Any], operands: Sequence[Any]) -> Any:
        """Run one equation of compiled code."""
        outer = self.outer.observer
        return run() if outer is None else outer.observe_equation(equation, run, operands)

    def observe_pullback(
        self, interpreter: Interpreter, primitive: Primitive, rule: PullbackRule
    ) -> PullbackRule:
        """Return the rule of an operation that `interpreter` records, wrapped where its use is to be observed."""
        outer = self.outer.observer
        return rule if outer is None else outer.observe_pullback(interpreter, primitive, rule)

    def jvp(
        self, primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Compute the result of an operation and its tangent."""
        outer = self.outer.observer
        if outer is None:
            return primitive.jvp(primals, tangents, params)
        return outer.jvp(primitive, primals, tangents, params)

    def observed_code(self, code: Callable[..., Any]) -> Callable[..., Any]:
        """Return compiled code in a form whose equations are observed one by one."""
        return code

    def above(self, context: Context) -> Context:
        """Return a Context further out with an observer like this one above it."""
        return context


def is_stepwise() -> bool:
    """Whether a level is open that is to see the operations inside compiled code and loops."""
    observer = CURRENT.get().observer
    return observer is not None and observer.is_stepwise


def observed_code(code: Callable[..., Any]) -> Callable[..., Any]:
    """Return compiled code as it is to be run in the current Context."""
    observer = CURRENT.get().observer
    return code if observer is None else observer.observed_code(code)


def pull_observed(observer: Observer, rule: PullbackRule, ct: Any, residuals: Sequence[Any]) -> Any:
    """Apply a rule: by the code that plain values take otherwise, with its equations observed, where there is such."""
    plain = rule.pull_plain
    if (
        plain is not None
        and type(ct) in PLAIN
        and all([type(r) in PLAIN or type(r) is Aval for r in residuals])
    ):
        code = observer.observed_code(plain)
        if code is not plain:
            return code(ct, residuals)
    return rule.pull(ct, *residuals)
