"""Sparse values: entries and their indices. Backward sums them as gradients of tables of which few rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...extend import EVAL, Aval, Interpreter, Primitive, Tracer, aval_of, ops
from ..errors import NotSupportedError


class SparseValue(Tracer):
    """A value of this shape that is zero but at some places.

    Args:
        places: whole numbers (leading dimensions, number of places): where entries are. A place may occur several
            times, and has the sum of its entries then.
        entries: an array or traced value (number of places, *the other dimensions).
        shape: of the whole.
    """

    __slots__ = ("_aval", "entries", "places")

    def __init__(self, places: np.ndarray, entries: Any, shape: tuple[int, ...]):
        self.interpreter = SPARSE_LEVEL
        self.places, self.entries = places, entries
        self._aval = Aval(tuple(shape), aval_of(entries).dtype)

    aval = property(lambda self: self._aval)

    def densify(self) -> Any:
        """Return the value with all its zeros."""
        rank, free = len(self.places), len(self.shape) - len(self.places)
        if not rank:
            return ops.reduce_sum(self.entries, axes=(0,))
        index = (ops.ARRAY,) * rank + (slice(None, None, None),) * free
        return ops.scatter_add(self.entries, *self.places, index=index, shape=self.shape)


class SparseInterpreter(Interpreter):
    """The level of sparse values, which can be added."""

    __slots__ = ()
    name, programs = "sparse", "whole"
    permanent = True

    def __init__(self) -> None:
        self.outer, self.site = EVAL, None

    def process(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        if primitive.name != "add":
            raise NotSupportedError(
                f"Could not run 'aten::{primitive.name}' with arguments from the 'SparseCPU' backend.",
                hint="x.to_dense() has it, and x.values() for the entries alone",
            )
        a, b = args
        if isinstance(a, SparseValue) and isinstance(b, SparseValue) and len(a.places) == len(b.places):
            entries = ops.concatenate(a.entries, b.entries, axis=0)
            return SparseValue(np.concatenate([a.places, b.places], 1), entries, a.shape)
        return ops.add(*(x.densify() if isinstance(x, SparseValue) else x for x in args))


SPARSE_LEVEL = SparseInterpreter()
