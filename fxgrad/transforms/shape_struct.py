"""ShapeDtypeStruct, an array without data, and `typeof`, the aval of a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.errors import DTypeError
from ..core.interpreter import VALUES, api_boundary
from ..core.references import is_reference
from ..core.shapes import as_dtype, as_shape
from ..core.surface import is_object

if TYPE_CHECKING:
    from ..core.aval import Aval
    from ..core.typing import ArrayLike


DATA = ("__array__", "__array_interface__", "__dlpack__", "__fxgrad_value__", "__cuda_array_interface__")


class ShapeDtypeStruct:
    """A shape and a dtype: an array without data, as `eval_shape` returns it and staging accepts it.

    Args:
        shape: the sizes of the axes.
        dtype: what NumPy takes for a dtype.

    Raises:
        DTypeError: there is no dtype. It is a TypeError.
        ShapeError: the shape is no sequence of integers.

    >>> fx.ShapeDtypeStruct((3,), float)
    ShapeDtypeStruct(shape=(3,), dtype=float64)
    """

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @api_boundary
    def __init__(self, shape: Sequence[int], dtype: Any):
        if dtype is None:
            raise DTypeError(
                "ShapeDtypeStruct: dtype is None", hint="float, say, or that of an array: x.dtype"
            )
        self.shape, self.dtype = (
            as_shape(shape, "ShapeDtypeStruct", or_size=False),
            as_dtype(dtype, "ShapeDtypeStruct"),
        )

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @classmethod
    def like(cls, x: ArrayLike) -> ShapeDtypeStruct:
        """Return the shape and dtype of an array, a number, or what has both.

        >>> fx.ShapeDtypeStruct.like([1.0, 2.0])
        ShapeDtypeStruct(shape=(2,), dtype=float64)
        """
        aval = typeof(x)
        return cls(aval.shape, aval.dtype)

    def update(self, *, shape: Sequence[int] | None = None, dtype: Any = None) -> ShapeDtypeStruct:
        """Return the same with another shape or dtype."""
        return ShapeDtypeStruct(
            self.shape if shape is None else shape, self.dtype if dtype is None else dtype
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


def lacks_data(value: Any) -> bool:
    """Whether a value has a shape and a dtype and no data: a ShapeDtypeStruct, ours or another library's."""
    if type(value) in VALUES or is_reference(value):
        return False
    return hasattr(value, "shape") and hasattr(value, "dtype") and not any(hasattr(value, p) for p in DATA)


@api_boundary
def typeof(x: ArrayLike) -> Aval:
    """Return the abstract value of an argument: its shape and dtype, and whether it is a Python number, which takes the
    precision of the arrays that it meets.

    Args:
        x: an array, a number, a traced value, or what has a shape and a dtype.

    >>> fx.typeof(1.0), fx.typeof([1, 2])
    (f64*[], i64[2])
    """
    described = not is_object(x) and hasattr(x, "shape") and hasattr(x, "dtype")
    return aval_of(x if described else as_value(x))
