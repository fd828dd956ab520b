"""The primitives of a declared operation: one for each pattern of its operands, since those that are not given are not
operands of a primitive, and each entry of a sequence is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import SCALARS, aval_of
from .._core.dtypes import cast_number
from .._core.precision import common_half_dtype, compute_in_single, tangent_rule_in_single
from .composite import Composite, order_of_operands
from .declaration import HALF, Declaration
from .promotion import promote_values


def make_primitive(declaration: Declaration, pattern: tuple) -> Composite:
    """Make the primitive for a pattern of operands: True where a value is given, an int for a sequence of that
    length."""
    made = declaration.composite_class(
        declaration.name,
        function_for(declaration, pattern),
        declaration.results is not None,
        tangent_for(declaration, pattern),
    )
    made.pattern = pattern
    # NumPy gives views where primitives copy.
    made.by_value = True if declaration.view else declaration.by_value
    made.shares = made.shares or bool(declaration.view)
    if declaration.keeps_results:
        made.keep_results()
    if declaration.entrywise:
        made.order = order_of_operands
    if all(pattern):
        made.find_direct = declaration.direct
    if declaration.cotangent is not None:
        made.cotangent_rule = cotangent_for(declaration, pattern)
    return made


def tangent_for(declaration: Declaration, pattern: tuple) -> Any:
    """Return the tangent rule for a pattern: operands that are not given have None as primal and tangent."""
    rule = declaration.tangent
    if rule is not None and declaration.computes_in_single:
        rule = tangent_rule_in_single(rule)
    if rule is None or all(pattern):
        return rule

    def tangent(ys, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
        return rule(ys, fill(pattern, primals), fill(pattern, tangents), params)

    return tangent


def cotangent_for(declaration: Declaration, pattern: tuple) -> Callable[..., list[Any]]:
    """Return the cotangent rule for a pattern: operands that are not given are None."""
    rule = declaration.cotangent
    if declaration.computes_in_single:
        rule = tangent_rule_in_single(rule)

    def cotangent(ys, operands: Sequence[Any], ct, params: dict) -> list[Any]:
        return [v for v, p in zip(rule(ys, fill(pattern, operands), ct, params), pattern) if p]

    return cotangent


def fill(pattern: tuple, given: Sequence[Any]) -> list[Any]:
    """Insert None for operands that are not given."""
    rest = iter(given)
    return [next(rest) if present else None for present in pattern]


def function_for(declaration: Declaration, pattern: tuple) -> Callable[..., Any]:
    """Return the function of a flat sequence of the values that are given."""
    names, promote = declaration.names, declaration.promote

    def call_with_pattern(*values, **params) -> Any:
        rest = iter(values)
        for name, present in zip(names, pattern):
            if type(present) is int:
                params[name] = [next(rest) for _ in range(present)]
            else:
                params[name] = next(rest) if present else None
        return declaration.function(**params)

    function = call_with_pattern
    if declaration.computes_in_single:
        function = compute_in_single(call_with_pattern)
        if limited := [name for name in declaration.in_range.split() if name not in names]:
            function = with_numbers_in_range(function, limited)
    if promote is None:
        return function

    def call_promoted(*values, **params) -> Any:
        return function(*promote_values(values, promote, declaration.exact_numbers), **params)

    return call_promoted


def with_numbers_in_range(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """Wrap a function of values so that it raises for parameters of these names that half precision cannot hold."""

    def call_in_range(*values, **params) -> Any:
        half = common_half_dtype(values)
        for number in [params[name] for name in names] if half is not None else ():
            if type(number) in SCALARS:
                cast_number(number, half)
        return function(*values, **params)

    return call_in_range


def share_float_dtype(values: Sequence[Any], dtypes: set[Any], exact_numbers: bool) -> bool:
    """Whether all values have one floating dtype, or are numbers of it: an elementwise primitive then does what torch
    does. With `exact_numbers` there are no numbers of half precision."""
    dtype, has_numbers = None, False
    for v in values:
        if type(v) in SCALARS:
            if type(v) is complex or type(v) is bool:
                return False
            has_numbers = True
            continue
        found = v.dtype if type(v) is np.ndarray else aval_of(v).dtype
        if dtype is None and found in dtypes and not getattr(v, "weak", False):
            dtype = found
        elif found is not dtype:
            return False
    return dtype is not None and not (exact_numbers and has_numbers and dtype is HALF)
