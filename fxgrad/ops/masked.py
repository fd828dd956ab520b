"""Masked cotangents, which replace the double `where` that users write by hand.

`where`, slices, gathers, `max` and updates pass a cotangent only to some entries of an operand. Padding the rest with
zeros gives NaN as soon as a later partial derivative is infinite there (0·∞). Instead they return `Masked(value,
support)`: entries outside the support are structurally zero, whatever `value` holds, and stay so through every
elementwise rule. A selection turns them into exact zeros before a sum, a contraction or the input. A true 0·∞ inside
the support stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import namespace_of
from ..core.aval import aval_of
from ..core.costs import CALLED_ENTRIES
from ..core.interpreter import Tracer
from ..kernels.selection import zero_outside
from .vocabulary import ops


class Support:
    """A boolean array computed when first needed: `combine(*arrays of the parents)`.

    Most supports are never needed (a slice straight to the input, say), so they cost one small object. Forced
    iteratively, since a chain of them is as long as the program.
    """

    __slots__ = ("array", "combine", "parents")

    def __init__(self, combine: Callable[..., Any] | None, *parents: Support, array: Any = None):
        self.combine, self.parents, self.array = combine, parents, array

    def force(self) -> Any:
        """Compute the array."""
        stack: list[Support] = [self]
        while stack:
            support = stack[-1]
            if support.array is None:
                pending = [p for p in support.parents if p.array is None]
                if pending:
                    stack.extend(pending)
                    continue
                support.array = support.combine(*[p.array for p in support.parents])  # type: ignore[misc]
                support.combine, support.parents = None, ()
            stack.pop()
        return self.array


def ones_like(ct: Any, *places: Any) -> Any:
    """Return ones in the shape of a cotangent, for the support of one that rules derive from it by places.

    They are an array also where the cotangent is traced, if the places are known: so the support is computed once,
    while the program is staged. A large one is computed in every call, since what is staged keeps its constants.
    """
    aval = aval_of(ct)
    is_known = all(type(v) is int or namespace_of(v) is np for v in places)
    if is_known and aval.size <= CALLED_ENTRIES and (isinstance(ct, Tracer) or namespace_of(ct) is np):
        return np.ones(aval.shape)
    return ops.full_like(ct, value=1)


class Masked:
    """A cotangent that is zero outside `support`; `clean` says that `value` holds exact zeros there already."""

    __slots__ = ("clean", "support", "value")

    def __init__(self, value: Any, support: Any, clean: bool = False):
        self.value, self.clean = value, clean
        self.support = support if type(support) is Support else Support(None, array=support)

    def densify(self) -> Any:
        """Return the cotangent with its structural zeros as numbers."""
        if self.clean:
            return self.value
        mask = self.support.force()
        found = zero_outside(mask, self.value)
        return ops.where(mask, self.value, 0) if found is None else found


def densify(ct: Any) -> Any:
    """Return a cotangent as an array."""
    return ct.densify() if type(ct) is Masked else ct


def add_cotangents(a: Any, b: Any) -> Any:
    """Add two cotangents of one value; the sum is masked if both are."""
    if type(a) is Masked and type(b) is Masked:
        return Masked(ops.add(a.densify(), b.densify()), Support(ops.logical_or, a.support, b.support), True)
    if type(a) is Masked:
        a = a.densify()
    elif type(b) is Masked:
        b = b.densify()
    return ops.add(a, b)


def restore_support(result: Any, ct: Masked, finite: bool) -> Masked:
    """Give what an elementwise rule made of `ct.value` the support of `ct` again.

    `finite`: the rule's partial derivatives are finite everywhere, so that clean zeros stay zeros.
    """
    if type(result) is Masked and ct.clean and finite:  # its own support is enough to make it clean
        return Masked(result.densify(), Support(ops.logical_and, result.support, ct.support), True)
    if type(result) is Masked:
        return Masked(result.value, Support(ops.logical_and, result.support, ct.support))
    return Masked(result, ct.support, ct.clean and finite)
