"""The forms in which torch takes dimensions, shapes and sizes."""

from __future__ import annotations

from functools import wraps
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

from .._core.error_messages import dimension_error
from .._core.errors import TensorError
from .._declare.spaces import expose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def normalize_dim(dim, ndim: int) -> int:
    """Count a dimension from the front. A Tensor without any has one for this purpose."""
    place = index(dim)
    size = max(ndim, 1)
    if not -size <= place < size:
        raise dimension_error(place, ndim)
    return place % size


def normalize_dims(dim, ndim: int) -> tuple[int, ...]:
    """Count dimensions from the front; None and () stand for all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    if not isinstance(dim, tuple | list):
        dim = (dim,)
    found: list[int] = []
    for d in dim:
        place = normalize_dim(d, ndim)
        if place in found:
            raise TensorError(f"dim {place} appears multiple times in the list of dims")
        found.append(place)
    return tuple(found) if ndim else ()


def as_sizes(given) -> tuple[int, ...]:
    """Convert one integer, or a sequence of them, to a tuple."""
    return tuple(map(index, given)) if isinstance(given, tuple | list) else (index(given),)


def dim_index(dim: int, entry) -> tuple[Any, ...]:
    """Make the index with an entry for one dimension, and whole ones before it."""
    return (*(slice(None),) * dim, entry)


def infer_shape(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Replace the -1 in a shape of so many entries by the size that fits."""
    shape = as_sizes(shape)
    open_sizes, known = shape.count(-1), abs(prod(shape))
    if open_sizes > 1:
        raise TensorError("only one dimension can be inferred")
    if min(shape, default=0) < -1:
        raise TensorError(f"invalid shape dimension {min(shape)}")
    if not open_sizes:
        fits = known == size
    elif known == size == 0:
        raise TensorError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    else:
        fits = known > 0 and size % known == 0
    if not fits:
        raise TensorError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return tuple([size // known if n == -1 else n for n in shape]) if open_sizes else shape


def add_variadic_method(function: Callable[..., Any], views: bool = False) -> Callable[..., Any]:
    """Expose a method that takes the second parameter of `function` as several arguments, too: x.permute(1, 0).
    `views` is as in `expose`."""

    @wraps(function)
    def method(self, *sizes, **options) -> Any:
        if options and not sizes:
            return function(self, **options)
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = tuple(sizes[0])
        return function(self, sizes, **options)

    return expose("method", function.__name__, views=views)(method)
