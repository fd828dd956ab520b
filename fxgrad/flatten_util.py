"""`fxgrad.flatten_util`: pytrees as vectors, under JAX's module name; `fx.tree` has the same functions."""

from .core.face import show_public_names
from .tree import ravel_pytree

__all__ = ["ravel_pytree"]

show_public_names(__name__)
