"""Types for public signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike

Array: TypeAlias = np.ndarray  # whose members traced values have, and the arrays of other libraries
DType: TypeAlias = DTypeLike | None  # None for that of the arguments, or of Python's numbers
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
