"""Shapes and dtypes as users give them. Errors about them name the function that was called."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ConcretizationError, DTypeError, ShapeError, StructureError


def as_shape(shape: Any, name: str, or_size: bool = True) -> tuple[int, ...]:
    """Return a shape as a tuple of non-negative integers; an integer is a shape of one axis, if it may be a size."""
    try:
        sizes = tuple(n.__index__() for n in ((shape,) if or_size and hasattr(shape, "__index__") else shape))
    except ConcretizationError:  # a size that is traced
        raise
    except (AttributeError, TypeError):
        raise ShapeError(
            f"{name}: a shape is a tuple of integers, not {shape!r}", hint="shape=(3, 4), say"
        ) from None
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name}: the shape {sizes} has a negative size", hint="sizes from 0 on")
    return sizes


def as_dtype(dtype: Any, name: str, kinds: str = "") -> np.dtype[Any]:
    """Return a dtype, of one of these kinds if there are any."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(
            f"{name}: {dtype!r} is no dtype", hint='float, "float32", or x.dtype of an array'
        ) from error
    if kinds and found.kind not in kinds:
        raise DTypeError(
            f"{name}: a dtype of the kinds {kinds!r} is needed, not {found}", hint='int or "int32", say'
        )
    return found


def refuse_shape(value: Any, name: str) -> None:
    """Raise StructureError where a shape, a tuple of integers, stands for a number or an array."""
    entries: list[Any] = [*value] if type(value) is tuple else [None]
    if all(hasattr(n, "__index__") for n in entries):
        raise StructureError(
            f"{name}: the tuple {value!r} is given for a number or an array",
            hint=f"shape={value!r}, if it is the shape; fnp.array({entries!r}), if these are entries",
        )
