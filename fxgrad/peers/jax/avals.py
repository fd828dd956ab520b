"""Shapes and dtypes as programs written for JAX describe them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.aval import Aval, aval_of, float0, is_differentiable
from ...transforms import shape_struct as here
from .dtypes import canonicalize_dtype
from .meshes import undivided


class ShapedArray(Aval):
    """A shape and a dtype, with JAX's signature."""

    __slots__ = ()

    def __init__(self, shape: Any, dtype: Any, weak_type: bool = False, **options: Any):
        super().__init__(tuple(shape), canonicalize_dtype(dtype), weak_type)

    weak_type = property(lambda self: self.weak, doc="Whether it is of a Python number.")
    sharding = property(lambda self: undivided(len(self.shape)), doc="How it lies on devices: whole.")
    vma = property(lambda self: frozenset(), doc="The axes of meshes along which it differs: none.")

    def __str__(self) -> str:
        return f"{'~' if self.weak else ''}{self.str_short()}"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' if self.weak else ''})"

    def update(self, **changes: Any) -> Any:
        """Return it with another shape, dtype or weakness."""
        weak = changes.get("weak_type", changes.get("weak", self.weak))
        return ShapedArray(changes.get("shape", self.shape), changes.get("dtype", self.dtype), weak)

    def to_tangent_aval(self) -> ShapedArray:
        """Return what tangents of such values are."""
        return ShapedArray(self.shape, self.dtype if is_differentiable(self.dtype) else float0)

    to_ct_aval = to_cotangent_aval = at_least_vspace = to_tangent_aval

    def str_short(self, short_dtypes: bool = False, **options: Any) -> str:
        """Return it in few letters."""
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def strip_weak_type(self) -> ShapedArray:
        """Return it as of an array."""
        return self.update(weak=False)


class ShapeDtypeStruct(here.ShapeDtypeStruct):
    """`fx.ShapeDtypeStruct` with JAX's signature."""

    __slots__ = ("sharding", "weak_type")

    def __init__(
        self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False, **options: Any
    ):
        super().__init__(shape, getattr(dtype, "dtype", dtype))
        self.dtype = canonicalize_dtype(self.dtype)
        self.sharding, self.weak_type = sharding, weak_type

    def __repr__(self) -> str:
        text = super().__repr__()
        return f"{text[:-1]}, weak_type=True)" if self.weak_type else text

    def placeholder(self) -> Any:
        """Return zeros of the shape and dtype, which take no memory."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the same with another shape, dtype or other part."""
        kept = {name: getattr(self, name) for name in ("shape", "dtype", "sharding", "weak_type")}
        return ShapeDtypeStruct(**(kept | changes))


def struct_of(leaf: Any) -> Any:
    """Return a leaf that this library describes by shape and dtype as JAX's."""
    return ShapeDtypeStruct(leaf.shape, leaf.dtype) if isinstance(leaf, here.ShapeDtypeStruct) else leaf


def shaped(aval: Any) -> ShapedArray:
    """Return an aval of this library, or anything with a shape and a dtype, as JAX's."""
    return (
        aval
        if type(aval) is ShapedArray
        else ShapedArray(aval.shape, aval.dtype, getattr(aval, "weak", False))
    )


def shaped_of(value: Any) -> ShapedArray:
    """Return the shape and dtype of a value."""
    return shaped(aval_of(getattr(value, "_fx_value", value)))
