"""`jax.nn.initializers`, with the numbers of `jax.random`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import numpy as fnp
from ...core.errors import ShapeError
from . import random
from .arrays import Array
from .dtypes import canonicalize_dtype
from .lifting import lift

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip

Initializer = Callable[..., Any]
DEVIATION = 0.87962566103423978  # of normal numbers between −2 and 2
full, qr = lift(fnp.full), lift(fnp.linalg.qr)


def zeros(key: Any, shape: Any, dtype: Any = float, out_sharding: Any = None) -> Array:
    """Return zeros."""
    return full(shape, 0, dtype=dtype)


def ones(key: Any, shape: Any, dtype: Any = float, out_sharding: Any = None) -> Array:
    """Return ones."""
    return full(shape, 1, dtype=dtype)


def constant(value: Any, dtype: Any = float) -> Initializer:
    """Make an initializer of one value."""
    default = dtype
    return lambda key, shape, dtype=default, **_: full(shape, value, dtype=dtype)


def scaled(draw: Callable[..., Any], factor: Any, default: Any) -> Initializer:
    """Make an initializer that draws numbers and multiplies them."""

    def initialize(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
        dtype = canonicalize_dtype(default or float) if dtype is None else canonicalize_dtype(dtype)
        return draw(key, shape=tuple(shape), dtype=dtype) * dtype.type(factor)

    return initialize


def uniform(scale: Any = 0.01, dtype: Any = None) -> Initializer:
    """Make an initializer of numbers from 0 to `scale`."""
    return scaled(random.uniform, scale, dtype)


def normal(stddev: Any = 0.01, dtype: Any = None) -> Initializer:
    """Make an initializer of normal numbers."""
    return scaled(random.normal, stddev, dtype)


def truncated_normal(
    stddev: Any = 0.01, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Make an initializer of normal numbers between two bounds."""
    return scaled(partial(random.truncated_normal, lower=lower, upper=upper), stddev, dtype)


def variance_scaling(
    scale: Any, mode: str, distribution: str, in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (), dtype: Any = None,
) -> Initializer:  # fmt: skip
    """Make an initializer whose variance is `scale` over the number of inputs, outputs, or their mean."""
    default = dtype

    def initialize(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        sizes = [size_along(shape, axes) for axes in (in_axis, out_axis, batch_axis)]
        field = math.prod(shape) / math.prod(sizes)
        inward, outward = sizes[0] * field, sizes[1] * field
        counts = {"fan_in": inward, "fan_out": outward, "fan_avg": (inward + outward) / 2,
                  "fan_geo_avg": math.sqrt(inward * outward)}  # fmt: skip
        deviation = math.sqrt(scale / max(1.0, counts[mode]))
        if distribution == "truncated_normal":
            return truncated_normal(deviation / DEVIATION)(key, shape, dtype)
        if distribution == "normal":
            return normal(deviation)(key, shape, dtype)
        return scaled(partial(random.uniform, minval=-1), math.sqrt(3) * deviation, None)(key, shape, dtype)

    return initialize


def size_along(shape: Any, axes: int | Sequence[int]) -> int:
    """Return the number of entries along axes."""
    return math.prod(shape[axis] for axis in ((axes,) if isinstance(axes, int) else axes))


glorot_uniform = xavier_uniform = partial(variance_scaling, 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = partial(variance_scaling, 1.0, "fan_avg", "truncated_normal")
lecun_uniform = partial(variance_scaling, 1.0, "fan_in", "uniform")
lecun_normal = partial(variance_scaling, 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = partial(variance_scaling, 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = partial(variance_scaling, 2.0, "fan_in", "truncated_normal")


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Make an initializer of matrices with orthonormal rows or columns."""
    default = dtype

    def initialize(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        columns = shape[column_axis]
        q = random.orthogonal(key, math.prod(shape) // columns, (), dtype, columns)
        others = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        return lift(fnp.moveaxis)(q.reshape((*others, columns)), -1, column_axis) * scale

    return initialize


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Make an initializer of kernels of convolutions: an orthogonal matrix in the middle, and zeros around it."""
    default = dtype

    def initialize(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        if not 3 <= len(shape) <= 5 or shape[-1] < shape[-2]:
            raise ShapeError(
                f"delta_orthogonal: a kernel of shape {tuple(shape)}",
                hint="one to three axes of space, then inputs and outputs, of which there are no fewer",
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple([(n - 1) // 2 for n in shape[:-2]])
        return zeros(key, shape, matrix.dtype).at[middle].set(matrix)

    return initialize
