"""Half precision, which is computed in single precision, as in torch. This keeps all digits of intermediate values, and
avoids NumPy's bfloat16, which has few kernels and is promoted by numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...extend import SCALARS, aval_of, ops

SINGLE = np.dtype("f4")


def value_dtype(value) -> Any:
    """NumPy's dtype of an array, number or traced value."""
    return value.dtype if type(value) is np.ndarray else aval_of(value).dtype


def is_number(value) -> bool:
    """Whether a value is a Python number, or stands for one while it is traced."""
    return type(value) in SCALARS or (type(value) is not np.ndarray and aval_of(value).weak)


def common_half_dtype(values: Iterable[Any]) -> Any:
    """The half-precision dtype that all floating values have in common; None if there is none."""
    half = None
    for v in values:
        if v is None or is_number(v):
            continue
        dtype = value_dtype(v)
        if dtype.kind in "biu":
            continue
        if dtype.itemsize != 2 or half not in (None, dtype):
            return None
        half = dtype
    return half


def convert_matching(values, have, wanted) -> Any:
    """Convert the values (one or several, which may be None) of one dtype to another."""
    if isinstance(values, list | tuple):
        return [convert_matching(v, have, wanted) for v in values]
    if values is None or type(values) in SCALARS or value_dtype(values) != have:
        return values
    return ops.convert(values, dtype=wanted)


def compute_in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of values so that it computes half precision in single precision, and converts its results back
    unless it was asked for a dtype. Numbers of Python's beside it are not rounded to half precision."""

    def call_in_single(*values, **params) -> Any:
        half = common_half_dtype(values)
        if half is None:
            return function(*values, **params)
        results = function(*convert_matching(values, half, SINGLE), **params)
        return results if params.get("dtype") is not None else convert_matching(results, SINGLE, half)

    return call_in_single


def tangent_rule_in_single(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tangent rule so that it computes half precision in single precision."""

    def tangent(ys, primals, tangents, params: dict) -> Any:
        half = common_half_dtype(primals)
        if half is None:
            return rule(ys, primals, tangents, params)
        given = [convert_matching(values, half, SINGLE) for values in (ys, primals, tangents)]
        found = rule(*given, params)
        narrow = common_half_dtype(ys if isinstance(ys, list | tuple) else [ys])
        return found if narrow is None else convert_matching(found, SINGLE, narrow)

    return tangent
