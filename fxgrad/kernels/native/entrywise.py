"""Entrywise functions of arrays of one shape as machine code for any length, for code that is not compiled as a whole:
primitives of one operand that take NumPy many passes, and Graphs.

    i32 group(first, last, x, y)       y[first:last] = f(x[first:last]); returns the exceptions that it raised
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.cache import Cache
from ...core.costs import COMPILATION, ENTRY_TIME, FUNCTION_TIME, FUSED_ENTRIES, HALF_TIME
from ...core.graph import Graph, Literal
from ..memory import allocate
from . import arrays, exceptions, lanes, math
from .engine import compile_functions
from .groups import GROUP
from .ir import I64, PTR, Function, Type, Value
from .processor import vector_bytes
from .runner import concerns_somebody, function_type
from .threads import Crew
from .tier import Tier

_tiers: Cache = Cache(128)  # name of a primitive, dtype, params → Tier


def compute_entrywise(
    name: str, x: np.ndarray, cost: float = FUNCTION_TIME, call: float = 0.0, **params: Any
) -> np.ndarray | None:
    """Return the function of a primitive for a dense array, or None if NumPy, which takes `cost` nanoseconds for an
    entry, is to compute it. It computes small arrays, unless a call of it takes `call` nanoseconds besides."""
    if not call and x.size * cost < FUSED_ENTRIES * FUNCTION_TIME:
        return None
    if not (x.flags.c_contiguous and x.flags.aligned):
        return None
    key = name, x.dtype, *params.items()
    tier = _tiers.get(key)
    if tier is None:
        if x.dtype.kind == "c" or not (lanes.is_known(x.dtype) and math.covers(name, x.dtype, **params)):
            return None
        make = partial(compile_entrywise, name, x.dtype, params)
        tier = _tiers[key] = Tier(make, COMPILATION, name)
    native = tier.ask(call + cost * x.size)
    if native is None:
        return None
    y = allocate(x.shape, x.dtype)
    raised = Crew(native, x.size, 4 * cost * x.size)(0, x.size, x, y)
    return None if raised and concerns_somebody(raised) else y


def compile_entrywise(name: str, dtype: np.dtype, params: dict[str, Any]) -> Any:
    """Compile the function of the primitive of this name for a dtype."""
    width = vector_bytes() // dtype.itemsize
    type = Type(lanes.memory_element(dtype), width)
    function = Function(GROUP, [I64, I64, PTR, PTR], "i32")
    first, last, *objects = function.arguments
    x, y = (arrays.address(function, o) for o in objects)

    def write_vector(place: Value, present: Value | None) -> None:
        if present is None:
            function.store(math.apply(name, function.load(x, type, place), **params), y, place)
        else:
            one = function.splat(function.load(x, type._replace(width=1), place), width)
            value = math.apply(name, function.load_masked(x, present, type, place, one), **params)
            function.store_masked(value, y, present, place)

    with exceptions.watch(function) as raised:
        write_vectors(function, first, last, width, write_vector)
    return bind_group(function, raised, 2)


def convert_entries(x: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Convert a dense array to another dtype; or return None if NumPy is to do so."""
    if not (x.flags.c_contiguous and x.flags.aligned):
        return None
    key = "convert", x.dtype, dtype
    tier = _tiers.get(key)
    if tier is None:
        if not (lanes.is_known(x.dtype) and lanes.is_known(dtype) and lanes.converts(x.dtype, dtype)):
            return None
        if not math.converts_half():
            return None
        make = partial(compile_conversion, x.dtype, dtype)
        tier = _tiers[key] = Tier(make, COMPILATION, f"conversion to {dtype}")
    native = tier.ask(HALF_TIME * x.size)
    if native is None:
        return None
    y = allocate(x.shape, dtype)
    raised = Crew(native, x.size, 4 * ENTRY_TIME * x.size)(0, x.size, x, y)
    return None if raised and concerns_somebody(raised) else y


def compile_conversion(source: np.dtype, dtype: np.dtype) -> Any:
    """Compile the conversion of entries of a dtype to another."""
    width = vector_bytes() // max(source.itemsize, dtype.itemsize)
    function = Function(GROUP, [I64, I64, PTR, PTR], "i32")
    first, last, *objects = function.arguments
    x, y = (arrays.address(function, o) for o in objects)

    def write_vector(place: Value, present: Value | None) -> None:
        value = lanes.load(function, x, source, place, width, present)
        lanes.store(function, lanes.convert(value, source, dtype), y, dtype, place, present)

    with exceptions.watch(function) as raised:
        write_vectors(function, first, last, width, write_vector)
    return bind_group(function, raised, 2)


class EntrywiseGraph:
    """A Graph of quiet elementwise equations whose inputs, at least one, and outputs have one shape, as a function of
    arrays of any shape: inputs → list of outputs, or None if NumPy is to compute them."""

    __slots__ = ("cost", "dtypes", "graph", "tier")

    def __init__(self, graph: Graph):
        self.graph = graph
        self.dtypes = [v.aval.dtype for v in graph.inputs]
        self.cost = 0.5 * sum(getattr(e.primitive.kernel, "passes", 1) for e in graph.equations)
        shape = graph.inputs[0].aval.shape
        values = [*graph.inputs, *(v for e in graph.equations for v in e.outputs)]
        known = all(v.aval.shape == shape and lanes.is_known(v.aval.dtype) for v in values)
        known = known and not any(type(v) is Literal for v in graph.outputs)
        self.tier: Tier | None = None
        if known and all(map(lanes.covers, graph.equations)):
            make = partial(compile_entries, graph)
            self.tier = Tier(make, COMPILATION, f"a function of {len(graph.equations)} operations")

    def __call__(self, *operands: Any) -> list[np.ndarray] | None:
        if self.tier is None:
            return None
        shape = operands[0].shape
        for x, dtype in zip(operands, self.dtypes):
            if type(x) is not np.ndarray or x.dtype != dtype or x.shape != shape:
                return None
            if not (x.flags.c_contiguous and x.flags.aligned):
                return None
        size = operands[0].size
        native = self.tier.ask(self.cost * size)
        if native is None:
            return None
        results = [allocate(shape, v.aval.dtype) for v in self.graph.outputs]
        Crew(native, size, 4 * self.cost * size)(0, size, *operands, *results)
        return results


def compile_entries(graph: Graph) -> Any:
    """Compile a Graph for an EntrywiseGraph."""
    width, count = lanes.vector_width(graph), len(graph.inputs) + len(graph.outputs)
    function = Function(GROUP, [I64, I64, *[PTR] * count], "i32")
    first, last, *objects = function.arguments
    places = [arrays.address(function, o) for o in objects]
    targets = places[len(graph.inputs) :]

    def write_vector(place: Value, present: Value | None) -> None:
        values: dict[Any, Any] = {
            v: lanes.load(function, x, v.aval.dtype, place, width, present)
            for v, x in zip(graph.inputs, places)
        }
        for e in graph.equations:
            operands = [a.value if type(a) is Literal else values[a] for a in e.inputs]
            values[e.outputs[0]] = lanes.write(e, operands, function, width)
        for v, y in zip(graph.outputs, targets):
            lanes.store(function, values[v], y, v.aval.dtype, place, present)

    with exceptions.watch(function) as raised:
        write_vectors(function, first, last, width, write_vector)
    return bind_group(function, raised, count)


def write_vectors(
    function: Function, first: Value, last: Value, width: int, write: Callable[[Value, Value | None], None]
) -> None:
    """Append the loop that writes vectors of consecutive entries, and what remains of one, of which a mask says which
    entries are there."""
    rest = (last - first) & (width - 1)
    whole = last - rest
    with function.loop(whole, first, step=width) as loop:
        write(loop.index, None)
    with function.when(rest > 0):
        write(whole, function.lanes_below(rest, width))


def bind_group(function: Function, raised: Any, count: int) -> Any:
    """Compile a function of so many arrays, which returns the exceptions that it raised."""
    function.return_value(raised.value)
    code = compile_functions([function])
    native = function_type(count)(code.address(GROUP))
    native.code = code  # which lives as long
    return native
