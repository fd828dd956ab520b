"""Which array library computes: kernels are chosen by the type of the arrays.

A primitive's `make_kernel(xp)` is called once for each namespace. NumPy's types never come here (they are
`core.aval.PLAIN`); CuPy, and any library of the Array API standard that is registered, do.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .aval import PLAIN, SCALARS
from .errors import DTypeError, UnsupportedError
from .interpreter import VALUES

# Array type → its namespace, filled when a type is first met.
NAMESPACES: dict[type, Any] = {}


def namespace_of(value: Any) -> Any:
    """The array namespace of a value: NumPy for plain ones, None for what is no array."""
    kind = type(value)
    if kind in PLAIN or isinstance(value, np.ndarray | np.generic):
        return np
    found = NAMESPACES.get(kind)
    if found is None:
        module = kind.__module__.partition(".")[0]
        if module == "cupy":
            found = sys.modules["cupy"]  # imported already, since here is one of its arrays
        elif hasattr(value, "__array_namespace__"):
            found = value.__array_namespace__()
        else:
            return None
        NAMESPACES[kind] = found
        VALUES.add(kind)
    return found


def evaluate(primitive: Any, args: Any, params: dict) -> Any:
    """The result of a primitive on operands among which are arrays of another library.

    NumPy scalars and NumPy arrays of integers and booleans among them (positions, masks made by rules) are moved to
    that library; data is not moved silently.
    """
    spaces = {
        id(xp): xp for a in args if type(a) not in SCALARS for xp in [namespace_of(a)] if xp is not None
    }
    foreign = [xp for xp in spaces.values() if xp is not np]
    if not foreign:
        return primitive.kernel(*args, **params)
    xp = foreign[0]
    if len(foreign) > 1 or any(type(a) is np.ndarray and a.ndim and a.dtype.kind not in "biu" for a in args):
        names = sorted(space.__name__ for space in spaces.values())
        raise DTypeError(
            f"{primitive.name}: operands of different array libraries: {', '.join(names)}",
            hint="move them to one library first (cupy.asarray, cupy.asnumpy)",
        )
    if np in spaces.values():
        args = [xp.asarray(a) if type(a) in PLAIN and type(a) not in SCALARS else a for a in args]
    kernels = primitive.__dict__.setdefault("foreign_kernels", {})
    if xp not in kernels:
        if primitive.make_kernel is None:
            raise UnsupportedError(f"{primitive.name} has no kernel for {xp.__name__}")
        kernels[xp] = primitive.make_kernel(xp)
    return kernels[xp](*args, **params)


def convert(value: Any) -> Any:
    """A foreign operand as an array, or None for sequences, which may hold tracers."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)  # subclasses (matrix, memmap) and rare scalar types
    if isinstance(value, list | tuple):
        return None
    if namespace_of(value) is not None:
        return value
    from_other = np.asarray(value)
    if from_other.dtype.kind == "O":
        raise DTypeError(
            f"an operand of type {type(value).__name__} is not an array, a number or a traced value",
            hint="pass arrays or numbers",
        )
    return from_other


def dtype_in(xp: Any, dtype: Any) -> Any:
    """The dtype object of namespace `xp` for a NumPy dtype."""
    return dtype if xp is np or ("cupy" in sys.modules and xp.__name__ == "cupy") else getattr(xp, dtype.name)
