"""`fxgrad.flatten_util`: pytrees as vectors, where programs written for JAX look for it; `fx.tree` has it as well."""

from .tree import ravel_pytree

__all__ = ["ravel_pytree"]
