"""`fxgrad.typing`: types for annotations, with the names of jax.typing.

`fx.Array` is the class of arrays and traced values; functions accept more than that.
"""

from .core.typing import ArrayLike
from .core.typing import DType as DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
