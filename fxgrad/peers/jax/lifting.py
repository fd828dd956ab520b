"""Functions of this library as functions of arrays: those of a door's modules, and the methods of arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import Any

import numpy as np
from numpy import ndarray

from ... import numpy as fnp
from ...core import pytree
from ...core.aval import SCALARS, is_differentiable
from ...core.fp_errors import ERROR_STATE, IGNORE, call_silently, run_silently
from ...core.interpreter import CURRENT, Tracer
from ...core.surface import is_object
from .arrays import NEW, OPERATORS, Array, WeakArray, array_of, described, operand_of, value_of, weaken
from .devices import Sharding, as_sharding
from .dtypes import (
    RANKS,
    SINGLE,
    ScalarKind,
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

WORD = np.dtype(np.int32)
SMALL = frozenset([np.dtype(np.float16), np.dtype(np.int8)])
FLOAT, GET_STATE = np.float32, ERROR_STATE.get
INERT = frozenset([int, float, bool, str, type(None)])  # what functions take as it is


@lru_cache(1024)
def lift(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of this library as one of arrays, with JAX's dtypes, and silent as JAX about floating-point
    errors.

    Most calls are of arrays of one dtype, with Python's numbers, words and shapes beside them. Their values go straight
    to the function, or to NumPy's where no level is to know of it; all others as `call_as_meant` has them.
    """
    meaning = meaning_of(function)
    plain, is_question, current = meaning.plain, meaning.is_question, CURRENT.get
    has_plain, is_limited, below = plain is not None, meaning.below < math.inf, meaning.below

    @wraps(function)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        x: Any = args[0]._fx_value if len(args) == 1 and not kwargs and type(args[0]) is Array else None
        is_single = type(x) is ndarray and x.dtype is SINGLE
        if is_single:
            values, is_plain = (x,), has_plain and (not is_limited or x.size < below)
        else:
            values, is_plain = straight_values(meaning, args, kwargs)
        if is_plain and not current().observer:
            try:
                y = run_silently(plain, x) if is_single else run_silently(plain, *values, **kwargs)
                if type(y) is ndarray and y.dtype is SINGLE:
                    array = NEW(Array)
                    array._fx_value = y
                    return array
                return y if is_question else array_of(y)
            except Exception:  # which is explained below, unless another thread computes
                pass
        try:
            if values is None:
                y = call_silently(call_as_meant, function, meaning, args, kwargs)
            elif kwargs or GET_STATE() is not IGNORE:
                y = call_silently(function, *values, **kwargs)
            else:
                y = function(*values)
            return y if is_question else array_of(y)
        except (ValueError, TypeError) as error:
            raise as_jax_raises(error, meaning.name, args) from None

    setattr(lifted, KEYWORDS, meaning.keywords)
    return lifted


def straight_values(meaning: Meaning, args: Any, kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """Return the values of arguments, if the function can be called on them as they are, and whether NumPy's can: if
    its arrays have one dtype, that of most. Otherwise None."""
    known: Any = None
    is_plain, first, is_inexact = meaning.plain is not None, meaning.first, False
    values: list[Any] = []
    if len(args) > meaning.limit or (kwargs and not is_straight(meaning, kwargs)):
        return None, False
    for a in args:
        kind = type(a)
        if kind is Array:
            a = a._fx_value
            if type(a) is ndarray and a.dtype is known:
                values.append(a)
                continue
            parts: Any = (a,)
        elif (kind in INERT and len(values) >= meaning.numbers) or (
            kind is tuple and len(values) >= meaning.operands and is_shape(a)
        ):
            values.append(a)
            is_inexact = is_inexact or kind is float
            continue
        elif (kind is tuple or kind is list) and len(values) >= meaning.operands:
            parts = [part._fx_value for part in a if type(part) is Array]
            if len(a) != len(parts):
                return None, False
            a = parts
        elif kind is ScalarKind:
            values.append(a.dtype)
            continue
        else:
            return None, False
        for part in parts:
            if type(part) is not ndarray and type(part) is not FLOAT:
                if not isinstance(part, Tracer) or part.weak:
                    return None, False
                is_plain = False
            dtype = part.dtype
            if dtype is not known and len(values) >= first:
                if known is not None or not (dtype is SINGLE or (dtype is WORD and not meaning.floats)):
                    return None, False
                known = dtype
        values.append(a)
    if known is None and not meaning.creates:
        return None, False
    if is_inexact and known is WORD and meaning.keeps_weak:  # the number decides on the dtype
        return None, False
    if is_plain and type(values[0]) is ndarray and values[0].size >= meaning.below:
        is_plain = False
    return values, is_plain


def is_shape(value: tuple[Any, ...]) -> bool:
    """Whether a tuple has Python's integers alone: a shape, or axes."""
    return all([type(part) is int for part in value])


def is_straight(meaning: Meaning, kwargs: dict[str, Any]) -> bool:
    """Whether keywords are the function's own, and their values such as it takes."""
    if not kwargs.keys() <= meaning.keywords.plain:
        return False
    if type(kwargs.get("dtype")) is ScalarKind and not meaning.rounds:
        kwargs["dtype"] = kwargs["dtype"].dtype
    for value in kwargs.values():
        if type(value) is tuple:
            if not is_shape(value):
                return False
        elif type(value) not in INERT and not isinstance(value, np.dtype):
            return False
    return True


def call_as_meant(function: Callable[..., Any], meaning: Meaning, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function as its meaning says: by JAX's names, with operands and a result of JAX's dtypes."""
    if meaning.operands:
        refuse_lists(meaning.name, args[: meaning.operands])
    see = described if meaning.is_question else value_of
    rank = weak_rank([*args[meaning.first :], *kwargs.values()]) if meaning.keeps_weak else 0
    args = settle_weak(meaning, args)
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
        y = pytree.map(lambda part: rounded(part, common), y)
    elif not kwargs and is_small(y):
        y = widen(function, values, y)
    return pytree.map(lambda part: weak_of_rank(part, rank), y) if rank else y


def weak_rank(operands: Any) -> int:
    """Return the least rank of a kind that a result has by its weak operands, or 0 if others decide on it."""
    strong, weak = -1, 0
    for operand in entries_of(operands):
        if is_weak(operand):
            weak = max(weak, RANKS.get(dtype_of(value_of(operand)).kind, 4))
        elif type(operand) is bool or (hasattr(operand, "dtype") and hasattr(operand, "shape")):
            strong = max(strong, RANKS.get(dtype_of(value_of(operand)).kind, 4))
        elif isinstance(operand, np.dtype | str | type):
            return 0  # the dtype of the result
    if strong < 0:
        return min(weak, 1)
    return weak if strong < min(weak, 2) else 0  # complex numbers have the precision of floats beside them


def entries_of(operands: Any) -> Iterator[Any]:
    """The operands, and those in lists."""
    for operand in operands:
        if type(operand) is list or type(operand) is tuple:
            yield from entries_of(operand)
        else:
            yield operand


def settle_weak(meaning: Meaning, operands: Any) -> Any:
    """Return operands with arrays in the common dtype for weak ones, if their dtypes are to be one."""
    if not (meaning.promotes or meaning.rounds) or not any(
        type(x) is WeakArray for x in entries_of(operands)
    ):
        return operands
    strong = [
        x for x in entries_of(operands) if not is_weak(x) and hasattr(x, "dtype") and hasattr(x, "shape")
    ]
    return [x if i < meaning.first else settle_entry(x, strong) for i, x in enumerate(operands)]


def settle_entry(operand: Any, strong: list[Any]) -> Any:
    """Return a weak array, or those in a list, in the dtype that it has beside others."""
    if type(operand) is list or type(operand) is tuple:
        return type(operand)([settle_entry(x, strong) for x in operand])
    if type(operand) is not WeakArray or not strong:
        return operand
    return operand.astype(result_type(*strong, operand.dtype.type(0).item()))


def is_weak(value: Any) -> bool:
    """Whether an operand takes the precision of arrays beside it: Python's numbers, and traced ones."""
    kind = type(value)
    if kind in SCALARS:
        return kind is not bool
    if isinstance(value, Tracer):
        return value.aval.weak and value.aval.dtype.kind != "b"
    return is_object(value) and isinstance(value, Array) and value.weak_type and value.dtype.kind != "b"


def weak_of_rank(value: Any, rank: int) -> Any:
    """Return a result as a weak one unless its kind is of a lower rank."""
    dtype = getattr(value, "dtype", None)
    return weaken(value) if dtype is not None and RANKS.get(dtype.kind, 0) >= rank else value


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


# -- methods of arrays -----------------------------------------------------------------------------------------------
METHODS = [
    "all", "any", "argmax", "argmin", "argsort", "choose", "clip", "diagonal", "dot", "max", "mean", "min", "nonzero",
    "ptp", "ravel", "repeat", "round", "sort", "squeeze", "std", "swapaxes", "take", "trace", "var",
]  # fmt: skip
PROPERTIES = {"T": fnp.transpose, "mT": fnp.matrix_transpose, "real": fnp.real, "imag": fnp.imag}


def make_weak_operator(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """Make the method of an operator of weak arrays: of a lifted function."""

    def method(self: WeakArray, other: Any) -> Any:
        if operand_of(other) is NotImplemented:
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return method


def attach_methods() -> None:
    """Give arrays the methods that are functions of `fxgrad.numpy`; `places` gives them those that differ."""
    for name in ("neg", "abs", "invert"):
        setattr(Array, f"__{name}__", lift(getattr(operator, f"__{name}__")))
    for name in METHODS:
        setattr(Array, name, lift(getattr(fnp, name)))
    for name, function in PROPERTIES.items():
        setattr(Array, name, property(lift(function)))
    Array.__round__ = round_array  # type: ignore[attr-defined]
    for name, function in OPERATORS.items():
        setattr(WeakArray, f"__{name}__", make_weak_operator(lift(function)))
        setattr(WeakArray, f"__r{name}__", make_weak_operator(lift(function), reflected=True))


def round_array(x: Any, digits: int | None = None) -> Any:
    """Return an array rounded to some digits; without them the nearest integers."""
    nearest = lift(fnp.round)(x, digits or 0)
    return nearest if digits is not None else nearest.astype(canonicalize_dtype(int))


attach_methods()
