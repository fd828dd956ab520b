"""`jax.image`: resizing by separable kernels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...core.errors import StructureError
from .arrays import array_of, convert, value_of
from .dtypes import result_type

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(Enum):
    """The kernels by which an image is resized."""

    NEAREST, LINEAR, LANCZOS3, LANCZOS5, CUBIC = range(5)

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name.

        Raises:
            StructureError: no method has this name.
        """
        found = ResizeMethod.__members__.get(NAMES.get(s, s).upper())
        if found is None:
            raise StructureError(f'Unknown resize method "{s}"', hint=f"one of {[*REACH, 'nearest']}")
        return found


REACH = {"linear": 1.0, "cubic": 2.0, "lanczos3": 3.0, "lanczos5": 5.0}
TINY = 1000 * float(np.finfo(np.float32).eps)  # of sums of weights
NAMES = {
    "bilinear": "linear",
    "trilinear": "linear",
    "triangle": "linear",
    "bicubic": "cubic",
    "tricubic": "cubic",
}


def kernel_at(method: str, x: Any) -> Any:
    """Return the values of a kernel at distances ≥ 0."""
    if method == "linear":
        return fnp.maximum(0, 1 - x)
    if method == "cubic":  # Keys, with a = −½
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        return fnp.where(x < 1, near, fnp.where(x < 2, far, 0))
    reach = REACH[method]
    return fnp.where(x < reach, fnp.sinc(x) * fnp.sinc(x / reach), 0)


def weights_of(size: int, new_size: int, ratio: Any, shift: Any, method: str, antialias: bool) -> Any:
    """Return the matrix that resizes one axis: entry i of the result lies at (i − shift + ½)·ratio − ½ of what is
    resized."""
    width = fnp.maximum(ratio, 1.0) if antialias else 1.0
    centers = (np.arange(new_size) - shift + 0.5) * ratio - 0.5
    weights = kernel_at(method, fnp.abs(centers[None, :] - np.arange(size)[:, None]) / width)
    total = weights.sum(axis=0)
    weights = fnp.where(fnp.abs(total) > TINY, weights / fnp.where(total == 0, 1, total), 0)
    inside = (centers >= -0.5) & (centers <= size - 0.5)
    return fnp.where(inside, weights, 0)


def apply_weights(value: Any, axis: int, weights: Any) -> Any:
    """Return an image, resized along one axis."""
    return fnp.moveaxis(fnp.tensordot(value, weights.astype(value.dtype), axes=(axis, 0)), -1, axis)


def inexact(value: Any) -> Any:
    """Return an image of numbers that have fractions."""
    return value.astype(result_type(value, 1.0))


def name_of(method: Any) -> str:
    """Return the name of a method in the table of kernels."""
    return (method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)).name.lower()


def resize(image: Any, shape: Any, method: Any, antialias: bool = True, precision: Any = None) -> Any:
    """Return an image in another size: "nearest", "linear", "cubic", "lanczos3" or "lanczos5"."""
    value, shape, method = value_of(image), tuple(shape), name_of(method)
    if method != "nearest":
        value = inexact(value)
    dtype = value.dtype
    for axis, (size, new_size) in enumerate(zip(value.shape, shape, strict=True)):
        if size == new_size:
            continue
        if method == "nearest":
            places = np.floor((np.arange(new_size) + 0.5) * size / new_size).astype(int)
            value = fnp.take(value, places, axis)
        else:
            weights = weights_of(size, new_size, size / new_size, 0.0, method, antialias)
            value = apply_weights(value, axis, weights)
    return array_of(value) if value.dtype == dtype else convert(value, dtype)


def scale_and_translate(
    image: Any, shape: Any, spatial_dims: Sequence[int], scale: Any, translation: Any, method: Any,
    antialias: bool = True, precision: Any = None,
) -> Any:  # fmt: skip
    """Return an image in another size, scaled and moved along some axes; entries from beyond its edges are 0.

    Raises:
        StructureError: the method is "nearest".
    """
    value, shape, method = inexact(value_of(image)), tuple(shape), name_of(method)
    if method == "nearest":
        raise StructureError("scale_and_translate: nearest entries are not interpolated", hint="resize")
    scale, translation = fnp.asarray(value_of(scale)), fnp.asarray(value_of(translation))
    for i, axis in enumerate(spatial_dims):
        weights = weights_of(
            value.shape[axis], shape[axis], 1.0 / scale[i], translation[i], method, antialias
        )
        value = apply_weights(value, axis, weights)
    return array_of(value)
