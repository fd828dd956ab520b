"""Mutable arrays: `jax.new_ref`, `jax.ref`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numpy import refs as here
from .arrays import array_of, value_of
from .dtypes import cast

__all__ = ["Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]


class Ref(here.Ref):
    """`fx.Ref` with arrays for entries."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return array_of(super().__getitem__(value_of(key)))

    def __setitem__(self, key: Any, values: Any) -> None:
        super().__setitem__(value_of(key), cast(value_of(values), self.dtype))


def new_ref(init_val: Any, **options: Any) -> Ref:
    """Make a mutable array with the entries of one."""
    value = here.new_ref(value_of(array_of(init_val)))
    return Ref(value[...])


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Make a mutable array of a shape and dtype, whose entries are zero until they are written."""
    return new_ref(np.zeros(ty.shape, ty.dtype))


def free_ref(ref: Ref) -> tuple[()]:
    """End a mutable array, which must not be used any more."""
    ref.end()
    return ()


def freeze(ref: Ref) -> Any:
    """Return the entries of a mutable array, which must not be used any more."""
    return array_of(here.freeze(ref))


def get(ref: Ref, idx: Any = ...) -> Any:
    """Return entries."""
    return ref[idx]


def set(ref: Ref, idx: Any, value: Any) -> None:
    """Replace entries."""
    ref[idx] = value


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add to entries."""
    ref[idx] += x


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Replace entries, and return those that were there."""
    before = ref[idx]
    ref[idx] = value
    return before
