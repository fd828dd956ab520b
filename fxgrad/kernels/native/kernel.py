"""Hand-written machine code functions for operands of any shape: their requests, compilation and caching."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.cache import Cache
from ...core.costs import KERNEL_COMPILATION
from . import engine, math
from .ir import I64, Function
from .tier import Tier

ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_kernels: Cache = Cache(64)  # (builder, dtype, options) → Tier


def make_kernel(
    build: Callable[..., Function], dtype: np.dtype, options: tuple[int | str, ...]
) -> Callable[..., Any]:
    """Return the function that `build` writes for an element type and some options, compiled."""
    name = "_".join(map(str, (build.__name__, dtype, *options)))
    function = build(name, math.ELEMENTS[dtype.name], *options)
    kinds = [ctypes.c_int64 if v.type == I64 else ctypes.c_void_p for v in function.arguments]
    result = ctypes.c_int if function.returns == "i32" else None
    return engine.bind_function(engine.compile_functions([function]), name, *kinds, result=result)


def ask_kernel(
    cost: float, build: Callable[..., Function], dtype: np.dtype, *options: int | str
) -> Callable[..., Any] | None:
    """Return a compiled function for a call that takes NumPy about a number of nanoseconds, or None if NumPy is to
    compute it."""
    key = (build, dtype, options)
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = Tier(
            partial(make_kernel, build, dtype, options), KERNEL_COMPILATION, build.__name__
        )
    return found.ask(cost)
