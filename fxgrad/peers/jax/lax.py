"""`jax.lax`: what differs from `fxgrad.lax`."""

from __future__ import annotations

from typing import Any

from ... import lax
from ...lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Precision,
    RoundingMethod,
    ScatterDimensionNumbers,
)
from .arrays import convert, lift, value_of
from .dtypes import canonicalize_dtype
from .primitives import SHOWN_BY_LAX
from .programs import lift_program, map_leaves
from .sharding import place_all

globals().update(SHOWN_BY_LAX)
__all__ = [
    *SHOWN_BY_LAX, "GatherDimensionNumbers", "GatherScatterMode", "Precision", "RoundingMethod",
    "ScatterDimensionNumbers", "cond", "convert_element_type", "full", "iota",
    "scan", "stop_gradient", "with_sharding_constraint",
]  # fmt: skip


def cond(pred: Any, *operands: Any, **options: Any) -> Any:
    """Apply one of two functions: cond(pred, true_fun, false_fun, *operands), or with an operand for each before it."""
    if len(operands) == 4 and callable(operands[1]) and callable(operands[3]) and not callable(operands[0]):
        true_operand, true_fun, false_operand, false_fun = operands
        return choose(pred, lambda x, _: true_fun(x), lambda _, y: false_fun(y), true_operand, false_operand)
    return choose(pred, *operands, **options)


def scan(*args: Any, _split_transpose: bool = False, **options: Any) -> Any:
    """Go through arrays with a state, as `fxgrad.lax.scan`; how JAX's compiler transposes it is left aside."""
    return go_through(*args, **options)


choose = lift_program(lax.cond)
go_through = lift_program(lax.scan)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Return an array in another dtype."""
    return convert(value_of(operand), new_dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array of one value."""
    return lift(lax.full)(shape, fill_value, None if dtype is None else canonicalize_dtype(value_of(dtype)))


def iota(dtype: Any, size: int) -> Any:
    """Return 0, 1, 2, …"""
    return lift(lax.iota)(canonicalize_dtype(value_of(dtype)), size)


def stop_gradient(x: Any) -> Any:
    """Return a pytree whose derivative is 0."""
    return map_leaves(lax.stop_gradient(x))


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return arrays, which are whole on one device; a spec needs the mesh of `jax.set_mesh`."""
    return place_all(x, shardings, "with_sharding_constraint")
