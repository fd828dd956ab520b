"""`fxgrad.typing`: words for annotations, by the names of jax.typing.

`fx.Array` is the class of arrays and traced values; what functions take is more.
"""

from .core.typing import ArrayLike
from .core.typing import DType as DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
