"""`jax.experimental.hijax`: classes that packages derive theirs from. Values of such types of their own are not here:
transforms refuse them, as they refuse any object that is no array."""

from __future__ import annotations

from typing import Any

from .avals import ShapedArray
from .core import AbstractValue
from .interpreters.ad import Zero, instantiate_zeros, is_undefined_primal
from .primitives import Primitive

__all__ = [
    "AbstractValue", "HiPrimitive", "HiType", "MutableHiType", "ShapedArray", "VJPHiPrimitive", "Zero", "aval_method",
    "aval_property", "control_flow_allowed_effects", "instantiate_zeros", "is_undefined_primal", "register_hitype",
]  # fmt: skip


class HiPrimitive(Primitive):
    """The base of primitives on values of such types."""


VJPHiPrimitive = HiPrimitive


class HiType:
    """The base of descriptions of such types."""

    __slots__ = ()


class MutableHiType(HiType):
    """The base of descriptions of those that can be written into."""

    __slots__ = ()


class aval_property:
    """A property of an aval, which values have as well."""

    def __init__(self, fget: Any):
        self.fget = fget


class aval_method(aval_property):
    """A method of an aval, which values have as well."""


class EffectTypes(set):
    """A set of classes of effects."""

    def add_type(self, effect_type: type) -> None:
        """Add a class."""
        self.add(effect_type)


control_flow_allowed_effects = EffectTypes()


def register_hitype(val_cls: type, typeof_fn: Any) -> None:
    """Take note of nothing: see the module."""
