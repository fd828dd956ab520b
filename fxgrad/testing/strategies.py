"""Strategies for `hypothesis`: shapes, dtypes, axes, arrays and pytrees as array programs take them.

    from hypothesis import given
    from fxgrad.testing import strategies

    @given(strategies.arrays(strategies.shapes()))
    def test_my_function(x): ...

Hypothesis is loaded when a strategy is first made: pip install 'fxgrad[testing]'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.face import show_public_names
from ..core.interpreter import api_boundary

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["arrays", "axes", "broadcastable", "dtypes", "pytrees", "shapes"]

FLOATING = "float32", "float64", "complex64", "complex128"
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", *FLOATING)


@api_boundary
def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> SearchStrategy[tuple]:
    """Shapes of arrays, with empty ones."""
    from hypothesis.extra import numpy

    return numpy.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side)


@api_boundary
def dtypes(names: Sequence[str] = FLOATING) -> SearchStrategy[np.dtype]:
    """Dtypes; by default those that carry derivatives. `strategies.DTYPES` are all that are of use."""
    from hypothesis import strategies

    return strategies.sampled_from([np.dtype(name) for name in names])


@api_boundary
def arrays(
    shape: tuple[int, ...] | SearchStrategy[tuple], dtype: Any = np.float64, unique: bool = True
) -> SearchStrategy[np.ndarray]:
    """Arrays of a shape (or of shapes from a strategy) and a dtype.

    Entries of floating point are multiples of 1/64 between −3 and 3, moved by 1/256: none is at a kink of a common
    function; with `unique` no two are equal, so that extrema have no ties. Complex ones have such parts.
    """
    from hypothesis import strategies
    from hypothesis.extra import numpy

    dtype = np.dtype(dtype)
    entries = strategies.integers(-192, 192).map(lambda k: k / 64 + 1 / 256)
    if dtype.kind == "c":
        entries = strategies.builds(complex, entries, entries)
    elif dtype.kind not in "f":
        entries, unique = numpy.from_dtype(dtype), False
    return numpy.arrays(dtype, shape, elements=entries, unique=unique)


@api_boundary
def axes(shape: Sequence[int]) -> SearchStrategy[int | tuple[int, ...] | None]:
    """Draw the argument `axis` of a reduction of an array of this shape: None, an integer, or a tuple, maybe
    negative."""
    from hypothesis import strategies
    from hypothesis.extra import numpy

    several = strategies.none() | numpy.valid_tuple_axes(len(shape), min_size=0)
    return several | strategies.integers(-len(shape), len(shape) - 1) if len(shape) else several


@api_boundary
def broadcastable(count: int = 2, max_dims: int = 3, max_side: int = 3) -> SearchStrategy[tuple]:
    """Draw so many shapes that broadcast together."""
    from hypothesis.extra import numpy

    found = numpy.mutually_broadcastable_shapes(num_shapes=count, max_dims=max_dims, max_side=max_side)
    return found.map(lambda shapes: tuple(shapes.input_shapes))


@api_boundary
def pytrees(leaves: SearchStrategy[Any], max_leaves: int = 5) -> SearchStrategy[Any]:
    """Nested lists, tuples and dicts of such leaves, and of None; or a single leaf."""
    from hypothesis import strategies

    def containers(inside: SearchStrategy[Any]) -> SearchStrategy[Any]:
        few = strategies.lists(inside, max_size=3)
        return (
            few | few.map(tuple) | strategies.dictionaries(strategies.sampled_from("abc"), inside, max_size=3)
        )

    return strategies.recursive(leaves | strategies.none(), containers, max_leaves=max_leaves)


show_public_names(__name__)
