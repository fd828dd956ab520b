"""`fxgrad.tree_util`: `fxgrad.tree` under JAX's name."""

from . import tree
from .core.face import show_public_names
from .tree import *  # noqa: F403

__all__ = tree.__all__

show_public_names(__name__)
