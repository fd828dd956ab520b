"""Abstract values: what is known about a value without its data, which is its shape, its dtype and its weakness.

A Python scalar is *weak* in the sense of NEP 50: it takes the precision of the arrays with which it is combined.
`PLAIN` names the exact types that go directly to NumPy kernels; every other kind of value (tracers, arrays of other
libraries, lists) takes the slower path of `core.primitive.bind`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DTypeError
from .typing import type_of

SCALARS = frozenset({bool, int, float, complex})
PLAIN = SCALARS | frozenset(
    {
        np.ndarray,
        np.bool_,
        np.float16,
        np.float32,
        np.float64,
        np.longdouble,
        np.complex64,
        np.complex128,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint8,
        np.uint16,
        np.uint32,
        np.uint64,
        np.clongdouble,
    }
)
# Exact types whose values have a NumPy dtype and are never weak: plain ones here, tracers that say so.
STRONG: set[type] = set(PLAIN - SCALARS)
WEAK_DTYPES = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(float),
    complex: np.dtype(complex),
}
WEAK_TYPES = {"b": bool, "i": int, "f": float, "c": complex}

# The tangent dtype of integers and booleans: it has no information, as JAX's float0.
float0: np.dtype[np.void] = np.dtype([("float0", np.void, 0)])


def kind_of(dtype: Any) -> str:
    """'b', 'i', 'u', 'f' or 'c'; bfloat16 (an extension dtype of NumPy kind 'V') counts as 'f'."""
    return "f" if dtype.kind == "V" and dtype.name == "bfloat16" else dtype.kind


def is_differentiable(dtype: Any) -> bool:
    """Whether values of this dtype carry tangents: real and complex floating point."""
    return dtype.kind in "fc" or kind_of(dtype) == "f"


def check_kind(dtype: Any, what: object) -> None:
    """Raise `DTypeError` for objects, strings, dates and records."""
    if kind_of(dtype) not in "biufc" or dtype == float0:
        raise DTypeError(
            f"{what} has dtype {dtype}, which fxgrad does not compute with",
            hint="use bool, integer, floating (also bfloat16) or complex arrays",
        )


def check_dtype(dtype: Any, what: object) -> None:
    """Raise `DTypeError` where fxgrad cannot compute with `dtype`."""
    check_kind(dtype, what)
    if not dtype.isnative:
        raise DTypeError(
            f"{what} has the non-native byte order of dtype {dtype.str!r}",
            hint="convert it first: x.astype(x.dtype.newbyteorder('='))",
        )


_SHORT = {
    "bool": "bool",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
    "void": "float0",
}


class Aval:
    """An abstract value: `shape`, `dtype` and `weak`. Immutable by convention; equal and hashable by content.

    >>> Aval((3, 4), np.dtype(float))
    f64[3,4]
    """

    __slots__ = ("dtype", "shape", "weak")

    shape: tuple[int, ...]
    dtype: Any
    weak: bool

    def __init__(self, shape: tuple[int, ...], dtype: Any, weak: bool = False):
        self.shape, self.dtype, self.weak = shape, dtype, weak

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aval):
            return NotImplemented
        return self.shape == other.shape and self.dtype == other.dtype and self.weak == other.weak

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak))

    def __repr__(self) -> str:
        name = self.dtype.name
        short = _SHORT.get(name, name.replace("uint", "u").replace("int", "i"))
        return f"{short}{'*' if self.weak else ''}[{','.join(map(str, self.shape))}]"

    def update(self, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Aval:
        """Return this aval with another shape or dtype; a value with a given dtype is no longer weak."""
        return Aval(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak and dtype is None and not shape,
        )


def aval_of(value: Any) -> Aval:
    """The abstract value of an array, scalar or tracer."""
    kind = type_of(value)
    if kind in WEAK_DTYPES:
        return Aval((), WEAK_DTYPES[kind], True)
    if kind in PLAIN:
        return Aval(value.shape, value.dtype)
    if kind is Aval:
        return value
    aval = getattr(value, "aval", None)
    if type(aval) is Aval:  # JAX's arrays have an attribute of that name
        return aval
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        raise DTypeError(
            f"a value of type {kind.__name__} is not an array, a number or a traced value",
            hint="pass arrays or Python numbers; containers of them must be pytrees",
        )
    if not isinstance(dtype, np.dtype):  # another library's dtype objects, named as in the Array API standard
        try:
            dtype = np.dtype(str(dtype).rpartition(".")[2])
        except TypeError:
            raise DTypeError(
                f"a value of type {kind.__name__} has dtype {dtype}, which NumPy does not have",
                hint="convert it in its own library before, to float32 say",
            ) from None
    return Aval(tuple(shape), dtype)


def dtype_of(value: Any) -> Any:
    """The dtype of an array, scalar or tracer."""
    return value.dtype if type(value) in STRONG else aval_of(value).dtype


def example_value(aval: Any, shape: tuple[int, ...] = ()) -> Any:
    """A small value of the same dtype and weakness, used to ask a kernel for its result dtype."""
    if aval.weak:
        return WEAK_TYPES[aval.dtype.kind](1)
    return np.ones(shape, aval.dtype)
