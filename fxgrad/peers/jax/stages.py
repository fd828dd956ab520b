"""`jax.stages`: the stages of a jitted function before it runs, traced, lowered and compiled."""

from __future__ import annotations

from typing import Any

from ...core.surface import object_kinds, with_object_kinds
from ...transforms import lowered as here
from ...transforms.lowered import Compiled
from . import trees
from .avals import ShapeDtypeStruct
from .dtypes import canonicalize_dtype

__all__ = ["Compiled", "Lowered", "Wrapped"]


class Lowered(here.Lowered):
    """A function staged for arguments of one kind, which knows the trees of its arguments and results."""

    def __init__(self, lowered: here.Lowered):
        self.__dict__.update(lowered.__dict__)

    @property
    def in_tree(self) -> trees.PyTreeDef:
        """The structure of the arguments, (args, kwargs)."""
        kinds = object_kinds(self.structure)
        return trees.PyTreeDef(trees.in_order(with_object_kinds(self.structure, [None] * len(kinds))))

    @property
    def out_tree(self) -> trees.PyTreeDef:
        """The structure of the results."""
        return trees.PyTreeDef(self.entry.structure.treedef)

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the results."""
        avals = self.entry.graph.out_avals
        leaves = [ShapeDtypeStruct(a.shape, canonicalize_dtype(a.dtype), weak_type=a.weak) for a in avals]
        return self.out_tree.unflatten(leaves)


class WrappedKind(type):
    """The class of `Wrapped`, which says what `isinstance` means."""

    def __instancecheck__(cls, instance: object) -> bool:
        return callable(instance) and hasattr(instance, "lower")


class Wrapped(metaclass=WrappedKind):
    """The class of jitted functions, for `isinstance` and annotations."""
