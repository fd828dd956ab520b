"""Taylor mode, under JAX's module name."""

from ..transforms.jet import jet

__all__ = ["jet"]
