"""Types for public signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

Array: TypeAlias = np.ndarray  # whose members traced values have, and the arrays of other libraries
ArrayLike: TypeAlias = Any  # convertible to one: also numbers, and nested sequences of them
DType: TypeAlias = Any  # what np.dtype takes
Key: TypeAlias = Any  # of random numbers: see `fxgrad.random.key`
PyTree: TypeAlias = Any  # arrays in nested containers
Shape: TypeAlias = Any  # a size, or a tuple of sizes
Axis: TypeAlias = Any  # an axis, a tuple of axes, or None for all

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
