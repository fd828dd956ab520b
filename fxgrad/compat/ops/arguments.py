"""The forms in which torch takes dimensions, shapes and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from operator import index
from typing import Any

from .._core.error_messages import dimension_error
from .._declare.spaces import expose
from ..errors import ArgumentError, TensorError


def as_whole(x) -> int:
    """Convert a whole number of any kind to an int; floats are none, nor are truth values."""
    if isinstance(x, bool | float):
        raise ArgumentError(f"a dimension or size must be int, not {type(x).__name__}", hint=f"{int(x)}")
    return index(x)


def normalize_dim(dim, ndim: int) -> int:
    """Count a dimension from the front. A Tensor without any has one for this purpose."""
    place = as_whole(dim)
    size = max(ndim, 1)
    if not -size <= place < size:
        raise dimension_error(place, ndim)
    return place % size


def normalize_dims(dim, ndim: int) -> tuple[int, ...]:
    """Convert dimensions to non-negative numbers; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    if not isinstance(dim, tuple | list):
        dim = (dim,)
    found: list[int] = []
    for d in dim:
        place = normalize_dim(d, ndim)
        if place in found:
            raise TensorError(
                f"dim {place} appears multiple times in the list of dims",
                hint=f"dim={tuple(dict.fromkeys(d % max(ndim, 1) for d in dim))}",
            )
        found.append(place)
    return tuple(found) if ndim else ()


def diagonal_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """Count the two dimensions of matrices from the front."""
    a, b = normalize_dim(dim1, ndim), normalize_dim(dim2, ndim)
    if a == b:
        hint = f"dim1={a}, dim2={(a + 1) % ndim}" if ndim > 1 else "x.unsqueeze(0), a matrix of one row"
        raise TensorError(f"diagonal dimensions cannot be identical {dim1}, {dim2}", hint=hint)
    return a, b


def as_sizes(given) -> tuple[int, ...]:
    """Convert an integer or a sequence of integers to a tuple."""
    return tuple(map(as_whole, given)) if isinstance(given, tuple | list) else (as_whole(given),)


def dim_index(dim: int, entry) -> tuple[Any, ...]:
    """Make an index with an entry for one dimension, and full slices for the dimensions before it."""
    return (*(slice(None),) * dim, entry)


def infer_shape(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Replace the -1 in a shape of so many entries by the size that fits."""
    shape = as_sizes(shape)
    open_sizes, known = shape.count(-1), abs(prod(shape))
    if open_sizes > 1:
        raise TensorError(
            "only one dimension can be inferred",
            hint="leave one -1, and give the other sizes: x.reshape(x.shape[0], -1)",
        )
    if min(shape, default=0) < -1:
        raise TensorError(
            f"invalid shape dimension {min(shape)}",
            hint="sizes are 0 or more; one may be -1, for the size that fits",
        )
    if not open_sizes:
        fits = known == size
    elif known == size == 0:
        raise TensorError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous",
            hint="give every size, without -1",
        )
    else:
        fits = known > 0 and size % known == 0
    if not fits:
        raise TensorError(
            f"shape '{list(shape)}' is invalid for input of size {size}",
            hint=f"{size} entries have the shape {fitting_shape(shape, size)}, for one",
        )
    return tuple([size // known if n == -1 else n for n in shape]) if open_sizes else shape


def shape_hint(name: str, have: Sequence[int], wanted: Sequence[int]) -> str:
    """Return the hint for an argument of a wrong shape."""
    if prod(have) == prod(wanted):
        return f"{name}.reshape({list(wanted)})"
    aligned = zip(reversed(have), reversed(wanted))
    if len(have) <= len(wanted) and all(n in (1, m) for n, m in aligned):
        return f"{name}.expand({list(wanted)})"
    return f"{name} of shape {list(wanted)}, not {list(have)}"


def divisors(n: int) -> list[int]:
    """Return the numbers that divide n without remainder."""
    return [m for m in range(1, n + 1) if n % m == 0]


def place_hint(size: int, first: int | None = None) -> str:
    """Return the hint for a place out of range: the valid places, from `first` on (by default, from the end)."""
    return f"places are {-size if first is None else first} … {size - 1}" if size else "there are no entries"


def expansion_error(
    size: int, have: int, dim: int, shape: Sequence[int], given: Sequence[int]
) -> TensorError:
    """Return the error for a size that cannot become another by repetition."""
    return TensorError(
        f"The expanded size of the tensor ({size}) must match the existing size ({have}) at non-singleton dimension "
        f"{dim}.  Target sizes: {list(shape)}.  Tensor sizes: {list(given)}",
        hint="sizes of 1 expand: x.unsqueeze(dim) inserts one, x.repeat(…) makes copies of larger ones",
    )


def fitting_shape(shape: tuple[int, ...], size: int) -> list[int]:
    """Return a shape of so many entries: a given one with another size in one place, or else a row."""
    for i in reversed(range(len(shape))):
        others = prod(shape[:i] + shape[i + 1 :])
        if others > 0 and size % others == 0:
            return [*shape[:i], size // others, *shape[i + 1 :]]
    return [size]


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
