"""Taylor mode, under JAX's module name."""

from ..core.face import show_public_names
from ..transforms.jet import jet

__all__ = ["jet"]

show_public_names(__name__)
