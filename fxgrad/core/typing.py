"""Types for public signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy import typing as npt

Array: TypeAlias = np.ndarray  # whose members traced values have, and the arrays of other libraries
# Convertible to one: also numbers, and nested sequences of them. NumPy's has no lists of both, such as [x[0], 1.0].
ArrayLike: TypeAlias = npt.ArrayLike | Sequence[npt.ArrayLike] | Sequence[Sequence[npt.ArrayLike]]
Arrays: TypeAlias = Array | Sequence[ArrayLike]  # several: the entries of an array, or of a sequence
Scalar: TypeAlias = float | np.floating[Any] | Array  # a number, which may be traced
DType: TypeAlias = npt.DTypeLike | None  # None for that of the arguments, or of Python's numbers
Key: TypeAlias = Any  # of random numbers: see `fxgrad.random.key`
PyTree: TypeAlias = Any  # arrays in nested containers
Shape: TypeAlias = Any  # a size, or a tuple of sizes
Axis: TypeAlias = int | Sequence[int] | None  # an axis, a tuple of axes, or None for all

# For NumPy functions that take operands only, by position.
Unary: TypeAlias = Callable[[ArrayLike], Array]
Binary: TypeAlias = Callable[[ArrayLike, ArrayLike], Array]

# For the functions that transforms take and return.
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", bound=Any)  # without the bound, the body of a lambda is checked for any type
T = TypeVar("T", bound=Any)

# `type` of one argument, whose result is known to type checkers also where that of the argument is not.
type_of: Callable[[object], type[Any]] = type
