"""`Array`, the class of arrays and traced values for `isinstance` and annotations, and `block_until_ready`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import pytree
from .arrays import cuda_library, namespace_of
from .interpreter import Tracer
from .surface import is_box

T = TypeVar("T")


class ArrayMeta(type):
    """The metaclass of `Array`, which recognizes instances by their type."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, np.ndarray | np.generic | Tracer) or is_box(instance):
            return True
        return not isinstance(instance, type) and namespace_of(instance) is not None


if TYPE_CHECKING:
    from .typing import Array as Array
else:

    class Array(metaclass=ArrayMeta):
        """The class of arrays and numbers of NumPy, of arrays of other libraries such as CuPy, and of traced values,
        for `isinstance` and annotations. fxgrad has no array class of its own: type checkers see `np.ndarray`.
        `fxgrad.numpy.ndarray` is another name for it, which programs written for JAX use.

        Raises:
            TypeError: when called: `fxgrad.numpy.array` makes arrays.

        >>> isinstance(np.ones(2), fx.Array), isinstance([1.0], fx.Array)
        (True, False)
        >>> float(fx.grad(lambda x: x * isinstance(x, fx.Array))(2.0))
        1.0
        """

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            raise TypeError("fx.Array is for isinstance and annotations; fxgrad.numpy.array makes arrays")


def block_until_ready(x: T) -> T:
    """Return arrays, or a pytree of them, once their computation has finished: on a CPU immediately.

    >>> fx.block_until_ready(2.0)
    2.0
    """
    for leaf in pytree.leaves(x):
        if cuda_library([leaf]) is not None:
            leaf.device.synchronize()
    return x
