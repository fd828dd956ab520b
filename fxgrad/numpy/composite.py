"""How the functions of the namespace are made.

A function is NumPy's own as long as no argument is, or holds, a traced value or an array of another library:
same values, same errors, same speed. Otherwise it is a *composite*: a Python function over primitives, with
NumPy's name and signature and with no rules of its own.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .. import ops
from ..core.arrays import namespace_of
from ..core.aval import PLAIN, aval_of, kind_of
from ..core.errors import ConcretizationError, FxgradError, ImmutableError, ShapeError, reword
from ..core.interpreter import CURRENT, EVAL, Tracer, as_value, concrete

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

# The Python numbers that are weak beside arrays of a kind.
NUMBERS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
# Exact types of arguments that NumPy takes as they are; arrays are looked at.
INERT = (PLAIN - {np.ndarray}) | {type(None), str, type, slice, type(Ellipsis)}


def beyond_numpy(value: Any) -> bool:
    """Whether an argument is, or holds, a tracer, an array of another library, or bfloat16, which many of NumPy's
    functions do not know."""
    kind = type(value)
    if kind in INERT:
        return False
    if kind is list or kind is tuple:
        return any(map(beyond_numpy, value))
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind == "V"
    if isinstance(value, Tracer):
        return True
    return not isinstance(value, np.dtype) and namespace_of(value) is not None


# What a docstring says that refers to NumPy's.
DIFFERENTIABLE, STEPS, CONSTANT = "differentiable", "with derivative 0", "without derivative"


def composite(
    reference: Callable[..., Any] | None = None,
    *,
    further: tuple[str, ...] = (),
    derivative: str = DIFFERENTIABLE,
) -> Callable[[F], F]:
    """Declare a function of the namespace: its body is run on traced values, `reference` on all others.

    Without a reference the body serves every value; with one, where a keyword of `further` is given, an option that
    NumPy's function has not. An argument `out` is refused. Errors raised on the way get the operation's name, the
    open transforms and the user's line. A missing docstring refers to NumPy's, and says which `derivative` there is.
    """

    def declare(body: F) -> F:
        name = body.__name__
        out = position_of_out(body)

        @wraps(body)
        def function(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("out") is not None or (len(args) > out and args[out] is not None):
                raise ImmutableError(f"{name}: out= would write into an array, which fxgrad never does",
                                     hint="use the result")  # fmt: skip
            try:
                watcher = CURRENT.get().watching
                if watcher is not None and watcher.looks():
                    return watcher.whole(name, function, args, kwargs)
                if reference is None or (further and any_given(further, kwargs)):
                    return body(*args, **kwargs)
                for value in args:
                    if beyond_numpy(value):
                        return body(*args, **kwargs)
                for value in kwargs.values():
                    if beyond_numpy(value):
                        return body(*args, **kwargs)
                return reference(*args, **kwargs)
            except (ValueError, TypeError, IndexError) as error:
                if isinstance(error, FxgradError) or CURRENT.get().interpreter is EVAL.interpreter:
                    raise
                raise reword(error, name, args) from error

        function.__doc__ = body.__doc__ or f"As `numpy.{name}`, {derivative}."
        return function  # type: ignore[return-value]

    return declare


def any_given(options: tuple[str, ...], kwargs: dict[str, Any]) -> bool:
    """Whether one of the options is given; those that are None or False are not, and taken out."""
    for option in options:
        if kwargs.get(option) is None or kwargs[option] is False:
            kwargs.pop(option, None)
    return not kwargs.keys().isdisjoint(options)


def position_of_out(body: Callable[..., Any]) -> int:
    """The position of a parameter `out` that may be given by position. (The signature would take as long as the rest of
    the import.)"""
    names = body.__code__.co_varnames[: body.__code__.co_argcount]
    return names.index("out") if "out" in names else sys.maxsize


def operand(value: Any) -> Any:
    """An argument as NumPy's `asarray` sees it: an array (or tracer) with a dtype of its own, never weak."""
    value = as_value(value)
    if getattr(value, "shape", ()):  # only numbers are weak
        return value
    aval = aval_of(value)
    return ops.convert(value, dtype=aval.dtype) if aval.weak else value


def operands(values: Any) -> list[Any]:
    """Several arguments as arrays."""
    return [operand(v) for v in values]


def dtype_of(x: Any) -> Any:
    """NumPy's dtype of an array of any library."""
    return aval_of(x).dtype


def kind(x: Any) -> str:
    """The kind of an array's dtype: 'b', 'i', 'u', 'f' or 'c'."""
    return kind_of(aval_of(x).dtype)


def cast(x: Any, dtype: Any) -> Any:
    """x in another dtype; None leaves it as it is."""
    return x if dtype is None or dtype_of(x) == dtype else ops.convert(x, dtype=np.dtype(dtype))


def chosen(mask: Any, x: Any, number: Any) -> Any:
    """x where the mask holds, elsewhere a number, in the dtype of x."""
    return cast(ops.where(mask, x, NUMBERS[kind(x)](number)), dtype_of(x))


def known(value: Any, operation: str, hint: str) -> Any:
    """The plain value of an argument that fixes a shape; where there is none, the error says what to write."""
    try:
        return concrete(operand(value), operation)
    except ConcretizationError as error:
        raise ConcretizationError(error.args[0], hint=hint) from None


def ensure(condition: Any, message: str) -> None:
    """Raise a ShapeError where a condition on values is known not to hold. Staged and batched values are trusted."""
    try:
        holds = concrete(ops.reduce_all(condition, axes=axes_tuple(None, condition.ndim)), "bool()")
    except ConcretizationError:
        return
    if not holds:
        raise ShapeError(message)


def axis_index(axis: Any, ndim: int) -> int:
    """An axis made non-negative; raises NumPy's AxisError."""
    return normalize_axis_index(axis, ndim)


def axes_tuple(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes made non-negative; None stands for all."""
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)


def at_axis(index: Any, axis: int) -> tuple:
    """The index that applies `index` (a slice or an integer) to one axis."""
    return (*(slice(None),) * axis, index)
