"""The base class of users' interpreters: a level that must say how it treats operations that carry programs."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from . import interpreter
from .errors import UnsupportedError
from .interpreter import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .primitive import Primitive


class Interpreter(interpreter.Interpreter):
    """How one level treats operations. A subclass defines `process` and its tracer type, and is opened by `opened`; a
    user's own may be one (notebooks/06_interpreter.ipynb).

    `outer` is the Context in which the interpreter was opened: its rules run there. `site` is the user's line
    that opened the transform and serves messages only. A level that maps has the `axis_name` that it was given, and
    the `extent` of its axis: how many entries it maps, or the axis of a mesh of processes.
    A `permanent` one is at hand wherever its tracers meet evaluation: it is open without having been opened. One that
    is `transparent` has no tracers and only looks on: what depends on the level that is open depends on the next one.
    One that `knows_copies` (`transforms.copies`) makes many values of one, and one of many, for derivatives inside.

    `programs` says what becomes of an operation on its tracers that carries a program: a loop, a branch, a checkpointed
    or custom function, a linear solve. "inline": its operations come to `process`, one after the other; "whole": it
    comes to `process` as one operation, which may call `inline`. Where nothing is said it is an error, for what is seen
    as one operation is easily taken for one that does nothing.

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> class Counter(fx.Interpreter):
    ...     name, programs = "counter", "inline"
    ...     steps = 0
    ...
    ...     def process(self, primitive, args, params):
    ...         self.steps += 1
    ...         args = [a.value if type(a) is Counted else a for a in args]
    ...         return Counted(self, self.bind_outer(primitive, args, params))
    >>> class Counted(fx.Tracer):
    ...     def __init__(self, interpreter, value):
    ...         self.interpreter, self.value = interpreter, value
    ...
    ...     aval = property(lambda self: fx.typeof(self.value))
    ...
    ...     def contents(self):
    ...         return (self.value,)
    >>> counter = Counter()
    >>> with fx.opened(counter):
    ...     y = fnp.sin(Counted(counter, 2.0)) * 3
    >>> counter.steps
    2
    >>> with fx.opened(counter):
    ...     y = fx.lax.fori_loop(0, 10, lambda i, x: fnp.sin(x), Counted(counter, np.ones(2)))
    >>> counter.steps
    12
    """

    __slots__ = ()
    programs: ClassVar[Literal["inline", "whole"] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "process" in cls.__dict__:
            cls.process = divide_programs(cls.process)  # type: ignore[method-assign]

    def inline(self, primitive: Primitive, args: Any, params: dict[str, Any]) -> Any:
        """Carry out the program of a primitive at this level, one operation after the other: each comes to `process`.

        A loop takes its steps, a `while_loop` as long as its condition says and a `cond` the branch of its index, so
        that tracers which these depend on must have a plain value: `concretize` gives it. Of a function with rules of
        its own the function is carried out; levels further out see its operations, and not its rules.

        Args:
            args, params: as of `process`.

        Returns:
            The results, a list.

        Raises:
            UnsupportedError: the primitive carries no program.
            ConcretizationError: a condition or an index is not known.

        >>> import fxgrad as fx
        >>> class Inside(fx.Interpreter):
        ...     programs = "whole"
        ...
        ...     def process(self, primitive, args, params):
        ...         if primitive.name == "scan":
        ...             return self.inline(primitive, args, params)
        ...         return self.bind_outer(primitive, args, params)
        """
        if primitive.unfold is None:
            raise UnsupportedError(
                f"{primitive.name} carries no program that could be carried out operation by operation",
                hint="`bind_outer` with the values of its operands",
            )
        return primitive.unfold(args, params)


def divide_programs(process: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `process` that sees programs as the class says."""

    @wraps(process)
    def divided(self: Interpreter, primitive: Primitive, args: Any, params: dict[str, Any]) -> Any:
        if primitive.unfold is None or self.programs == "whole" or not has_own(self, args):
            return process(self, primitive, args, params)
        if self.programs == "inline":
            return self.inline(primitive, args, params)
        raise UnsupportedError(
            f"{self.name}: {primitive.name} is one operation that carries out a program, and {type(self).__name__} "
            "does not say how it takes programs",
            hint='programs = "inline" in the class, and `process` gets each operation of the program; or programs = '
            '"whole", and it gets the operation as one',
        )

    return divided


def has_own(level: Interpreter, args: Any) -> bool:
    """Whether operands are tracers of a level."""
    return any(isinstance(a, Tracer) and a.interpreter is level for a in args)
