"""Reductions at an index: the product, the largest or the smallest of an entry and of the values that belong to it.

Values that reach the extremum of an entry together share its derivative, as for `reduce_max`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.devices import CPU, put_array
from ..kernels.selection import combine_at, multiply_others_at, split_into_rounds
from .indexing import ARRAY, batch_index, fill_template, getitem, move_axis, scatter_add
from .kinds import general
from .reduction import recurrence
from .vocabulary import ops


def combining_kernel(name: str) -> Any:
    """Return the kernels that combine by a ufunc of this name."""

    def make_kernel(xp: Any) -> Any:
        def combine(x: Any, u: Any, *arrays: Any, index: tuple) -> Any:
            at = fill_template(index, arrays, xp)
            if arrays and xp is np:
                return combine_at(name, lambda: np.array(x, order="C"), at, u)
            out = xp.array(x, copy=True, order="C") if hasattr(xp, "array") else xp.asarray(x, copy=True)
            ufunc = getattr(xp, name)
            if arrays and name == "multiply":
                multiply_at(xp, out, at, u)
            elif arrays:
                ufunc.at(out, at, u)
            else:
                out[at] = ufunc(out[at], u)
            return out

        return combine

    return make_kernel


def multiply_at(xp: Any, out: Any, at: tuple, u: Any) -> None:
    """Multiply entries of an array in row-major order by u in rounds without repetitions: CuPy's `multiply` has no
    method `at`."""
    numbers = xp.arange(out.size).reshape(out.shape)[at]
    flat, values = out.reshape(-1), xp.broadcast_to(u, numbers.shape).reshape(-1)
    numbers = numbers.reshape(-1)
    for turn in split_into_rounds(put_array(numbers, CPU)):
        here = numbers[xp.asarray(turn)]
        flat[here] = flat[here] * values[xp.asarray(turn)]


def combining(name: str, kernel: Any, tangent_rule: Any, result: int = 0) -> Any:
    """Declare a primitive (x, u, *arrays) of an array, an index, and values for its entries; its results are like the
    operand number `result`."""

    def batch(x: Any, u: Any, *arrays: Any, size: int, index: tuple) -> Any:
        arrays, index, axis = batch_index(aval_of(x).shape[1:], arrays, index, size, ARRAY in index)
        y = rule(x, move_axis(u, 0, axis), *arrays, index=index)
        return move_axis(y, axis, 0) if result else y

    def abstract(self: Any, x: Aval, u: Aval, *arrays: Aval, index: tuple) -> Aval:
        return Aval(u.shape, np.result_type(x.dtype, u.dtype)) if result else Aval(x.shape, x.dtype)

    rule = general(
        name,
        kernel,
        abstract_rule=abstract,
        tangent_rule=tangent_rule,
        batch_rule=batch,
    )
    return rule


# -- extrema ------------------------------------------
def reaches(values: Any, extrema: Any) -> Any:
    """Return the mask of the values that are the extremum: of NaN all that are NaN."""
    return ops.logical_or(ops.equal(values, extrema), ops.isnan(values))


def extreme_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (x, u, *arrays), (dx, du, *_) = primals, tangents
    index, dtype, shape = params["index"], aval_of(y).dtype, aval_of(y).shape

    def put(values: Any) -> Any:
        return scatter_add(values, *arrays, index=index, shape=shape)

    own, theirs = reaches(x, y), reaches(u, getitem(y, *arrays, index=index))
    count = ops.convert(own, dtype=dtype) + put(ops.convert(theirs, dtype=dtype))
    kept = None if dx is None else ops.where(own, dx, 0)
    given = None if du is None else put(ops.where(theirs, du, 0))
    return (kept if given is None else given if kept is None else kept + given) / count


scatter_max = combining("scatter_max", combining_kernel("maximum"), extreme_tangent)
scatter_min = combining("scatter_min", combining_kernel("minimum"), extreme_tangent)


# -- products ------------------------------------------
def product_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent is Σ tᵢ·(product of the others)."""
    (x, u, *arrays), (dx, du, *_) = primals, tangents
    index = params["index"]
    kept = None if dx is None else dx * scatter_mul(ops.full_like(x, value=1), u, *arrays, index=index)
    if du is None:
        return kept
    others = multiply_others(x, u, *arrays, index=index)
    given = scatter_add(du * others, *arrays, index=index, shape=aval_of(x).shape)
    return given if kept is None else kept + given


def others_kernel(xp: Any) -> Any:
    def multiply_others(x: Any, u: Any, *arrays: Any, index: tuple) -> Any:
        dtype = xp.result_type(x, u)
        if not arrays:
            out = xp.zeros(u.shape, dtype=dtype)
            out[...] = x[index]
            return out
        x, u = (v if v.dtype == dtype else xp.asarray(v, dtype=dtype) for v in (x, u))
        at = fill_template(index, arrays, xp)
        return multiply_others_at(x, at, u) if xp is np else multiply_others_by_zeros(xp, x, at, u)

    return multiply_others


def multiply_others_by_zeros(xp: Any, x: Any, at: tuple, u: Any) -> Any:
    """Divide the product of all values but the zeros, as many of them as there are being known."""
    one, zero = xp.ones((), dtype=u.dtype), xp.zeros((), dtype=u.dtype)
    product, count = xp.array(xp.where(x == 0, one, x)), xp.array(x == 0, dtype=xp.int64)
    vanishes = u == 0
    divisor = xp.where(vanishes, one, u)
    multiply_at(xp, product, at, divisor)
    xp.add.at(count, at, vanishes.astype(xp.int64))
    return xp.where(count[at] == vanishes, product[at] / divisor, zero).astype(u.dtype)


def others_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """By the recurrences of the products before each value and behind it, in the order of places."""
    (x, u, *arrays), (dx, du, *_) = primals, tangents
    shape, (size, count) = aval_of(u).shape, (aval_of(v).size for v in (x, u))
    numbers = getitem(np.arange(size).reshape(aval_of(x).shape), *arrays, index=params["index"])
    numbers = ops.reshape(numbers, shape=(count,))
    order = ops.argsort(numbers, axis=0)
    back = ops.argsort(order, axis=0)

    def sort(v: Any) -> Any:
        return getitem(ops.reshape(v, shape=(count,)), order, index=(ARRAY,))

    def read(v: Any) -> Any:
        return getitem(ops.reshape(v, shape=(size,)), places, index=(ARRAY,))

    def turn(v: Any) -> Any:
        return ops.flip(v, axes=(0,))

    def shift(v: Any) -> Any:
        return getitem(v, np.maximum(np.arange(-1, count - 1), 0), index=(ARRAY,))

    places = sort(numbers)
    first = np.arange(count) == 0
    begins = ops.logical_or(ops.not_equal(places, shift(places)), first)
    backwards = turn(places)
    ends = ops.logical_or(ops.not_equal(backwards, shift(backwards)), first)
    factors, moved = sort(u), None if du is None else sort(du)

    def recur(values: Any, change: Any, starts: Any, start: Any, start_change: Any) -> tuple[Any, Any]:
        """Return the products of the values before each one, from `start` on, and their change."""
        steps = ops.where(starts, 0, shift(values))
        products = recurrence(steps, ops.where(starts, start, 0), axis=0)
        source = None if start_change is None else ops.where(starts, start_change, 0)
        if change is not None:
            more = ops.where(starts, 0, shift(change)) * shift(products)
            source = more if source is None else source + more
        return products, None if source is None else recurrence(steps, source, axis=0)

    before, before_change = recur(factors, moved, begins, read(x), None if dx is None else read(dx))
    reversed_change = None if moved is None else turn(moved)
    behind, behind_change = recur(turn(factors), reversed_change, ends, ops.full_like(factors, value=1), None)
    total = before_change * turn(behind)
    if behind_change is not None:
        total = total + before * turn(behind_change)
    return ops.reshape(getitem(total, back, index=(ARRAY,)), shape=shape)


scatter_mul = combining("scatter_mul", combining_kernel("multiply"), product_tangent)
multiply_others = combining("multiply_others", others_kernel, others_tangent, 1)
