"""Taylor mode, by the name that it has in JAX."""

from ..transforms.jet import jet

__all__ = ["jet"]
