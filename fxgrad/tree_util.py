"""`fxgrad.tree_util`: `fxgrad.tree` under the name that it has in JAX."""

from . import tree
from .tree import *  # noqa: F403

__all__ = tree.__all__
