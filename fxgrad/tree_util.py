"""`fxgrad.tree_util`: `fxgrad.tree` under JAX's name."""

from . import tree
from .tree import *  # noqa: F403

__all__ = tree.__all__
