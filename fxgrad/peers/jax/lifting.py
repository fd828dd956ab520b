"""Functions of this library as functions of arrays: those of a door's modules, and the methods of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy import ndarray

from ... import numpy as fnp
from ... import ops
from ...core import pytree
from ...core.aval import SCALARS, is_differentiable
from ...core.fp_errors import ERROR_STATE, IGNORE
from ...core.interpreter import CURRENT, Tracer
from .arrays import NEW, Array, array_of, described, value_of
from .devices import Sharding, as_sharding
from .dtypes import (
    SINGLE,
    canonicalize_dtype,
    cast,
    common_dtype,
    dtype_of,
    leaves_of,
    result_type,
    with_common_dtype,
)
from .errors import as_jax_raises, refuse_lists
from .keywords import KEYWORDS, refuse_out
from .meanings import Meaning, meaning_of

SET_STATE, RESET_STATE = ERROR_STATE.set, ERROR_STATE.reset
WORD = np.dtype(np.int32)
SMALL = frozenset([np.dtype(np.float16), np.dtype(np.int8)])


def lift(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of this library as one of arrays, with JAX's dtypes, and silent as JAX about floating-point
    errors."""
    meaning = meaning_of(function)
    first, limit, is_question = meaning.first, meaning.limit, meaning.is_question
    usual = SINGLE if meaning.floats else WORD

    @wraps(function)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        token = SET_STATE(IGNORE)
        try:
            count = 0 if kwargs else len(args)
            # Mostly, and quicker; so are two of one dtype, and `where`.
            if (
                count == 1
                and type(args[0]) is Array
                and type(a := args[0]._fx_value) not in SCALARS
                and (a.dtype is SINGLE or a.dtype is usual)
            ):
                y = function(a)
            elif (
                count == 2 + first <= limit
                and type(args[0]) is type(args[-2]) is type(args[-1]) is Array
                and type(a := args[-2]._fx_value) is type(b := args[-1]._fx_value) is ndarray
                and a.dtype is b.dtype
                and (a.dtype is SINGLE or a.dtype is usual)
            ):
                y = function(args[0]._fx_value, a, b) if first else function(a, b)
            else:
                y = call_as_meant(function, meaning, args, kwargs)
            # As `array_of`, without its call.
            if (type(y) is ndarray or type(y) is np.float32) and y.dtype is SINGLE:
                array = NEW(Array)
                array._fx_value = y
                return array
            return y if is_question else array_of(y)
        except (ValueError, TypeError) as error:
            raise as_jax_raises(error, meaning.name, args) from None
        finally:
            RESET_STATE(token)

    setattr(lifted, KEYWORDS, meaning.keywords)
    kernel = getattr(getattr(function, "primitive", None), "kernel", None)
    return shorten(lifted, kernel) if isinstance(kernel, np.ufunc) and kernel.nin == 1 else lifted


def call_as_meant(function: Callable[..., Any], meaning: Meaning, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function as its meaning says: by JAX's names, with operands and a result of JAX's dtypes."""
    if meaning.operands:
        refuse_lists(meaning.name, args[: meaning.operands])
    see = described if meaning.is_question else value_of
    values: Any = [a._fx_value if type(a) is Array else see(a) for a in args]
    if len(args) > meaning.limit:
        refuse_out(meaning.name, args, meaning.limit)
    place: Any = None
    if kwargs:
        kwargs = meaning.keywords.translate(values, {name: see(v) for name, v in kwargs.items()})
        if type(kwargs.get("axis")) in (list, range):
            kwargs["axis"] = tuple(kwargs["axis"])
        place = as_sharding(kwargs.get("device"))
        if isinstance(place, Sharding):
            del kwargs["device"]
    if meaning.takes_axes and len(values) > 1 and type(values[1]) in (list, range):
        values[1] = tuple(values[1])
    common = None
    if meaning.rounds and kwargs.get("dtype") is None:
        common = precision_of([*values, *kwargs.values()], meaning.floats)
    if common is not None:
        working = SINGLE if common.itemsize == 2 else common
        values = prepare(values, working, meaning.floats)
        kwargs = {name: prepare(v, working, meaning.floats) for name, v in kwargs.items()}
    elif meaning.promotes and len(values) > meaning.first:
        if meaning.numbers:
            first, numbers = meaning.first, meaning.numbers
            operands = with_numbers(with_common_dtype(values[first:numbers]))
            values = [*values[:first], *operands, *values[numbers:]]
        else:
            values = with_common_dtype(values, meaning.first)
    y = function(*values, **kwargs)
    if isinstance(place, Sharding):
        return array_of(y).placed(place)
    if common is not None:
        return pytree.map(lambda part: rounded(part, common), y)
    if not kwargs and is_small(y):
        y = widen(function, values, y)
    if meaning.keeps_weak and are_weak(values[meaning.first :]):
        return pytree.map(weaken, y)
    return y


def are_weak(values: Any) -> bool:
    """Whether all operands are weak, of those which are no truth values of Python's."""
    numbers = [v for v in values if type(v) is not bool and v is not None]
    return bool(numbers) and all([is_weak(v) for v in numbers])


def is_weak(value: Any) -> bool:
    """Whether an operand takes the precision of arrays beside it: Python's numbers, and traced ones."""
    kind = type(value)
    if kind in SCALARS:
        return kind is not bool
    return isinstance(value, Tracer) and value.aval.weak and value.aval.dtype.kind != "b"


def weaken(value: Any) -> Any:
    """Return a result of weak operands, which is weak unless it is a truth value."""
    if getattr(value, "shape", None) != () or value.dtype.kind == "b":
        return value
    return ops.weaken(value)


def precision_of(values: Any, floats: bool) -> Any:
    """Return the common dtype of arrays if it is that of floating-point numbers, or has to be."""
    dtypes = [v.dtype for v in leaves_of(values)]
    common = common_dtype(dtypes) if dtypes else None
    if common is not None and not is_differentiable(common):
        return canonicalize_dtype(float) if floats else None
    return common


def prepare(value: Any, dtype: Any, floats: bool) -> Any:
    """Return an operand, or a list of them, whose floating-point numbers have a dtype, and integers as well if they are
    taken as such."""
    if type(value) is list or type(value) is tuple:
        return type(value)([prepare(v, dtype, floats) for v in value])
    known = getattr(value, "dtype", None)
    is_number = known is not None and hasattr(value, "shape") and (floats or is_differentiable(known))
    return cast(value, dtype) if is_number and not is_weak(value) else value


def rounded(value: Any, dtype: Any) -> Any:
    """Return a result in a floating-point dtype, or the complex one that belongs to it, if it is such a number."""
    known = getattr(value, "dtype", None)
    if known is None or not is_differentiable(known):
        return value
    if known.kind == "c":
        return cast(value, np.result_type(np.complex64, SINGLE if dtype.itemsize == 2 else dtype))
    return cast(value, np.empty(0, dtype).real.dtype)


def with_numbers(values: Any) -> Any:
    """Return operands, or lists of them, with arrays of their dtype for Python's numbers beside arrays."""
    dtypes = {v.dtype for v in leaves_of(values)}
    return as_arrays(values, dtypes.pop()) if len(dtypes) == 1 else values


def as_arrays(value: Any, dtype: Any) -> Any:
    """Return a Python number as an array of the precision of a dtype."""
    if type(value) is list or type(value) is tuple:
        return type(value)([as_arrays(v, dtype) for v in value])
    if not is_weak(value):
        return value
    common = result_type(np.empty(0, dtype), value)
    return cast(value, common) if isinstance(value, Tracer) else np.asarray(value, common)


def is_small(y: Any) -> bool:
    """Whether a result, or the first of some, has a dtype to which NumPy takes truth values or small integers."""
    if type(y) is tuple and y:
        y = y[0]
    return getattr(y, "dtype", None) in SMALL


def widen(function: Any, values: Any, y: Any) -> Any:
    """Return the result of a function of small integers or truth values as JAX has it: of the precision of floats, and
    of integers where NumPy computes truth values with bytes."""
    kinds = {dtype_of(v).kind if hasattr(v, "dtype") or type(v) in SCALARS else "O" for v in values}
    dtype = (y[0] if type(y) is tuple else y).dtype
    if not kinds <= ({"b"} if dtype.kind == "i" else set("biu")):
        return y
    return function(
        *[
            v.astype(np.int32) if hasattr(v, "dtype") else np.int32(v) if type(v) is bool else v
            for v in values
        ]
    )


def shorten(lifted: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    """Return a function of one array that calls the ufunc itself for arrays of the most frequent dtype."""
    current = CURRENT.get

    @wraps(lifted)
    def function(*args: Any, **kwargs: Any) -> Any:
        if (
            kwargs
            or len(args) != 1
            or type(x := args[0]) is not Array
            or type(value := x._fx_value) is not ndarray
            or value.dtype is not SINGLE
            or current().observer
        ):
            return lifted(*args, **kwargs)
        token = SET_STATE(IGNORE)
        try:
            y = ufunc(value)
        finally:
            RESET_STATE(token)
        if type(y) is ndarray and y.dtype is SINGLE:
            array = NEW(Array)
            array._fx_value = y
            return array
        return array_of(y)

    return function


# -- methods of arrays -----------------------------------------------------------------------------------------------
METHODS = [
    "all", "any", "argmax", "argmin", "argsort", "choose", "clip", "diagonal", "dot", "max", "mean", "min", "nonzero",
    "ptp", "ravel", "repeat", "round", "sort", "squeeze", "std", "swapaxes", "take", "trace", "var",
]  # fmt: skip
PROPERTIES = {"T": fnp.transpose, "mT": fnp.matrix_transpose, "real": fnp.real, "imag": fnp.imag}


def attach_methods() -> None:
    """Give arrays the methods that are functions of `fxgrad.numpy`; `places` gives them those that differ."""
    for name in ("neg", "abs", "invert"):
        setattr(Array, f"__{name}__", lift(getattr(operator, f"__{name}__")))
    for name in METHODS:
        setattr(Array, name, lift(getattr(fnp, name)))
    for name, function in PROPERTIES.items():
        setattr(Array, name, property(lift(function)))
    Array.__round__ = round_array  # type: ignore[attr-defined]


def round_array(x: Any, digits: int | None = None) -> Any:
    """Return an array rounded to some digits; without them the nearest integers."""
    nearest = lift(fnp.round)(x, digits or 0)
    return nearest if digits is not None else nearest.astype(canonicalize_dtype(int))


attach_methods()
