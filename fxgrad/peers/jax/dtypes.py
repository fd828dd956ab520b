"""The dtypes of programs written for JAX: 32 bits unless `jax_enable_x64` is set, and JAX's promotion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy import ndarray

from ...core.arrays import as_value
from ...core.aval import SCALARS, WEAK_DTYPES, float0, is_differentiable
from ...core.aval import aval_of as aval_of
from ...core.interpreter import Tracer

__all__ = [
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]


def find_ml_dtypes() -> Any:
    """Return the library of dtypes that NumPy lacks, or None where it is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes


MORE = find_ml_dtypes()
bfloat16 = getattr(MORE, "bfloat16", None)
finfo, iinfo = (np.finfo, np.iinfo) if MORE is None else (MORE.finfo, MORE.iinfo)

# The dtypes of 64 bits with those that stand for them: empty while `jax_enable_x64` is set.
NARROW: dict[Any, Any] = {}
PAIRS = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (("f8", "f4"), ("i8", "i4"), ("u8", "u4"), ("c16", "c8"))
}
NARROW.update(PAIRS)
DEPENDENT: WeakSet[Any] = WeakSet()  # compiled programs, whose code depends on that
UNSIGNED_WORD = np.dtype(np.uint64)


class ExtendedDType:
    """The base of dtypes that packages define for JAX's compiler: names here, of which no array can be made."""


class extended(np.generic):
    """The kind of dtypes that NumPy does not have."""


class prng_key(extended):
    """The kind of dtypes of typed keys of `jax.random`."""


def enable_wide(on: bool) -> None:
    """Set whether arrays may have dtypes of 64 bits: `jax_enable_x64`."""
    if on is is_wide():
        return
    NARROW.clear()
    NARROW.update({} if on else PAIRS)
    for program in [*DEPENDENT]:
        program.change_width()


def is_wide() -> bool:
    """Whether arrays may have dtypes of 64 bits."""
    return not NARROW


@contextmanager
def wide(on: bool = True) -> Iterator[None]:
    """Set within a block whether arrays may have dtypes of 64 bits."""
    before = is_wide()
    enable_wide(bool(on))
    try:
        yield
    finally:
        enable_wide(before)


class ScalarKind(type):
    """The class of JAX's scalar types: `jnp.float32` is a dtype, and when called makes an array."""

    dtype = np.dtype(float)  # each class has its own

    def __call__(cls, value: Any = 0) -> Any:
        from .arrays import array_of  # arrays have dtypes

        if type(value) is int and cls.dtype.kind in "iu":
            check_integer(value, canonicalize_dtype(cls.dtype))
        with np.errstate(all="ignore"):
            return array_of(np.asarray(getattr(value, "_fx_value", value)).astype(cls.dtype)[()])

    def __eq__(cls, other: object) -> bool:
        return cls is other or (other is not None and cls.dtype == dtype_or_kind(other))

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'jax.numpy.{cls.__name__}'>"


def make_scalar_type(name: str, dtype: Any) -> ScalarKind:
    """Make the scalar type of a dtype."""
    return ScalarKind(name, (), {"dtype": np.dtype(dtype), "__module__": "jax.numpy"})


NAMES = [
    "bool", "float16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32",
    "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
SCALAR_TYPES = {name: make_scalar_type(name, getattr(np, name)) for name in NAMES}
if bfloat16 is not None:
    SCALAR_TYPES["bfloat16"] = make_scalar_type("bfloat16", bfloat16)
OTHER_NAMES = {
    "bool_": "bool", "cdouble": "complex128", "complex_": "complex128", "csingle": "complex64", "double": "float64",
    "float_": "float64", "int_": "int64", "single": "float32", "uint": "uint64",
}  # fmt: skip
SCALAR_TYPES |= {name: SCALAR_TYPES[other] for name, other in OTHER_NAMES.items()}


def scalar_type_of(value: Any) -> type:
    """Return the Python type of the kind of a value."""
    return {"b": bool, "i": int, "u": int, "f": float, "V": float, "c": complex}[
        np.dtype(dtype_of(value)).kind
    ]


def dtype_or_kind(given: Any) -> Any:
    """Return the dtype of an array or scalar type, and NumPy's classes and names of dtypes as they are."""
    if isinstance(given, type) and not isinstance(given, ScalarKind):
        return given
    return getattr(given, "dtype", given)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return the dtype that arrays get where this one is asked for."""
    dtype = np.dtype(dtype)
    return NARROW.get(dtype, dtype)


def dtype_of(value: Any) -> Any:
    """Return the dtype that a value has as an array."""
    if type(value) in SCALARS:
        return canonicalize_dtype(WEAK_DTYPES[type(value)])
    return canonicalize_dtype(dtype_or_kind(value))


def itemsize_bits(dtype: Any) -> int:
    """Return the number of bits of an entry: 8 of a boolean."""
    return 8 * np.dtype(dtype_or_kind(dtype)).itemsize


def is_bfloat16(dtype: Any) -> bool:
    """Whether a dtype, or NumPy's class of one, is bfloat16."""
    return dtype is not None and (
        dtype is bfloat16 or (isinstance(dtype, np.dtype) and dtype.name == "bfloat16")
    )


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a kind, as `numpy.issubdtype`; keys of `jax.random` and bfloat16 have kinds as well."""
    if getattr(arg1, "is_key", False) or getattr(arg2, "is_key", False):
        return arg1 == arg2 or (isinstance(arg2, type) and issubclass(prng_key, arg2))
    if isinstance(arg2, type) and issubclass(arg2, extended):
        return isinstance(arg1, type) and issubclass(arg1, arg2)
    dtype, kind = dtype_or_kind(arg1), dtype_or_kind(arg2)
    if is_bfloat16(dtype) or is_bfloat16(kind):
        return is_bfloat16(dtype) and (
            is_bfloat16(kind) or kind in (np.floating, np.inexact, np.number, np.generic)
        )
    return bool(np.issubdtype(dtype, kind))


def narrow(value: Any) -> Any:
    """Return an array, number or traced value in a dtype that arrays may have. Python's numbers stay, and are weak."""
    dtype = NARROW.get(getattr(value, "dtype", None))
    if dtype is None or (isinstance(value, Tracer) and value.aval.weak):
        return value
    wide: Any = value
    return wide.astype(dtype)


def common_dtype(dtypes: Iterable[Any]) -> Any:
    """Return the dtype of an operation on arrays of these dtypes: integers take the precision of floats beside them."""
    found = list(dict.fromkeys(dtypes))
    inexact = [dtype for dtype in found if is_differentiable(dtype)]
    if inexact:
        found = inexact
    elif UNSIGNED_WORD in found and any(dtype.kind == "i" for dtype in found):
        return canonicalize_dtype(float)
    common = found[0]
    for dtype in found[1:]:
        common = join_halves(common, dtype) if common != dtype else common
    return canonicalize_dtype(common)


def promote_types(a: Any, b: Any) -> Any:
    """Return the dtype of an operation on arrays of two dtypes."""
    dtypes = [np.dtype(dtype_or_kind(t)) for t in (a, b)]
    found = [dtype for dtype in dtypes if is_differentiable(dtype)] or dtypes
    return join_halves(found[0], found[-1])


def join_halves(one: Any, other: Any) -> Any:
    """Return the common dtype of two: single precision for the two kinds of half precision."""
    if {one.name, other.name} == {"bfloat16", "float16"}:
        return np.dtype(np.float32)
    return np.promote_types(one, other)


def result_type(*args: Any) -> Any:
    """Return the dtype of an operation on these arrays, numbers or dtypes."""
    strong, weak = [], []
    for arg in args:
        value = getattr(arg, "_fx_value", arg)
        is_weak = type(value) in SCALARS or (isinstance(value, Tracer) and value.aval.weak)
        (weak if is_weak else strong).append(dtype_of(value))
    if not strong:
        return common_dtype(weak)
    common = common_dtype(strong)
    numbers = [np.zeros((), common), *(dtype.type(0).item() for dtype in weak)]
    if common.kind == "V":
        return np.dtype(np.complex64) if any(dtype.kind == "c" for dtype in weak) else common
    return canonicalize_dtype(np.result_type(*numbers))


# Kinds of dtypes, from those which take the dtype of others beside them.
RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
NUMBER_RANKS = {bool: 0, int: 1, float: 2, complex: 3}


def outranks(number: Any, dtype: Any) -> bool:
    """Whether a Python number decides on the dtype of an operation with arrays of one: then the result is weak."""
    return RANKS[dtype.kind] < min(NUMBER_RANKS[type(number)], 2)


SINGLE = np.dtype(np.float32)


def with_common_dtype(values: list[Any], first: int = 0) -> list[Any]:
    """Return operands with arrays in their common dtype, from the first one on that has it; Python numbers stay."""
    known = getattr(values[-1], "dtype", None)
    for value in values[first:] if first else values:
        if type(value) is not ndarray or value.dtype is not known:
            break
    else:  # mostly, and quicker
        return values
    operands = values[first:]
    dtypes = {v.dtype for v in leaves_of(operands)}
    if any([dtype.kind == "V" for dtype in dtypes]):
        common = common_dtype(dtypes)
        return [*values[:first], *[fit_number(cast(v, common), common) for v in operands]]
    if len(dtypes) < 2:
        return values
    common = common_dtype(dtypes)
    return [*values[:first], *[cast(v, common) for v in values[first:]]]


def leaves_of(values: Any) -> Iterator[Any]:
    """The arrays and traced values with a dtype of their own among operands, and in lists of them."""
    for value in values:
        if type(value) is list or type(value) is tuple:
            yield from leaves_of(value)
        elif (
            hasattr(value, "dtype")
            and hasattr(value, "shape")
            and not (isinstance(value, Tracer) and value.aval.weak)
        ):
            yield value


def cast(value: Any, dtype: Any) -> Any:
    """Return an operand, or a list of them, in a dtype; Python numbers stay."""
    if type(value) is list or type(value) is tuple:
        return type(value)([cast(v, dtype) for v in value])
    if not hasattr(value, "dtype") or not hasattr(value, "shape") or value.dtype == dtype:
        return value
    return value.astype(dtype)


def fit(value: Any, dtype: Any) -> Any:
    """Return a value for an array of a dtype, as which it is rounded if it must be."""
    if type(value) in SCALARS:
        if type(value) is float and dtype.kind == "f":
            return value
        if type(value) is int and dtype.kind in "iu":
            return wrap_number(value, dtype)
        return dtype.type(value) if np.result_type(dtype, value) != dtype else value
    return cast(as_value(value), dtype)


def fit_number(value: Any, dtype: Any) -> Any:
    """Return a Python number beside arrays of a dtype that NumPy does not know, such as bfloat16: in it, as far as the
    kind of the number goes. NumPy takes it for one of double precision."""
    kinds = (bool, int, float) if is_differentiable(dtype) else (bool, int)
    return np.asarray(value, dtype) if type(value) in kinds else value


def check_integer(value: int, dtype: Any = np.int32) -> None:
    """Raise an error for a Python integer of which no array of a dtype can be made."""
    bounds = np.iinfo(dtype)
    if not bounds.min <= value <= bounds.max:
        raise OverflowError(f"Python integer {value} out of bounds for {np.dtype(dtype)}")


def wrap_number(value: int, dtype: Any) -> Any:
    """Return an integer for an operation with others of a dtype: what this cannot hold as its last bits."""
    bounds = np.iinfo(dtype)
    if bounds.min <= value <= bounds.max:
        return value
    check_integer(value, dtype_of(0))
    return np.int64(value).astype(dtype)


def fit_integer(value: int) -> Any:
    """Return a large integer as arrays hold it: with JAX's overflow, where they have 32 bits."""
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"the integer {value} does not fit into an array")
    return np.int64(value).astype(np.int32) if NARROW else value
