"""Checks of an index before it is used: whether its integers are within the bounds of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ...core.errors import DTypeError
from ...core.interpreter import Tracer

LEAST, GREATEST = np.minimum.reduce, np.maximum.reduce
BOUNDS = frozenset([int, type(None)])  # of slices


def is_simple(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index consists of slices, None, and integers within bounds, all of them Python's."""
    axis = 0
    for k in key if type(key) is tuple else (key,):
        if type(k) is int:
            if axis >= len(shape) or not -shape[axis] <= k < shape[axis]:
                return False
        elif type(k) is slice:
            if not (type(k.start) in BOUNDS and type(k.stop) in BOUNDS and type(k.step) in BOUNDS):
                return False
        elif k is None:
            continue
        else:
            return False
        axis += 1
    return True


def check_index(key: Any) -> None:
    """Raise unless an index has what JAX takes for one: NumPy also takes lists."""
    for k in key if type(key) is tuple else (key,):
        dtype = getattr(k, "dtype", None)
        is_number = type(k) in (float, complex) or (dtype is not None and dtype.kind not in "biu")
        if is_number or isinstance(k, str) or (k is key and type(k) is list):
            raise DTypeError(
                f"an index has integers or truth values, not {type(k).__name__ if dtype is None else dtype}",
                hint="x[jnp.array(index)], of integers",
            )


def is_within(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index can be seen to have no integer out of bounds: of slices, masks, and plain integers."""
    keys = key if type(key) is tuple else (key,)
    if all(k is None or k is Ellipsis or type(k) is slice for k in keys):
        return True
    axis = 0
    for place, k in enumerate(keys):
        if k is None or type(k) is slice:
            axis += k is not None
        elif k is Ellipsis:
            axis = len(shape) - sum(axes_of(e) for e in keys[place + 1 :])
        elif type(k) is int:
            if axis < len(shape) and not -shape[axis] <= k < shape[axis]:
                return False
            axis += 1
        elif isinstance(k, int | ndarray | np.generic) and not isinstance(k, bool):
            entries = np.asarray(k)
            if entries.dtype.kind == "b":
                axis += entries.ndim
                continue
            if axis >= len(shape):
                return True  # too many: NumPy says so
            n = shape[axis]
            if entries.size and not (LEAST(entries, None) >= -n and GREATEST(entries, None) < n):
                return False
            axis += 1
        elif isinstance(k, Tracer):
            if k.dtype.kind != "b":
                return False
            axis += k.ndim
        else:
            return True
    return True


def axes_of(entry: Any) -> int:
    """Return for how many axes an entry of an index stands."""
    if entry is None:
        return 0
    return np.ndim(entry) if getattr(entry, "dtype", None) == np.dtype(bool) else 1
