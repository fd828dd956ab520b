"""Kernels of `contract`: a specification is planned once, as one BLAS matmul between transposed views."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.aval import check_kind
from ..core.costs import OUTER_ENTRIES, SCALED_ROW
from .matmul import dot, multiply_stacks
from .registry import native_function

NUMBERS = frozenset("biufc")


@lru_cache(4096)
def parse_spec(spec: str) -> tuple[str, str, str]:
    """Split a specification: 'ij,jk->ik' → ('ij', 'jk', 'ik')."""
    operands, out = spec.split("->")
    left, right = operands.split(",")
    return left, right, out


def contract_kernel(xp: Any) -> Callable[..., Any]:
    """Return the kernel for an array namespace, which caches plans by specification."""
    plan = plan_contraction if xp is np else lru_cache(4096)(lambda spec: make_plan(xp, spec))

    def contract(a: Any, b: Any, *, spec: str) -> Any:
        return plan(spec)(a, b)

    return contract


def permutation(source: str, target: str) -> tuple[int, ...]:
    return tuple(source.index(c) for c in target)


def multiply_outer(xp: Any, a: Any, b: Any, shared: int) -> Any:
    """Return the products of each entry of a and each entry of b, which have the first `shared` axes in common, with
    the axes of b last."""
    own = b.shape[shared:]
    if xp is np and a.size * element_count(own) >= OUTER_ENTRIES:
        y = native_function("outer.multiply_outer")(a, b, shared)
        if y is not None:
            return y
    b = xp.reshape(b, (*b.shape[:shared], *(1,) * (len(a.shape) - shared), *own))
    return xp.multiply(xp.reshape(a, (*a.shape, *(1,) * len(own))), b)


class DotOrder(NamedTuple):
    """A contraction as first.dot(second): whether each is transposed, and whether the operands are swapped."""

    flip_first: bool
    flip_second: bool
    swapped: bool


@lru_cache(4096)
def dot_order(spec: str) -> DotOrder | None:
    """Return how a contraction of vectors and matrices along one axis is one call of NumPy on views, or None for other
    contractions. NumPy's `dot` does what `matmul` does, which takes 0.5 µs longer.

    >>> dot_order("ab,cb->ca")
    DotOrder(flip_first=False, flip_second=True, swapped=True)
    """
    left, right, out = parse_spec(spec)
    summed = [c for c in left if c in right]
    if len(summed) != 1 or len(left) > 2 or len(right) > 2 or {*left} ^ {*right} != {*out}:
        return None
    swapped = len(out) == 2 and out[0] in right
    first, second = (right, left) if swapped else (left, right)
    return DotOrder(first[-1] != summed[0], second[0] != summed[0], swapped)


class Axes(NamedTuple):
    """The axes of a contraction: those of the operands and of the result, and what becomes of those of the operands."""

    left: str
    right: str
    out: str
    shared: str
    summed: str
    own_left: str
    own_right: str


def group_axes(spec: str) -> Axes:
    """Return the axes of a specification.

    >>> group_axes("zij,zjk->zik")
    Axes(left='zij', right='zjk', out='zik', shared='z', summed='j', own_left='i', own_right='k')
    """
    left, right, out = parse_spec(spec)
    shared = "".join(c for c in out if c in left and c in right)
    summed = "".join(c for c in left if c in right and c not in out)
    own_left = "".join(c for c in out if c in left and c not in right)
    own_right = "".join(c for c in out if c in right and c not in left)
    return Axes(left, right, out, shared, summed, own_left, own_right)


def transposition(xp: Any, source: str, target: str) -> Callable[[Any], Any]:
    """Return the function that brings the axes of an array into another order."""
    if source == target:
        return lambda x: x
    order = permutation(source, target)
    transpose = getattr(xp, "permute_dims", None) or xp.transpose
    return lambda x: transpose(x, order)


def make_plan(xp: Any, spec: str) -> Callable[[Any, Any], Any]:
    """Return the function (a, b) → the contraction, by the first way to compute it that fits the specification."""
    axes, order = group_axes(spec), dot_order(spec)
    if not axes.summed:
        return plan_outer(xp, axes)
    if order is not None:
        contraction = plan_dot(xp, order)
    elif xp is not np:
        contraction = plan_matmul(xp, axes)
    elif axes.left == axes.right == axes.summed + axes.shared:
        contraction = plan_columns(axes)
    else:
        contraction = plan_flat_dot(axes) or plan_matmul(xp, axes)
    return widen(contraction) if xp is np else contraction


def widen(contraction: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make a contraction compute bfloat16, which has no matmul of its own, in float32, and round once."""

    def run(a: Any, b: Any) -> Any:
        if a.dtype.kind in NUMBERS and b.dtype.kind in NUMBERS:
            return contraction(a, b)
        for x in (a, b):
            check_kind(x.dtype, "contract: an operand")
        dtype = np.promote_types(a.dtype, b.dtype)
        wide = [x.astype(np.float32) if x.dtype.kind == "V" else x for x in (a, b)]
        return contraction(*wide).astype(dtype)

    return run


def plan_outer(xp: Any, axes: Axes) -> Callable[[Any, Any], Any]:
    """Plan the products of all entries, where nothing is summed: in the order of axes that is asked for, or in its
    mirror image where its rows would be short."""
    _, _, out, shared, _, own_left, own_right = axes
    arrange_left = transposition(xp, axes.left, shared + own_left)
    arrange_right = transposition(xp, axes.right, shared + own_right)
    arrange_out = transposition(xp, shared + own_left + own_right, out)
    arrange_mirror = transposition(xp, shared + own_right + own_left, out)
    count, is_pair = len(shared), bool(own_left and own_right)
    is_mirrored = shared + own_right + own_left == out

    def outer_product(a: Any, b: Any) -> Any:
        a, b = arrange_left(a), arrange_right(b)
        if is_pair:
            m, n = a.shape[-1], b.shape[-1]
            if m >= min(SCALED_ROW, n) if is_mirrored else n < min(SCALED_ROW, m):
                return arrange_mirror(multiply_outer(xp, b, a, count))
        return arrange_out(multiply_outer(xp, a, b, count))

    return outer_product


def plan_dot(xp: Any, order: DotOrder) -> Callable[[Any, Any], Any]:
    """Plan the product of vectors and matrices."""
    flip_first, flip_second, swapped = order
    product = dot if xp is np else xp.matmul
    if swapped:
        return lambda a, b: product(b.T if flip_first else b, a.T if flip_second else a)
    return lambda a, b: product(a.T if flip_first else a, b.T if flip_second else b)


def plan_columns(axes: Axes) -> Callable[[Any, Any], Any]:
    """Plan one number for each place of the last axes, where both operands have their summed axes first."""
    count, arrange_out = len(axes.summed), transposition(np, axes.shared, axes.out)

    def columnwise_dot(a: Any, b: Any) -> Any:
        rest = a.shape[count:]
        shape = (element_count(a.shape[:count]), element_count(rest))
        y = np.einsum("ij,ij->j", a.reshape(shape), b.reshape(shape))
        return arrange_out(y.reshape(rest))

    return columnwise_dot


def plan_flat_dot(axes: Axes) -> Callable[[Any, Any], Any] | None:
    """Plan the product of two matrices, or return None where the operands are none: whose summed axes are the first or
    the last ones, and the others in the order of the result. Axes are merged as they lie in memory, so that nothing is
    copied, and the matrices are transposed."""
    left, right, out, shared, summed, own_left, own_right = axes
    flip_left, flip_right = left == summed + own_left, right == own_right + summed
    if (
        shared
        or not (flip_left or left == own_left + summed)
        or not (flip_right or right == summed + own_right)
    ):
        return None
    count, arrange_out = len(summed), transposition(np, own_left + own_right, out)

    def flat_dot(a: Any, b: Any) -> Any:
        rows = a.shape[count:] if flip_left else a.shape[: a.ndim - count]
        columns = b.shape[: b.ndim - count] if flip_right else b.shape[count:]
        m, n = element_count(rows), element_count(columns)
        inner = element_count(a.shape[:count] if flip_left else a.shape[a.ndim - count :])
        first = a.reshape(inner, m).T if flip_left else a.reshape(m, inner)
        second = b.reshape(n, inner).T if flip_right else b.reshape(inner, n)
        return arrange_out(dot(first, second).reshape(*rows, *columns))

    return flat_dot


def plan_matmul(xp: Any, axes: Axes) -> Callable[[Any, Any], Any]:
    """Plan any contraction: operands are transposed to (shared axes, own axes, summed axes) or its mirror image, groups
    of several axes are merged, `matmul` does the sum, and the result is transposed to the order asked for."""
    left, right, out, shared, summed, own_left, own_right = axes
    arrange_left = transposition(xp, left, shared + own_left + summed)
    arrange_right = transposition(xp, right, shared + summed + own_right)
    arrange_out = transposition(xp, shared + own_left + own_right, out)
    matmul = multiply_stacks if xp is np else xp.matmul
    if len(summed) == len(own_left) == len(own_right) == 1:
        return lambda a, b: arrange_out(matmul(arrange_left(a), arrange_right(b)))
    k, m, n = len(shared), len(shared + own_left), len(shared + summed)

    def merged_matmul(a: Any, b: Any) -> Any:
        a, b = arrange_left(a), arrange_right(b)
        batch, rows, columns = a.shape[:k], a.shape[k:m], b.shape[n:]
        inner = element_count(a.shape[m:])
        a = xp.reshape(a, (*batch, element_count(rows), inner))
        b = xp.reshape(b, (*batch, inner, element_count(columns)))
        return arrange_out(xp.reshape(matmul(a, b), (*batch, *rows, *columns)))

    return merged_matmul


@lru_cache(4096)
def plan_contraction(spec: str) -> Callable[[Any, Any], Any]:
    """Return the function (a, b) → the contraction, for NumPy."""
    return make_plan(np, spec)


def element_count(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
