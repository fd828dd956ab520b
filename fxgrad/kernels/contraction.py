"""Kernels of `contract`: a specification is planned once, as one BLAS matmul between transposed views."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.aval import check_kind
from ..core.costs import OUTER_ENTRIES
from .registry import native_function

NUMBERS = frozenset("biufc")
LONG = 64  # entries of a row from which on it does not matter that others are longer


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


def make_plan(xp: Any, spec: str) -> Callable[[Any, Any], Any]:
    """Return the function (a, b) → the contraction.

    Both operands are permuted to (shared axes, own axes, summed axes) or its mirror image, groups of several
    axes are merged, `matmul` does the sum, and the result is permuted to the order asked for.
    """
    left, right, out = parse_spec(spec)
    shared = "".join(c for c in out if c in left and c in right)
    summed = "".join(c for c in left if c in right and c not in out)
    own_left = "".join(c for c in out if c in left and c not in right)
    own_right = "".join(c for c in out if c in right and c not in left)
    order_left, order_right = (
        permutation(left, shared + own_left + summed),
        permutation(right, shared + summed + own_right),
    )
    order_out = permutation(shared + own_left + own_right, out)
    identity = order_out == tuple(range(len(out)))
    transpose = getattr(xp, "permute_dims", None) or xp.transpose

    def arrange(x: Any, order: tuple[int, ...]) -> Any:
        return x if order == tuple(range(len(order))) else transpose(x, order)

    def widen(contraction: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Compute in float32 for bfloat16, which has no matmul, and round once."""

        def run(a: Any, b: Any) -> Any:
            if xp is np and not (a.dtype.kind in NUMBERS and b.dtype.kind in NUMBERS):
                for x in (a, b):
                    check_kind(x.dtype, "contract: an operand")
                dtype = np.promote_types(a.dtype, b.dtype)
                wide = [x.astype(np.float32) if x.dtype.kind == "V" else x for x in (a, b)]
                return contraction(*wide).astype(dtype)
            return contraction(a, b)

        return run

    if not summed:
        k, is_pair = len(shared), bool(own_left and own_right)
        mirror = permutation(shared + own_right + own_left, out)
        is_mirrored = mirror == tuple(range(len(out)))

        def outer_product(a: Any, b: Any) -> Any:
            a, b, order = arrange(a, order_left), arrange(b, order_right), order_out
            if is_pair:  # the order that is asked for, unless its rows are short
                m, n = a.shape[-1], b.shape[-1]
                if m >= min(LONG, n) if is_mirrored else n < min(LONG, m):
                    a, b, order = b, a, mirror
            y = multiply_outer(xp, a, b, k)
            return y if order == tuple(range(len(out))) else transpose(y, order)

        return outer_product

    order = dot_order(spec)
    if order is not None and xp is np:
        flip_first, flip_second, swapped = order
        if swapped:
            return widen(lambda a, b: (b.T if flip_first else b).dot(a.T if flip_second else a))
        return widen(lambda a, b: (a.T if flip_first else a).dot(b.T if flip_second else b))
    if order is not None:
        if identity:
            return lambda a, b: xp.matmul(arrange(a, order_left), arrange(b, order_right))
        order_left, order_right = permutation(left, summed + own_left), permutation(right, own_right + summed)
        return lambda a, b: xp.matmul(arrange(b, order_right), arrange(a, order_left))

    if xp is np and left == right == summed + shared:  # one number for each place of the last axes

        def columnwise_dot(a: Any, b: Any) -> Any:
            rest = a.shape[len(summed) :]
            shape = (element_count(a.shape[: len(summed)]), element_count(rest))
            return np.einsum("ij,ij->j", a.reshape(shape), b.reshape(shape)).reshape(rest)

        order = permutation(shared, out)
        return widen(lambda a, b: arrange(columnwise_dot(a, b), order))

    if len(summed) == len(own_left) == len(own_right) == 1:
        return widen(
            lambda a, b: arrange(xp.matmul(arrange(a, order_left), arrange(b, order_right)), order_out)
        )

    flip_left, flip_right = left == summed + own_left, right == own_right + summed
    in_groups = {left, right} <= {
        own_left + summed,
        summed + own_left,
        own_right + summed,
        summed + own_right,
    }
    if xp is np and not shared and in_groups:
        # Axes are merged as they lie in memory, so that nothing is copied, and the matrices transposed.
        count = len(summed)

        def flat_dot(a: Any, b: Any) -> Any:
            rows = a.shape[count:] if flip_left else a.shape[: a.ndim - count]
            columns = b.shape[: b.ndim - count] if flip_right else b.shape[count:]
            m, n = element_count(rows), element_count(columns)
            inner = element_count(a.shape[:count] if flip_left else a.shape[a.ndim - count :])
            first = a.reshape(inner, m).T if flip_left else a.reshape(m, inner)
            second = b.reshape(n, inner).T if flip_right else b.reshape(inner, n)
            return arrange(first.dot(second).reshape(*rows, *columns), order_out)

        return widen(flat_dot)

    k, m = len(shared), len(own_left)

    def merged_matmul(a: Any, b: Any) -> Any:
        a, b = arrange(a, order_left), arrange(b, order_right)
        batch, rows, columns = a.shape[:k], a.shape[k : k + m], b.shape[k + len(summed) :]
        inner = element_count(a.shape[k + m :])
        product = xp.matmul(
            xp.reshape(a, (*batch, element_count(rows), inner)),
            xp.reshape(b, (*batch, inner, element_count(columns))),
        )
        return arrange(xp.reshape(product, (*batch, *rows, *columns)), order_out)

    return widen(merged_matmul)


@lru_cache(4096)
def plan_contraction(spec: str) -> Callable[[Any, Any], Any]:
    """Return the function (a, b) → the contraction, for NumPy."""
    return make_plan(np, spec)


def element_count(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
