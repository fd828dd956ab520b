"""The stack of interpreters: one level for each open transform. The values of a level are its tracers.

The stack is an immutable chain of `Context`s in one ContextVar, so threads and async tasks never see each
other's levels, and an exception leaves nothing behind. `core.primitive.bind` hands an operation to the current
interpreter; an interpreter that finds none of its own tracers among the operands hands it on to its `outer`
Context, down to evaluation, which runs kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import message, source_info
from .advice import explain_arguments, explain_call, explain_compiled
from .aval import PLAIN, SCALARS, Aval, aval_of, dtype_of
from .errors import EscapedTracerError, FxgradError, UnsupportedError
from .scipy_calls import advise_on_scipy
from .typing import P, R, type_of

if TYPE_CHECKING:
    from .rules import Rules


# Types that may be operands as they are: plain values, tracers (added on definition), arrays of other libraries.
VALUES: set[type] = set(PLAIN)


# Set by `numpy.boxes`: what makes of an array one that traced values can be written into, and of a traced value, in its
# place, one that is.
make_buffer: Callable[[Any], Any] = lambda array: array  # noqa: E731
become_box: Callable[[Tracer], None]


class Context:
    """One immutable state of the stack: the current interpreter, and the innermost level that observes, if any.

    An observer must see even operations on plain arrays (a NaN checker, say), which go straight to the kernel
    otherwise. What takes several operations but is one step to the user is handed to it as a whole: see
    `transforms.debug_nans`. `modes` are switches of an interpreter that records (None: as they are at first).
    """

    __slots__ = ("interpreter", "modes", "observer")

    interpreter: Interpreter
    observer: Any
    modes: Any

    def __init__(self, interpreter: Interpreter, observer: Any = None, modes: Any = None):
        self.interpreter, self.observer, self.modes = interpreter, observer, modes


class Interpreter:
    """The treatment of operations at one level. A subclass defines `process` and its tracer type, and is opened by
    `opened`; users may write their own (notebooks/06_interpreter.ipynb)."""

    outer: Context
    site: Any

    name: str = "interpreter"
    axis_name: Any = None
    extent: Any = None
    observes: ClassVar[bool] = False
    permanent: bool = False
    transparent: ClassVar[bool] = False
    knows_copies: ClassVar[bool] = False
    stage_effects: bool = False
    __slots__ = ("outer", "site")

    def __init__(self, site: Any = None):
        self.outer = CURRENT.get()
        self.site = site

    def process(self, primitive: Rules, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result of applying `primitive` to `args`, some of which may be this interpreter's tracers.

        Args:
            params: those of the primitive, by name.
        """
        raise NotImplementedError(f"{type(self).__name__}, an interpreter, does not define `process`")

    def lend(self, array: Any) -> Any:
        """An array of the user's, with which the transform has nothing to do, as one that the function may write into:
        the array itself remains as it is."""
        return make_buffer(array)

    def bind_outer(self, primitive: Rules, args: Any, params: dict[str, Any]) -> Any:
        """Apply the primitive one level further out. Arguments as of `process`."""
        outer = self.outer
        token = CURRENT.set(outer)
        try:
            return outer.interpreter.process(primitive, args, params)
        finally:
            CURRENT.reset(token)


class opened:
    """A context manager inside which `interpreter` is the current one.

    Args:
        interpreter: an interpreter that is not open yet; its `outer` is the Context in which it was made.

    `Interpreter` has an example. Entered, it gives the interpreter.

    >>> interpreter = fx.Interpreter()
    >>> with fx.opened(interpreter) as current:
    ...     print(current is interpreter)
    True
    """

    __slots__ = ("context", "token")

    context: Context
    token: Token[Context]

    def __init__(self, interpreter: Interpreter):
        outer = interpreter.outer
        observer = interpreter if interpreter.observes else outer.observer
        self.context = Context(interpreter, observer, outer.modes)

    def __enter__(self) -> Interpreter:
        self.token = CURRENT.set(self.context)
        return self.context.interpreter

    def __exit__(self, *exc: object) -> None:
        CURRENT.reset(self.token)


class use_context:
    """A context manager inside which the given Context is the current one."""

    __slots__ = ("context", "token")

    context: Context
    token: Token[Context]

    def __init__(self, context: Context):
        self.context = context

    def __enter__(self) -> None:
        self.token = CURRENT.set(self.context)

    def __exit__(self, *exc: object) -> None:
        CURRENT.reset(self.token)


def leave_library(error: BaseException, outer: Context) -> None:
    """Prepare an error for leaving the library: its traceback has none of our frames, no level stays open (Ctrl-C may
    come between the opening of a level and the `try` that closes it). To be followed by a bare raise."""
    CURRENT.set(outer)
    traceback = error.__traceback__
    source_info.hide_frames(error)
    if str(error) == "setting an array element with a sequence." and isinstance(error.__cause__, FxgradError):
        error = error.__cause__  # NumPy's words for what ours explain: buffer[0] = x
        advise_on_scipy(error, traceback)
        raise error from None
    explain_compiled(error)
    advise_on_scipy(error, traceback)


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call, so that errors that pass it go through `leave_library`."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        outer = CURRENT.get()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            explain_arguments(error, function)
            explain_call(error, function)
            leave_library(error, outer)
            raise

    return wrapper


class EvalInterpreter(Interpreter):
    """The interpreter of level 0, which runs kernels on real arrays."""

    name = "eval"
    __slots__ = ()

    def __init__(self) -> None:
        self.outer = self.site = None  # type: ignore[assignment]  # only here nothing is further out

    def process(self, primitive: Rules, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for a in args:
            if type(a) not in PLAIN:
                traced = next((b for b in args if isinstance(b, Tracer)), None)
                if traced is None:
                    return primitive.evaluate(args, params)
                if traced.interpreter.permanent:
                    return traced.interpreter.process(primitive, args, params)
                raise escaped_tracer_error(traced, primitive.name)
        return primitive.kernel(*args, **params)


EVAL = Context(EvalInterpreter())
CURRENT: ContextVar[Context] = ContextVar("fxgrad", default=EVAL)


def levels(context: Context | None = None) -> Iterator[Interpreter]:
    """Yield the interpreters of the chain, innermost first, without that of evaluation."""
    level = (context or CURRENT.get()).interpreter
    while level is not EVAL.interpreter:
        yield level
        level = level.outer.interpreter


def acting_level(context: Context | None = None) -> Interpreter:
    """The innermost level that is not transparent: that of evaluation, outside all transforms."""
    level = (context or CURRENT.get()).interpreter
    while level.transparent:
        level = level.outer.interpreter
    return level


def copy_level() -> Any:
    """The innermost level that knows which values are the same on all ranks, or None."""
    level = CURRENT.get().interpreter
    while level is not EVAL.interpreter:
        if level.knows_copies:
            return level
        level = level.outer.interpreter
    return None


def named_axes() -> tuple[tuple[Any, Any], ...]:
    """(name, extent) of the mapped axes that are open and have a name, innermost first."""
    return tuple([(level.axis_name, level.extent) for level in levels() if level.axis_name is not None])


def describe_chain() -> str:
    """'level 2: vmap at a.py:10 → level 1: grad at a.py:12', or '' outside all transforms."""
    chain = [level for level in levels() if not level.transparent]
    parts: list[str] = []
    for level, interpreter in zip(range(len(chain), 0, -1), chain):
        place = f" at {interpreter.site}" if interpreter.site else ""
        parts.append(f"level {level}: {interpreter.name}{place}")
    return " → ".join(parts)


message.describe_chain = describe_chain


def escaped_tracer_error(tracer: Tracer, operation: object) -> EscapedTracerError:
    """Return the error for a tracer that is used where its interpreter is not open."""
    interpreter = tracer.interpreter
    opened_at = f" (opened at {interpreter.site})" if interpreter.site else ""
    return EscapedTracerError(
        f"{operation}: a traced value {tracer.aval!r} of {interpreter.name}{opened_at} "
        "is used outside that transform",
        hint="return the value from the transformed function (has_aux=True for extra results) instead of storing "
        "it in a variable that outlives the call; values closed over by a custom rule must be its arguments; a "
        "thread started inside the transform must run in contextvars.copy_context()",
    )


def ensure_open(tracer: Tracer, operation: object) -> None:
    """Raise unless the tracer's interpreter is in the current chain."""
    wanted, level = tracer.interpreter, CURRENT.get().interpreter
    while level is not wanted and level is not EVAL.interpreter:
        level = level.outer.interpreter
    if level is not wanted and not wanted.permanent:
        raise escaped_tracer_error(tracer, operation)


class Tracer:
    """A value that belongs to an interpreter. Behaves like a NumPy array: operators, methods and the NumPy
    protocols are attached by `fxgrad.numpy.methods`.

    User code may write into it: the object then becomes a box (see `numpy.boxes`), and what the library keeps of the
    value before is a `twin`. `shown`, where set, says of what NumPy would give this one as a view, and by which step:
    (the other one, a function, its further arguments); `views` are weak references to those of this one.

    `radicand`, where set, gives the value of which this one is the root (`sqrt(s)`, `norm(x)`): squaring it can
    then use the exact derivative (see `ops.elementwise.square`).

    >>> def square(x):
    ...     print(isinstance(x, fx.Tracer), x.shape, x.dtype)
    ...     return x * x
    >>> print(fx.grad(square)(3.0))
    True () float64
    6.0
    """

    __slots__ = ("__weakref__", "interpreter", "radicand", "shown", "views")
    interpreter: Interpreter
    __array__: Callable[..., np.ndarray]  # attached, with the other members of arrays
    serial: Any = None  # the number of the step that made it, where steps are numbered
    is_followed: ClassVar[bool] = False  # whether the level follows what Python decides by the value
    is_number: Any = False  # whether it stands for a number of Python's
    is_differentiated: Any = False  # whether the value carries a derivative, which a plain number would lose

    def __init_subclass__(cls) -> None:
        VALUES.add(cls)

    @classmethod
    def attach(cls, **members: Any) -> None:
        """Give traced values these methods and attributes, which are written in terms of operations."""
        for name, member in members.items():
            setattr(cls, name, member)

    @property
    def aval(self) -> Aval:
        """The abstract value."""
        raise NotImplementedError(f"{type(self).__name__}, a tracer, does not define `aval`")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the function sees: an axis over which `vmap` maps is not in it."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return Aval(self.shape, None).size

    @property
    def weak(self) -> bool:
        """Whether the dtype is that of a Python number, which gives way to those of arrays."""
        return self.aval.weak

    def contents(self) -> tuple[Any, ...]:
        """The values of outer levels that this one is made of, as far as they are known."""
        return ()

    def concretize(self, operation: str) -> Any:
        """Return the plain value below all levels, for `bool`, `int`, `float`; raise where there is none."""
        raise UnsupportedError(
            f"{operation} of a traced value of {self.interpreter.name}",
            hint="a function of fxgrad.numpy in place of it, or `concretize` in the tracer of that interpreter",
        )

    def decide(self, operation: str) -> Any:
        """Return the value for Python itself, which goes on as the value says: as `concretize`, but a level that
        follows Python's decisions knows values that are abstract otherwise."""
        return self.concretize(operation)


class PrimalTracer(Tracer):
    """A value of an outer level, its `primal`, with something beside it: a node, a tangent. It looks like that."""

    __slots__ = ("primal",)

    @property
    def aval(self) -> Aval:
        return aval_of(self.primal)

    @property
    def shape(self) -> tuple[int, ...]:
        return getattr(self.primal, "shape", ())

    @property
    def dtype(self) -> Any:
        return dtype_of(self.primal)

    @property
    def weak(self) -> bool:
        primal = self.primal
        return type(primal) in SCALARS or (isinstance(primal, Tracer) and primal.weak)

    def contents(self) -> tuple[Any, ...]:
        return (self.primal,)

    def concretize(self, operation: str) -> Any:
        return self.primal


# What tracers of each class are made of, but for what is known of their views and roots.
PARTS: dict[type, list[Any]] = {}
BESIDE = ("__weakref__", "radicand", "shown", "views")


def parts_of(kind: type) -> list[Any]:
    """Return the slots of a class of tracers that make up the value."""
    slots = [(c, name) for c in kind.__mro__ for name in vars(c).get("__slots__", ()) if name not in BESIDE]
    PARTS[kind] = [vars(c)[name] for c, name in slots if getattr(kind, name) is vars(c)[name]]
    return PARTS[kind]


def twin(tracer: Any) -> Any:
    """Return another object for the same traced value. A write into one does not change the other, so the library keeps
    a twin of a tracer that user code holds, and hands out a twin of one that it keeps."""
    if isinstance(tracer, PrimalTracer):
        _ = tracer.primal  # which is computed now, if that was put off
    kind = type_of(tracer)
    other: Any = object.__new__(kind)
    for slot in PARTS.get(kind) or parts_of(kind):
        try:
            slot.__set__(other, slot.__get__(tracer))
        except AttributeError:
            continue  # it is not set
    if hasattr(tracer, "radicand"):
        other.radicand = tracer.radicand
    if hasattr(tracer, "__dict__"):  # of a user's own class
        other.__dict__.update(tracer.__dict__)
    return other


def concretize(value: Any, operation: str) -> Any:
    """Return the plain array or scalar behind `value`, which may be traced; raise `ConcretizationError` if it is
    abstract."""
    while isinstance(value, Tracer):
        ensure_open(value, operation)
        value = value.concretize(operation)
    return value


def decide(value: Any, operation: str) -> Any:
    """Return the plain array or scalar behind `value`, by which Python decides how to go on; raise
    `ConcretizationError` if it is abstract and no level follows decisions."""
    while isinstance(value, Tracer):
        ensure_open(value, operation)
        value = value.decide(operation)
    return value


def innermost_primal(value: Any) -> Any:
    """Return the value below levels of derivatives."""
    return innermost_primal(value.primal) if isinstance(value, PrimalTracer) else value


def is_plain(values: Any) -> bool:
    """Return whether all values go straight to NumPy kernels."""
    return all(type(v) in PLAIN for v in values)
