"""A function of one operand, entry by entry, as machine code for arrays of any length: what NumPy computes in many
passes, where nothing is compiled around it.

    i32 group(first, last, x, y)       y[first:last] = f(x[first:last]); returns the exceptions that it raised
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...core.cache import Cache
from ..memory import allocate
from . import arrays, exceptions, lanes, math
from .engine import compile_functions
from .groups import GROUP
from .ir import I64, PTR, Function, Type
from .processor import vector_bytes
from .runner import concerns_somebody, function_type
from .tier import Tier

LARGE = 1 << 14  # entries from which on machine code pays
ENTRY = 3.0  # nanoseconds that NumPy takes about for an entry
COMPILATION = 2e7
_tiers: Cache = Cache(128)  # name of a primitive, dtype, params → Tier


def compute_entrywise(name: str, x: np.ndarray, **params: Any) -> np.ndarray | None:
    """Return the function of a primitive of an array that is dense and large, or None where NumPy is to compute it."""
    if x.size < LARGE or not (x.flags.c_contiguous and x.flags.aligned):
        return None
    key = name, x.dtype, *params.items()
    tier = _tiers.get(key)
    if tier is None:
        if x.dtype.kind == "c" or not (lanes.is_known(x.dtype) and math.covers(name, x.dtype, **params)):
            return None
        make = partial(compile_entrywise, name, x.dtype, params)
        tier = _tiers[key] = Tier(make, COMPILATION, name)
    native = tier.ask(ENTRY * x.size)
    if native is None:
        return None
    y = allocate(x.shape, x.dtype)
    raised = native(0, x.size, x, y)
    return None if raised and concerns_somebody(raised) else y


def compile_entrywise(name: str, dtype: np.dtype, params: dict[str, Any]) -> Any:
    """Compile the function of the primitive of this name for a dtype."""
    width = vector_bytes() // dtype.itemsize
    type = Type(lanes.memory_element(dtype), width)
    function = Function(GROUP, [I64, I64, PTR, PTR], "i32")
    first, last, *objects = function.arguments
    x, y = (arrays.address(function, o) for o in objects)
    with exceptions.watch(function) as raised:
        rest = (last - first) & (width - 1)
        whole = last - rest
        with function.loop(whole, first, step=width) as loop:
            function.store(math.apply(name, function.load(x, type, loop.index), **params), y, loop.index)
        with function.when(rest > 0):
            present = function.lanes_below(rest, width)
            one = function.splat(function.load(x, type._replace(width=1), whole), width)
            value = math.apply(name, function.load_masked(x, present, type, whole, one), **params)
            function.store_masked(value, y, present, whole)
    function.return_value(raised.value)
    code = compile_functions([function])
    native = function_type(2, True)(code.address(GROUP))
    native.code = code  # which lives as long
    return native
