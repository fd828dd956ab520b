"""`jax.jit`: what the door adds to `fx.jit` is decided when a function is staged, and not at every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ...core.cache import Cache
from ...core.fp_errors import ERROR_STATE, IGNORE
from ...core.pytree import LEAF
from ...core.surface import make_object, object_kinds, with_object_kinds
from ...transforms import jit as jitting
from . import trees
from .arrays import Array, array_of
from .dtypes import NARROW, is_wide
from .programs import on_arrays
from .sharding import place_all

SET_STATE, RESET_STATE = ERROR_STATE.set, ERROR_STATE.reset
CALL = jitting.jit.__call__


class Results:
    """How the flat results of a program are put together: values as arrays, dicts in the order of their keys."""

    __slots__ = ("makers", "treedef")

    def __init__(self, structure: Any):
        kinds = object_kinds(structure)
        self.treedef = trees.in_order(with_object_kinds(structure, [None] * len(kinds)))
        self.makers = [
            array_of if kind in (None, Array) or kind._fx_is_box else partial(make_object, kind)
            for kind in kinds
        ]

    def unflatten(self, values: Iterable[Any]) -> Any:
        """Return the result for flat values."""
        found = [make(v) for make, v in zip(self.makers, values)]
        return found[0] if self.treedef is LEAF else self.treedef.unflatten(found)


class Placed:
    """Results that lie by shardings."""

    def __init__(self, results: Results, shardings: Any):
        self.results, self.shardings = results, shardings

    def unflatten(self, values: Iterable[Any]) -> Any:
        """Return the result for flat values."""
        return place_all(self.results.unflatten(values), self.shardings, "jit: out_shardings")


class Jitted(jitting.jit):
    """A compiled function of arrays, whose results may be placed."""

    def __init__(self, fun: Callable[..., Any], out_shardings: Any = None, **options: Any):
        super().__init__(on_arrays(fun), **options)
        self.out_shardings = out_shardings
        self.is_wide, self.other_cache = is_wide(), Cache(256)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_wide is bool(NARROW):  # `jax_enable_x64` has changed, on which the code depends
            self.is_wide, self.last = is_wide(), None
            self.cache, self.other_cache = self.other_cache, self.cache
        token = SET_STATE(IGNORE)
        try:
            return CALL(self, *args, **kwargs)
        finally:
            RESET_STATE(token)

    def compile(self, *args: Any) -> Any:
        """Stage and compile the function."""
        entry = super().compile(*args)
        results = Results(entry.structure)
        entry.structure = results if self.out_shardings is None else Placed(results, self.out_shardings)
        return entry
