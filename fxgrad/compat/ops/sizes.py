"""Shapes and sizes as torch lets one write them."""

from __future__ import annotations

from functools import wraps
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

from .._core.errors import TensorError
from .._declare.operation import exposed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def as_sizes(given: Any) -> tuple[int, ...]:
    """One integer or several as a tuple."""
    return tuple(map(index, given)) if isinstance(given, tuple | list) else (index(given),)


def at(dim: int, entry: Any) -> tuple[Any, ...]:
    """The index of one dimension."""
    return (*(slice(None),) * dim, entry)


def inferred(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """A shape of so many entries with its -1 worked out."""
    shape = as_sizes(shape)
    known = prod(n for n in shape if n != -1)
    if shape.count(-1) > 1:
        raise TensorError("only one dimension can be inferred")
    if min(shape, default=0) < -1:
        raise TensorError(f"invalid shape dimension {min(shape)}")
    if -1 not in shape:
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
    return tuple([size // known if n == -1 else n for n in shape])


def variadic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method that takes the second parameter of `function` as several arguments, too: x.permute(1, 0)."""

    @wraps(function)
    def method(self: Any, *sizes: Any, **options: Any) -> Any:
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = (tuple(sizes[0]),)
        elif sizes or not options:
            sizes = (sizes,)
        return function(self, *sizes, **options)

    return exposed("method", function.__name__)(method)
