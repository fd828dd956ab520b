"""The base class of users' interpreters: a level that must say how it treats operations that carry programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from . import interpreter
from .errors import UnsupportedError
from .interpreter import Tracer

if TYPE_CHECKING:
    from .primitive import Primitive


class Interpreter(interpreter.Interpreter):
    """The treatment of operations at one level. A subclass defines `process` and its tracer type, and is opened by
    `opened`; users may write their own (notebooks/06_interpreter.ipynb).

    `outer` is the Context in which the interpreter was opened: its rules run there. `site` is the user's line that
    opened the transform, for messages only. A level that maps has an `axis_name`, which the user gave, and the `extent`
    of its axis: the number of entries, or the axis of a mesh of processes. A `permanent` interpreter needs no transform
    to open it: evaluation calls it when it meets its tracers. A `transparent` one has no tracers and only observes:
    code that depends on the open level sees the next one. One that `knows_copies` (`transforms.copies`) replicates
    values, and unites replicated ones, for derivatives inside.

    `programs` says how an operation on its tracers that carries a program is treated: a loop, a branch, a checkpointed
    or custom function, a linear solve. "inline": its operations are passed to `process` one after another; "whole": it
    is passed to `process` as one operation, which may call `inline`. Without a choice it is an error, because such an
    operation would easily be mistaken for one that does nothing.

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
        process = getattr(cls.process, "undivided", cls.process)
        cls.process = process if cls.programs == "whole" else divide_programs(process)  # type: ignore[method-assign]

    def inline(self, primitive: Primitive, args: Any, params: dict[str, Any]) -> Any:
        """Carry out the program of a primitive at this level, one operation after the other: each comes to `process`.

        A loop runs step by step, a `while_loop` while its condition is true, and a `cond` runs the branch of its index.
        Tracers that decide this must have a plain value, which `concretize` returns. For a function with custom rules
        the function itself is run; levels further out see its operations, and not its rules.

        Args:
            args, params: as of `process`.

        Returns:
            The results, a list.

        Raises:
            UnsupportedError: the primitive carries no program.
            ConcretizationError: a condition or an index is not known.

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

    divided.undivided = process  # type: ignore[attr-defined]  # what costs no call, for classes that say "whole"
    return divided


def has_own(level: Interpreter, args: Any) -> bool:
    """Whether operands are tracers of a level."""
    return any(isinstance(a, Tracer) and a.interpreter is level for a in args)
