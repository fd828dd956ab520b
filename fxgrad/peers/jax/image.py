"""`jax.image`: resizing by separable kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from .arrays import array_of, convert, value_of

__all__ = ["resize"]

REACH = {"linear": 1.0, "cubic": 2.0, "lanczos3": 3.0, "lanczos5": 5.0}
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
        return np.maximum(0, 1 - x)
    if method == "cubic":  # Keys, with a = −½
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        return np.where(x < 1, near, np.where(x < 2, far, 0))
    reach = REACH[method]
    return np.where(x < reach, np.sinc(x) * np.sinc(x / reach), 0)


def weights_of(size: int, new_size: int, method: str, antialias: bool) -> Any:
    """Return the matrix that resizes one axis."""
    ratio = size / new_size
    width = max(ratio, 1.0) if antialias else 1.0
    centers = (np.arange(new_size) + 0.5) * ratio - 0.5
    weights = kernel_at(method, np.abs(centers[None, :] - np.arange(size)[:, None]) / width)
    weights = weights / weights.sum(axis=0)
    inside = (centers >= -0.5) & (centers <= size - 0.5)
    return np.where(inside, weights, 0)


def resize(image: Any, shape: Any, method: str, antialias: bool = True, precision: Any = None) -> Any:
    """Return an image in another size: "nearest", "linear", "cubic", "lanczos3" or "lanczos5"."""
    value, shape = value_of(image), tuple(shape)
    method = NAMES.get(str(method), str(method))
    dtype = value.dtype
    for axis, (size, new_size) in enumerate(zip(value.shape, shape, strict=True)):
        if size == new_size:
            continue
        if method == "nearest":
            places = np.floor((np.arange(new_size) + 0.5) * size / new_size).astype(int)
            value = fnp.take(value, places, axis)
        else:
            weights = weights_of(size, new_size, method, antialias).astype(dtype)
            value = fnp.moveaxis(fnp.tensordot(value, weights, axes=(axis, 0)), -1, axis)
    return array_of(value) if value.dtype == dtype else convert(value, dtype)
