"""`fxgrad.nn.initializers`: initializers of parameters, with the names of jax.nn.initializers.

An initializer is a function (key, shape, dtype) → array; most functions here return one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import numpy as fnp
from .. import random
from ..core.common_errors import check_option
from ..core.errors import ShapeError
from ..core.face import show_public_names
from ..core.interpreter import api_boundary
from ..core.typing import Array, ArrayLike, DType, Key, Shape
from ..numpy.composite import cast

Initializer: TypeAlias = Callable[..., Any]
Maker: TypeAlias = Callable[..., Initializer]
Axes = int | Sequence[int]


@api_boundary
def zeros(key: Key, shape: Shape, dtype: DType = None) -> Array:
    """An array of zeros; the key is not used.

    Args:
        key: any key.
        shape: the shape of the result.
        dtype: its dtype, float64 by default.

    >>> fx.nn.initializers.zeros(fx.random.key(0), (2,))
    array([0., 0.])
    """
    return np.zeros(shape, dtype or float)


@api_boundary
def ones(key: Key, shape: Shape, dtype: DType = None) -> Array:
    """An array of ones; the key is not used.

    Args:
        key: any key.
        shape: the shape of the result.
        dtype: its dtype, float64 by default.

    >>> fx.nn.initializers.ones(fx.random.key(0), (2,))
    array([1., 1.])
    """
    return np.ones(shape, dtype or float)


@api_boundary
def constant(value: ArrayLike, dtype: DType = None) -> Initializer:
    """Make an initializer of arrays of one value, or of one that broadcasts to their shape.

    Args:
        value: a number or an array.
        dtype: the default of the initializer's own argument, float64 by default.

    >>> fx.nn.initializers.constant(0.5)(fx.random.key(0), (2,))
    array([0.5, 0.5])
    """

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        return fnp.full(shape, value, dtype or float)

    return initialize


@api_boundary
def uniform(scale: Any = 1e-2, dtype: DType = None) -> Initializer:
    """Make an initializer of numbers uniform in [0, scale).

    Args:
        scale: the upper bound.
        dtype: the default of the initializer's own argument: a real floating dtype, float64 by default.

    >>> fx.nn.initializers.uniform(0.1)(fx.random.key(0), (3,)).round(3)
    array([0.001, 0.024, 0.011])
    """

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        return scaled(random.uniform(key, shape, dtype), scale)

    return initialize


@api_boundary
def normal(stddev: Any = 1e-2, dtype: DType = None) -> Initializer:
    """Make an initializer of normal numbers of mean 0.

    Args:
        stddev: their standard deviation.
        dtype: the default of the initializer's own argument: a floating or complex dtype, float64 by default.

    >>> fx.nn.initializers.normal(0.1)(fx.random.key(0), (3, 4)).shape
    (3, 4)
    """

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        return scaled(random.normal(key, shape, dtype), stddev)

    return initialize


@api_boundary
def truncated_normal(
    stddev: Any = 1e-2, dtype: DType = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Make an initializer of normal numbers, of this standard deviation, cut at two bounds, which are in its units.

    Args:
        stddev: the unit of the numbers, which is their standard deviation before they are cut.
        dtype: the default of the initializer's own argument: a real floating dtype, float64 by default.
        lower, upper: the bounds, in units of `stddev`.

    >>> x = fx.nn.initializers.truncated_normal(0.1)(fx.random.key(0), (1000,))
    >>> bool(abs(x).max() <= 0.2)
    True
    """

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        return scaled(random.truncated_normal(key, lower, upper, shape, dtype), stddev)

    return initialize


def scaled(x: Any, factor: Any) -> Any:
    """Multiply and keep the dtype."""
    return cast(x * factor, x.dtype)


def as_axes(axes: Axes, shape: Sequence[int]) -> list[int]:
    """Return one axis or several as a list of those that are counted from the front."""
    return [axis % len(shape) for axis in ([axes] if isinstance(axes, int) else axes)]


def fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """Return how many inputs an output has, and how many outputs an input: axes that are neither (of a kernel, say)
    count for both, and those of a batch for none."""
    if len(shape) < 2:
        raise ShapeError(
            f"the numbers of inputs and outputs of an array of shape {tuple(shape)} are not known",
            hint="initialize arrays with two axes or more; zeros, normal(…) or constant(…) have no fan",
        )
    sizes = [math.prod(shape[i] for i in as_axes(axes, shape)) for axes in (in_axis, out_axis, batch_axis)]
    rest = math.prod(shape) / math.prod(sizes) if math.prod(sizes) else 0
    return sizes[0] * rest, sizes[1] * rest


MODES = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: math.sqrt(fan_in * fan_out),
}
DISTRIBUTIONS = ("truncated_normal", "normal", "uniform")
CUT_STDDEV = 0.87962566103423978  # of the normal distribution between -2 and 2


@api_boundary
def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DType = None,
) -> Initializer:
    """Make an initializer of numbers of mean 0 and variance scale/fan.

    Source: K. He et al., "Delving deep into rectifiers", 2015.

    Args:
        scale: of the variance.
        mode: what the fan is: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg", the geometric mean.
        distribution: "truncated_normal" (cut at two standard deviations), "normal" or "uniform".
        in_axis, out_axis: the axes of inputs and outputs; other axes count for both,
        batch_axis: but for these.
        dtype: a floating or complex dtype, float64 by default.

    Returns:
        A function (key, shape, dtype) → array.

    Raises:
        ValueError: there is no such mode or distribution.
        ShapeError: by the initializer, for an array with fewer than two axes.

    >>> initialize = fx.nn.initializers.variance_scaling(1.0, "fan_in", "uniform")
    >>> bool(abs(initialize(fx.random.key(0), (3, 5))).max() <= 1)
    True
    """
    check_option("variance_scaling", "mode", mode, MODES)
    check_option("variance_scaling", "distribution", distribution, DISTRIBUTIONS)

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        variance = scale / max(1.0, MODES[mode](*fans(shape, in_axis, out_axis, batch_axis)))
        chosen = np.dtype(dtype or float)
        if chosen.kind == "c" and distribution != "normal":
            return draw_complex(key, shape, chosen, variance, distribution)
        if distribution == "normal":
            return scaled(random.normal(key, shape, chosen), math.sqrt(variance))
        if distribution == "uniform":
            return scaled(random.uniform(key, shape, chosen, -1.0, 1.0), math.sqrt(3 * variance))
        return scaled(
            random.truncated_normal(key, -2.0, 2.0, shape, chosen), math.sqrt(variance) / CUT_STDDEV
        )

    return initialize


def draw_complex(key: Key, shape: Shape, dtype: Any, variance: float, distribution: str) -> Array:
    """Draw complex numbers of a variance, uniform in a disk or with a modulus that is cut at two standard
    deviations."""
    radius_key, angle_key = random.split(key)
    fraction = random.uniform(radius_key, shape)
    if distribution == "uniform":
        radius = fnp.sqrt(fraction) * math.sqrt(2 * variance)
    else:  # the modulus of a normal variable has the distribution function 1 - e^(-r²)
        cut = 1 - math.exp(-4)
        kept = 1 - 5 * math.exp(-4)
        radius = fnp.sqrt(-fnp.log1p(-fraction * cut)) * math.sqrt(variance * cut / kept)
    angle = random.uniform(angle_key, shape, minval=-math.pi, maxval=math.pi)
    return cast(radius * fnp.exp(1j * angle), dtype)


SCALING = """Make the initializer `variance_scaling({scale}, "{mode}", "{distribution}")`.

    {source}.

    Args:
        in_axis, out_axis: the axes of inputs and outputs; other axes count for both,
        batch_axis: but for these.
        dtype: a floating or complex dtype, float64 by default.

    Returns:
        A function (key, shape, dtype) → array.

    Raises:
        ShapeError: by the initializer, for an array with fewer than two axes.

    >>> fx.nn.initializers.{name}()(fx.random.key(0), (3, 4)).shape
    (3, 4)
    """


def scaling(name: str, scale: float, mode: str, distribution: str, source: str) -> Callable[..., Initializer]:
    """Make one of the functions that are `variance_scaling` with a scale, a mode and a distribution."""

    @api_boundary
    def make(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DType = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = SCALING.format(
        name=name, scale=f"{scale:g}", mode=mode, distribution=distribution, source=source
    )
    return make


GLOROT = (
    'Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010'
)
HE = 'He et al., "Delving deep into rectifiers", 2015'
LECUN = 'LeCun et al., "Efficient backprop", 1998'
glorot_normal: Maker = scaling("glorot_normal", 1.0, "fan_avg", "truncated_normal", GLOROT)
xavier_normal: Maker = glorot_normal
glorot_uniform: Maker = scaling("glorot_uniform", 1.0, "fan_avg", "uniform", GLOROT)
xavier_uniform: Maker = glorot_uniform
he_normal: Maker = scaling("he_normal", 2.0, "fan_in", "truncated_normal", HE)
kaiming_normal: Maker = he_normal
he_uniform: Maker = scaling("he_uniform", 2.0, "fan_in", "uniform", HE)
kaiming_uniform: Maker = he_uniform
lecun_normal: Maker = scaling("lecun_normal", 1.0, "fan_in", "truncated_normal", LECUN)
lecun_uniform: Maker = scaling("lecun_uniform", 1.0, "fan_in", "uniform", LECUN)


@api_boundary
def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Make an initializer of matrices with orthonormal rows or columns, whichever are fewer, times a scale; axes but
    `column_axis` are taken together (Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of
    learning in deep linear neural networks", 2013).

    Args:
        scale: a factor.
        column_axis: the axis of columns.
        dtype: the default of the initializer's own argument: a real floating dtype, float64 by default.

    Raises:
        ShapeError: by the initializer, for an array with fewer than two axes.

    >>> q = fx.nn.initializers.orthogonal()(fx.random.key(0), (4, 2))
    >>> abs(q.T @ q).round(6)
    array([[1., 0.],
           [0., 1.]])
    """

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        if len(shape) < 2:
            raise ShapeError(
                f"orthogonal: there is no orthogonal array of shape {tuple(shape)}",
                hint="normal() for arrays with fewer axes",
            )
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        matrix = random.orthogonal(key, rows, (), dtype or float, columns)
        rest = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        return scaled(fnp.moveaxis(fnp.reshape(matrix, (*rest, columns)), -1, column_axis), scale)

    return initialize


@api_boundary
def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Make an initializer of kernels of convolutions, (*spatial, inputs, outputs), which are orthogonal in the middle
    and 0 elsewhere (Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018).

    Args:
        scale: a factor.
        column_axis: the axis of columns of the matrix in the middle.
        dtype: the default of the initializer's own argument: a real floating dtype, float64 by default.

    Raises:
        ShapeError: by the initializer, for a kernel without 1 to 3 spatial axes, or with more inputs than outputs.

    >>> kernel = fx.nn.initializers.delta_orthogonal()(fx.random.key(0), (3, 2, 2))
    >>> abs(kernel[0]).max(), abs(kernel[1].T @ kernel[1]).round(6)
    (np.float64(0.0), array([[1., 0.],
           [0., 1.]]))
    """

    def initialize(key: Key, shape: Shape, dtype: DType = dtype) -> Array:
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ShapeError(
                "delta_orthogonal initializers are of kernels (*spatial, inputs, outputs) with 1 to 3 spatial axes "
                f"and no more inputs than outputs, not {tuple(shape)}",
                hint="orthogonal() for matrices, normal() for other kernels",
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, (shape[-1], shape[-1]))[: shape[-2]]
        middle = tuple([(n - 1) // 2 for n in shape[:-2]])
        return fnp.at(np.zeros(shape, dtype or float))[middle].set(matrix)

    return initialize


__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip

show_public_names(__name__)
