"""`fxgrad.flatten_util`: pytrees as vectors, under JAX's module name; `fx.tree` has the same functions."""

from .tree import ravel_pytree

__all__ = ["ravel_pytree"]
