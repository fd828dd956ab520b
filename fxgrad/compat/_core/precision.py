"""Half precision is computed in single, as torch does: no digits are lost on the way, and NumPy, which has few kernels
of bfloat16 and promotes it with numbers, is not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import SCALARS, aval_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SINGLE = np.dtype("f4")


def dtype_of(value: Any) -> Any:
    """NumPy's dtype of an array, number or traced value."""
    return value.dtype if type(value) is np.ndarray else aval_of(value).dtype


def half_of(values: Iterable[Any]) -> Any:
    """The dtype of half precision that all floating ones of these have; None if there is no such."""
    half = None
    for v in values:
        if v is None or type(v) in SCALARS:
            continue
        dtype = dtype_of(v)
        if dtype.kind in "biu":
            continue
        if dtype.itemsize != 2 or half not in (None, dtype):
            return None
        half = dtype
    return half


def converted(values: Any, have: Any, wanted: Any) -> Any:
    """Values (one or several, None included) with those of a dtype converted to another."""
    if isinstance(values, list | tuple):
        return [converted(v, have, wanted) for v in values]
    if values is None or type(values) in SCALARS or dtype_of(values) != have:
        return values
    return ops.convert(values, dtype=wanted)


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of values that computes in single precision on those of half precision, and gives results of this
    unless it was asked for a dtype."""

    def computed(*values: Any, **params: Any) -> Any:
        half = half_of(values)
        if half is None:
            return function(*values, **params)
        results = function(*converted(values, half, SINGLE), **params)
        return results if params.get("dtype") is not None else converted(results, SINGLE, half)

    return computed


def tangent_in_single(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a tangent rule."""

    def tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> Any:
        half = half_of(primals)
        if half is None:
            return rule(ys, primals, tangents, params)
        given = [converted(values, half, SINGLE) for values in (ys, primals, tangents)]
        found = rule(*given, params)
        narrow = half_of(ys if isinstance(ys, list | tuple) else [ys])
        return found if narrow is None else converted(found, SINGLE, narrow)

    return tangent
