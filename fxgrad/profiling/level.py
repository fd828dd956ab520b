"""ProfileLevel: the observer that records Events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core import source_info
from ..core.aval import PLAIN
from ..core.interpreter import CURRENT, EVAL, Context, Tracer
from ..core.observer import Observer, pull_observed
from ..core.pullback import PullbackRule
from ..core.staging import GraphInterpreter
from ..kernels.codegen.observed import observe_code
from .flops import count_flops
from .recording import OPEN, UNKNOWN

if TYPE_CHECKING:
    from ..core.graph import Equation
    from ..core.interpreter import Interpreter
    from ..core.primitive import Primitive
    from .recording import Recording


class ProfileLevel(Observer):
    """A level that measures what passes through it. Compiled code stays compiled, and is measured equation by
    equation."""

    name = "profile"
    transparent = True
    __slots__ = ("is_lowest", "is_stepwise", "recording")

    def __init__(self, recording: Recording, site: Any = None):
        super().__init__(site)
        self.recording = recording
        outer = self.outer.observer
        self.is_stepwise = outer is not None and outer.is_stepwise
        self.is_lowest = self.outer.interpreter is EVAL.interpreter  # whether nothing is below but kernels

    def bind_outer(self, primitive: Primitive, args: Any, params: dict) -> Any:
        """Apply the primitive one level further out, under the modes of now."""
        outer, modes = self.outer, CURRENT.get().modes
        if modes is not outer.modes:
            outer = Context(outer.interpreter, outer.observer, modes)
        token = CURRENT.set(outer)
        try:
            return outer.interpreter.process(primitive, args, params)
        finally:
            CURRENT.reset(token)

    def process(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        recording = self.recording
        if not recording.is_active:
            return self.bind_outer(primitive, args, params)
        direct = self.is_lowest
        if direct:
            for a in args:
                if type(a) not in PLAIN:
                    direct = False
        event = recording.begin(self, "primitive", primitive.name, args)
        try:
            # The kernel in our own Context: if it carries out a program, we see what that does.
            result = primitive.kernel(*args, **params) if direct else self.bind_outer(primitive, args, params)
        finally:
            recording.finish(event)
        if isinstance(result, Tracer):
            event.number = result.serial
        if recording.notes_results:
            recording.note_result(event, result, params)
        return result

    def measure(
        self,
        kind: str,
        name: str,
        operands: Sequence[Any],
        run: Callable[[], Any],
        number: Callable[[Any], int | None] | int | None = None,
        site: Any = UNKNOWN,
    ) -> Any:
        """Run a step as one Event."""
        recording = self.recording
        if not recording.is_active:
            return run()
        known = number if isinstance(number, int) else None
        event = recording.begin(self, kind, name, operands, site, 5, known)
        try:
            result = run()
        finally:
            recording.finish(event)
        if callable(number):
            event.number = number(result)
        if recording.flops and kind == "function" and recording.events[-1] is event:
            event.flops = count_flops(name, event.operands, result, {})  # NumPy's own: nothing is inside
        if recording.memory is not None:
            recording.memory.note_result(event, result)
        return result

    def is_staging(self) -> bool:
        """Whether a Graph is being made, so that nothing is computed."""
        level = CURRENT.get().interpreter
        while level.outer is not None and level is not self:
            if isinstance(level, GraphInterpreter):
                return True
            level = level.outer.interpreter
        return False

    def is_observing(self) -> bool:
        return self.recording.is_active or super().is_observing()

    def observe(
        self,
        kind: str,
        name: str,
        operands: Sequence[Any],
        run: Callable[[], Any],
        number: Callable[[Any], int | None] | int | None = None,
    ) -> Any:
        observer = self.outer.observer
        if observer is not None:
            run = partial(observer.observe, kind, name, operands, run, number)
        outer = OPEN.get()
        if outer is not None and outer.name == name and outer.kind == kind == "operation":
            result = run()  # a function of an operation's name, which is the operation
            outer.number = number(result) if callable(number) else None
            if self.recording.memory is not None:
                self.recording.memory.note_result(outer, result)
            return result
        return self.measure(kind, name, operands, run, number)

    def observe_function(self, name: str, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        run = partial(super().observe_function, name, function, args, kwargs)
        return run() if self.is_staging() else self.measure("function", name, args, run)

    def observe_equation(self, equation: Equation, run: Callable[[], Any], operands: Sequence[Any]) -> Any:
        primitive, recording = equation.primitive, self.recording
        event = recording.begin(self, "primitive", primitive.name, operands, equation.site)
        try:
            outer = self.outer.observer
            result = run() if outer is None else outer.observe_equation(equation, run, operands)
        finally:
            recording.finish(event)
        if recording.notes_results:
            recording.note_result(event, result, equation.params)
        return result

    def observe_pullback(
        self, interpreter: Interpreter, primitive: Primitive, rule: PullbackRule
    ) -> PullbackRule:
        rule = super().observe_pullback(interpreter, primitive, rule)
        return MeasuredPullback(self, primitive.name, rule) if self.recording.is_active else rule

    def jvp(self, primitive: Primitive, primals: Any, tangents: Any, params: dict) -> tuple[Any, Any]:
        run = partial(super().jvp, primitive, primals, tangents, params)
        return run() if self.is_staging() else self.measure("jvp", f"jvp of {primitive.name}", primals, run)

    def observed_code(self, code: Callable[..., Any]) -> Callable[..., Any]:
        return observe_code(code, observe_equation) if self.recording.is_active else code

    def above(self, context: Context) -> Context:
        """Return the Context with a level of the same recording above it."""
        token = CURRENT.set(context)
        try:
            level = ProfileLevel(self.recording)
        finally:
            CURRENT.reset(token)
        return Context(level, level, context.modes)


def observe_equation(equation: Equation, run: Callable[[], Any], *operands: Any) -> Any:
    """Run an equation of compiled code under the observer of the Context, or of the Event that is open."""
    observer = CURRENT.get().observer
    if observer is None:
        event = OPEN.get()
        observer = None if event is None else event.level
    return run() if observer is None else observer.observe_equation(equation, run, operands)


class MeasuredPullback(PullbackRule):
    """The pullback of an operation, measured at each use."""

    __slots__ = ("level", "name", "rule", "rules_run_user_code", "saved_from", "site")

    def __init__(self, level: ProfileLevel, name: str, rule: PullbackRule):
        self.level, self.name, self.rule = level, name, rule
        self.site = source_info.user_frame() if level.recording.lines else None
        self.saved_from = rule.saved_from
        self.rules_run_user_code = rule.rules_run_user_code

    def map_residuals(self, residuals: Any, operand: Callable, result: Callable) -> Any:
        """See `PullbackRule`."""
        return self.rule.map_residuals(residuals, operand, result)

    def pull(self, ct: Any, *residuals: Any) -> Any:
        """See `PullbackRule`."""
        run = partial(pull_observed, self.level, self.rule, ct, residuals)
        return self.level.measure("pullback", f"pullback of {self.name}", (ct,), run, site=self.site)
