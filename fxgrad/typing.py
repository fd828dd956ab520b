"""`fxgrad.typing`: types for annotations, with the names of jax.typing.

`Array` is `fxgrad.Array`: arrays of NumPy and of other libraries, and traced values, also for `isinstance`. `ArrayLike`
is NumPy's, what becomes an array: also numbers, and nested sequences of them. `DTypeLike` is NumPy's, what `np.dtype`
takes. `PyTree` stands for arrays in nested containers; since a class of the user's own may be one, it is any type. A
function that returns a pytree like its argument says so by a TypeVar.

>>> fx.typing.Array is fx.Array
True
"""

from numpy.typing import ArrayLike, DTypeLike

from .core.array_type import Array
from .core.face import show_public_names
from .core.typing import PyTree

__all__ = ["Array", "ArrayLike", "DTypeLike", "PyTree"]

show_public_names(__name__)
