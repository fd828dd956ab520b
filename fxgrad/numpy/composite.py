"""The decorator that declares the functions of the namespace.

A function is NumPy's own as long as no argument is, or holds, a traced value or an array of another library:
same values, same errors, same speed. Otherwise it is a *composite*: a Python function over primitives, with
NumPy's name and signature and with no rules of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .. import ops
from ..core import interpreter
from ..core.advice import explain_arguments
from ..core.arrays import as_value, holds_objects, namespace_of
from ..core.aval import PLAIN, aval_of, kind_of
from ..core.errors import ConcretizationError, FxgradError, ShapeError, reword
from ..core.interpreter import CURRENT, EVAL, Tracer, acting_level, concretize, twin
from ..core.surface import OBJECTS, SurfaceObject, first_object
from ..core.typing import Array
from ..ops.operators import remember_view
from .documentation import (
    DIFFERENTIABLE,
    SHOWS,
    TAKES_OUT,
    describe,
    name_additions,
    parameters_of,
    refuse_options,
)
from .writing import take_out

F = TypeVar("F", bound="Callable[..., Any]")

# The Python numbers that are weak beside arrays of a kind.
NUMBER_OF_KIND = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
# Exact types of arguments that NumPy takes as they are; arrays are looked at.
INERT_TYPES = (PLAIN - {np.ndarray}) | {type(None), str, type, slice, type(Ellipsis)}

# Functions that make a new array, into which programs write.
CREATORS = frozenset({
    "arange", "array", "copy", "empty", "empty_like", "eye", "full", "full_like", "geomspace", "identity", "indices",
    "linspace", "logspace", "ones", "ones_like", "tri", "vander", "zeros", "zeros_like",
})  # fmt: skip
# Functions whose result may share memory with an argument, by their names in NumPy's namespace.
VIEWS = frozenset({
    "array_split", "asanyarray", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d", "atleast_3d",
    "broadcast_arrays", "broadcast_to", "diag", "diagonal", "dsplit", "expand_dims", "flip", "fliplr",
    "flipud", "hsplit", "matrix_transpose", "meshgrid", "moveaxis", "permute_dims", "ravel",
    "real_if_close", "reshape", "rollaxis", "rot90", "sliding_window_view", "split", "squeeze",
    "swapaxes", "transpose", "unstack", "vsplit",
})  # fmt: skip


def is_beyond_numpy(value: Any) -> bool:
    """Whether an argument is, or holds, a tracer, an array of another library, or bfloat16, which many of NumPy's
    functions do not know."""
    kind = type(value)
    if kind in INERT_TYPES:
        return False
    if kind is list or kind is tuple:
        return any(map(is_beyond_numpy, value))
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind == "V" or (holds_objects(value) and as_value(value) is not value)
    if isinstance(value, Tracer | SurfaceObject):
        return True
    return not isinstance(value, np.dtype) and namespace_of(value) is not None


def composite(
    reference: Callable[..., Any] | None = None,
    *,
    further: tuple[str, ...] = (),
    below: float = float("inf"),
    derivative: str = DIFFERENTIABLE,
    origin: str | None = None,
) -> Callable[[F], F]:
    """Declare a function of the namespace: its body is run on traced values, `reference` on all others.

    Without a reference the body serves every value; with one, where a keyword of `further` is given, an option that
    NumPy's function has not, or where the first argument is an array that has not fewer entries than `below`. With an
    argument `out` the result is written into that. Errors raised on the way get the operation's name, the open
    transforms and the user's line. The docstring is completed (see `documentation`): it says which `derivative` there
    is, and links to the page of the reference, or of what has its full name, `origin`.
    """

    def declare(body: F) -> F:
        name, parameters = body.__name__, parameters_of(body)
        out = out_position(body)
        has_mask, is_limited = "where" in parameters, below < float("inf")
        creates, may_show = name in CREATORS, name in VIEWS or name == "einsum"

        def choose(*args: Any, **kwargs: Any) -> Any:
            """Call `reference` or `body`, as `function` does."""
            chosen = body if further and has_option(further, kwargs) else reference or body
            if args and type(args[0]) is np.ndarray and args[0].size >= below:
                chosen = body
            if any(map(is_beyond_numpy, (*args, *kwargs.values()))):
                chosen = body
            return chosen(*args, **kwargs)

        @wraps(body)
        def function(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("out") is not None or (len(args) > out and args[out] is not None):
                return call_with_out(function, reference, out, args, kwargs)
            if has_mask and kwargs.get("where", True) is None:
                del kwargs["where"]  # no mask; to NumPy's functions None is a False
            try:
                observer = CURRENT.get().observer
                if observer is not None and not observer.is_observing():
                    observer = None
                if (
                    observer is None
                    and reference is not None
                    and not (kwargs and further and has_option(further, kwargs))
                    and not (is_limited and args and type(args[0]) is np.ndarray and args[0].size >= below)
                ):
                    for value in args:
                        if is_beyond_numpy(value):
                            break
                    else:
                        for value in kwargs.values():
                            if is_beyond_numpy(value):
                                break
                        else:
                            result = reference(*args, **kwargs)
                            return new_array(result) if creates else result
                if OBJECTS:
                    held = first_object((*args, *kwargs.values()))
                    if held is not None:
                        return held.__fxgrad_call__(function, args, kwargs)
                if observer is not None:
                    result = observer.observe_function(name, choose, args, kwargs)
                else:
                    result = body(*args, **kwargs)
                if may_show and is_viewing(name, args, kwargs):
                    return remember_views(result, function, args, kwargs)
                if creates and type(result) is np.ndarray:
                    return new_array(result)
                for value in args:
                    if value is result:
                        return (
                            twin(result)
                            if isinstance(result, Tracer) and kwargs.get("copy", True)
                            else result
                        )
                return result
            except (ValueError, TypeError, IndexError) as error:
                explain_arguments(error, function)
                if isinstance(error, FxgradError) or acting_level() is EVAL.interpreter:
                    raise
                raise reword(error, name, args) from error

        function.reference, function.below = reference, below  # type: ignore[attr-defined]
        namesake = origin or full_name(reference)
        if namesake is not None:
            details = SHOWS if name in VIEWS else ""
            if isinstance(reference, np.ufunc):
                details += refuse_options(parameters, reference.signature is not None)
            elif "out" in parameters:
                details += TAKES_OUT
            shared = ", ".join([p for p in parameters if p != "out" and p not in further])
            details += name_additions(further)
            function.__doc__ = describe(body.__doc__, namesake, shared, derivative, details)
        return function  # type: ignore[return-value]

    return declare


def creator(make: F) -> F:
    """Return a function that makes an array as one that makes it to be written into."""

    @wraps(make)
    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            return new_array(make(*args, **kwargs))
        except TypeError as error:
            explain_arguments(error, make)
            raise

    return function  # type: ignore[return-value]


def new_array(array: Any) -> Any:
    """Return a new array as one that traced values can be written into, while a transform is open."""
    if type(array) is np.ndarray and array.ndim and acting_level() is not EVAL.interpreter:
        return interpreter.make_buffer(array)
    return array


def is_viewing(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the result of a function may be a view, which no copy is. That of einsum may with one operand, in the
    string or in the sublist form."""
    if name == "einsum":
        return len(args) == 2 or (len(args) == 3 and not isinstance(args[0], str))
    return name in VIEWS and kwargs.get("copy", name == "meshgrid") is not True


def remember_views(result: Any, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the results of a function that returns views of its arguments, so that they see writes: with several
    arrays each result is a view of one, with a single array all are views of it."""
    if isinstance(result, Tracer) and isinstance(args[0] if args else None, Tracer):
        return remember_view(result, args[0], show_again, function, args, kwargs, 0, None)
    places = [i for i, a in enumerate(args) if isinstance(a, Tracer)]
    places += [name for name, a in kwargs.items() if isinstance(a, Tracer)]

    def note(view: Any, place: Any, part: int | None) -> None:
        shown = kwargs[place] if isinstance(place, str) else args[place]
        remember_view(view, shown, show_again, function, args, kwargs, place, part)

    if type(result) is list or type(result) is tuple:
        for part, view in enumerate(result):
            if len(places) == 1 or part in places:
                note(view, places[0] if len(places) == 1 else part, part)
    elif places:
        note(result, places[0], None)
    return result


def show_again(
    x: Any, function: Callable[..., Any], args: Any, kwargs: dict[str, Any], place: Any, part: int | None
) -> Any:
    """Return what a function shows of an array in this place among its arguments."""
    if isinstance(place, str):
        result = function(*args, **kwargs | {place: x})
    else:
        result = function(*args[:place], x, *args[place + 1 :], **kwargs)
    return result if part is None else result[part]


def call_with_out(
    function: Callable[..., Any], reference: Any, place: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function with an array for its result, given by name or at this place. It is NumPy's own function if all
    arrays are NumPy's."""
    if reference is not None and not any(map(is_beyond_numpy, (*args, *kwargs.values()))):
        return reference(*args, **kwargs)
    out = kwargs["out"] if kwargs.get("out") is not None else args[place]
    args = (*args[:place], *([None] if len(args) > place else []), *args[place + 1 :])
    target = take_out(function.__name__, out, args)
    result = function(*args, **{name: value for name, value in kwargs.items() if name != "out"})
    return target.assign_result(result, function.__name__)


# The namespaces of the manual for the modules that functions are from.
PUBLIC_NAMESPACES = {"numpy.lib.scimath": "numpy.emath", "numpy.lib._scimath_impl": "numpy.emath"}


def full_name(function: Any) -> str | None:
    """Return the name under which NumPy's manual has a function, with that of its namespace."""
    module = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", "")
    if not module.startswith("numpy"):
        return None
    return f"{PUBLIC_NAMESPACES.get(module, module)}.{function.__name__}"


def has_option(options: tuple[str, ...], kwargs: dict[str, Any]) -> bool:
    """Whether one of the options is given; options that are None or False count as not given, and are taken
    out."""
    for option in options:
        if kwargs.get(option) is None or kwargs[option] is False:
            kwargs.pop(option, None)
    return not kwargs.keys().isdisjoint(options)


def out_position(body: Callable[..., Any]) -> int:
    """Return the position of a parameter `out` that may be given by position. (The signature would take as
    long as the rest of the import.)"""
    names = body.__code__.co_varnames[: body.__code__.co_argcount]
    return names.index("out") if "out" in names else sys.maxsize


def operand(value: Any) -> Array:
    """Return an argument as NumPy's `asarray` sees it: an array (or tracer) with a dtype of its own, never
    weak."""
    value = as_value(value)
    if getattr(value, "shape", ()):  # only numbers are weak
        return value
    aval = aval_of(value)
    return ops.convert(value, dtype=aval.dtype) if aval.weak else value


def operands(values: Any) -> list[Array]:
    """Return several arguments as arrays."""
    return [operand(v) for v in values]


def floating(value: Any) -> Array:
    """Return an argument as an array of floating or complex numbers."""
    x = operand(value)
    return cast(x, np.float64) if kind(x) in "biu" else x


def dtype_of(x: Any) -> np.dtype[Any]:
    """Return NumPy's dtype of an array of any library."""
    return aval_of(x).dtype


def kind(x: Any) -> str:
    """Return the kind of an array's dtype: 'b', 'i', 'u', 'f' or 'c'."""
    return kind_of(aval_of(x).dtype)


def cast(x: Any, dtype: Any) -> Array:
    """Convert x to another dtype; None leaves it as it is."""
    return x if dtype is None or dtype_of(x) == dtype else ops.convert(x, dtype=np.dtype(dtype))


def fill_outside(mask: Any, x: Any, number: Any) -> Array:
    """Return x where the mask holds, and a number elsewhere, in the dtype of x."""
    return cast(ops.where(mask, x, NUMBER_OF_KIND[kind(x)](number)), dtype_of(x))


def known_value(value: Any, operation: str, hint: str) -> Array:
    """Return the plain value of an argument that determines a shape. If it is unknown, the error says what to write."""
    try:
        return concretize(operand(value), operation)
    except ConcretizationError as error:
        raise ConcretizationError(error.args[0], hint=hint) from None


def ensure(condition: Any, message: str, hint: str) -> None:
    """Raise ShapeError where a condition on values is known not to hold. Staged and batched values are
    trusted."""
    try:
        holds = concretize(ops.reduce_all(condition, axes=normalize_axes(None, condition.ndim)), "bool()")
    except ConcretizationError:
        return
    if not holds:
        raise ShapeError(message, hint=hint)


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return an axis made non-negative; raise NumPy's AxisError where it is out of range."""
    return normalize_axis_index(axis, ndim)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes made non-negative; None stands for all."""
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction. As NumPy has it, an array without axes may be reduced along its first or last."""
    alone = ndim == 0 and not isinstance(axis, tuple) and axis in (0, -1)
    return () if alone else normalize_axes(axis, ndim)


def line_up(a: Array, axis: int | None) -> tuple[Array, int]:
    """Return an array with one axis at least, and which to go along: flattened where that is None."""
    if axis is None or not a.ndim:
        a, axis = ops.reshape(a, shape=(a.size,)), 0 if axis is None else axis
    return a, normalize_axis(axis, a.ndim)


def at_axis(index: Any, axis: int) -> tuple:
    """Return the index that applies `index` (a slice or an integer) to one axis."""
    return (*(slice(None),) * axis, index)
