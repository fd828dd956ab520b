"""`jax.scipy.ndimage`: interpolation beyond the edges as JAX has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import numpy as fnp
from ...scipy import ndimage
from .arrays import value_of
from .lifting import lift

__all__ = ["map_coordinates"]

# JAX's names of modes that mean something else in SciPy.
MODES = {"constant": "grid-constant", "wrap": "grid-wrap"}


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Any:
    """Interpolate an array at coordinates, `fxgrad.scipy.ndimage.map_coordinates`: entries beyond the edges are `cval`
    for "constant", and those of copies of the array for "wrap"."""
    places = [value_of(c) for c in coordinates]
    places = fnp.stack(fnp.broadcast_arrays(*places))
    return interpolate(input, places, order=order, mode=MODES.get(mode, mode), cval=cval)


interpolate = lift(ndimage.map_coordinates)
