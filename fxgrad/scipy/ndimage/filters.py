"""Linear filters of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, UnsupportedError, ops
from ...numpy.composite import floating, known_value, normalize_axes, operand
from ..reference import scipy_function
from ..signal.convolution import contract_windows
from .geometry import finish

# The modes of NumPy's `pad` for those of SciPy's filters.
PADS = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def extend(x: Any, widths: Sequence[tuple[int, int]], mode: str, cval: Any) -> Any:
    """Extend an image as a mode says."""
    if mode not in PADS:
        raise UnsupportedError(f"there is no mode={mode!r}", hint=f"one of {', '.join(PADS)}")
    return fnp.pad(x, widths, PADS[mode], **({"constant_values": cval} if PADS[mode] == "constant" else {}))


def weigh_neighbours(x: Any, weights: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
    """The correlation with weights, whose middle is moved by the origin."""
    axes = normalize_axes(axes, x.ndim)
    if weights.ndim != len(axes):
        raise ShapeError(
            f"weights of shape {weights.shape} for the axes {axes}",
            hint=f"weights with {len(axes)} axes: weights[None] adds one",
        )
    modes = [mode] * len(axes) if isinstance(mode, str) else list(mode)
    origins = [origin] * len(axes) if np.ndim(origin) == 0 else list(origin)
    for i, axis in enumerate(axes):
        n, shift = weights.shape[i], origins[i]
        if not -(n // 2) <= shift <= (n - 1) // 2:
            raise ShapeError(
                f"origin={shift} lies outside of {n} weights",
                hint=f"origin=0, or from {-(n // 2)} to {(n - 1) // 2} for {n} weights",
            )
        widths = [(0, 0)] * x.ndim
        widths[axis] = (n // 2 + shift, n - 1 - n // 2 - shift)
        x = extend(x, widths, modes[i], cval)
    kernel = ops.flip(weights, axes=tuple(range(weights.ndim)))
    full = contract_windows(x, kernel, (axes, tuple(range(kernel.ndim))), ((), ()))
    rest = x.ndim - len(axes)
    kept = [slice(None)] * rest + [slice(n - 1, x.shape[a]) for n, a in zip(weights.shape, axes)]
    return fnp.moveaxis(full[tuple(kept)], range(rest, x.ndim), axes)


@scipy_function("ndimage")
def correlate(input: ArrayLike, weights: ArrayLike, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
              origin: Any = 0, *, axes: Any = None) -> Array:  # fmt: skip
    """The correlation of an image with weights, of the same shape.

    Args:
        input, weights: arrays.
        output: a dtype for the result.
        mode: what is outside: "reflect", "mirror", "nearest", "wrap", "constant" (`cval`).
        cval: a number.
        origin: by how much the middle of the weights is moved.
        axes: those of the image to which the axes of the weights belong.

    Raises:
        RuntimeError: the weights have another number of axes, or there is no such `mode`.
        ValueError: the origin lies outside of the weights.

    >>> ndimage.correlate([1.0, 2.0, 4.0], [1.0, 0.0, -1.0])
    array([-1., -3., -2.])
    """
    return finish(
        weigh_neighbours(floating(input), floating(weights), mode, cval, origin, axes), input, output
    )


@scipy_function("ndimage")
def convolve(input: ArrayLike, weights: ArrayLike, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
             origin: Any = 0, *, axes: Any = None) -> Array:  # fmt: skip
    """The convolution of an image with weights: `correlate` with the weights reversed along every axis.

    Raises:
        RuntimeError: the weights have another number of axes, or there is no such `mode`.
        ValueError: the origin lies outside of the weights.

    >>> fx.scipy.ndimage.convolve(fnp.array([0.0, 1.0, 0.0]), fnp.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    w = floating(weights)
    origins = [origin] * w.ndim if np.ndim(origin) == 0 else list(origin)
    origins = [-o - (n % 2 == 0) for o, n in zip(origins, w.shape)]
    w = ops.flip(w, axes=tuple(range(w.ndim)))
    return finish(weigh_neighbours(floating(input), w, mode, cval, origins, axes), input, output)


@scipy_function("ndimage")
def correlate1d(input: ArrayLike, weights: ArrayLike, axis: int = -1, output: Any = None, mode: str = "reflect",
                cval: Any = 0.0, origin: int = 0) -> Array:  # fmt: skip
    """The correlation of an image with a vector of weights along an axis; modes are those of `correlate`.

    Raises:
        RuntimeError: the weights have not one axis, or there is no such `mode`.
        ValueError: the origin lies outside of the weights.

    >>> fx.scipy.ndimage.correlate1d(fnp.array([0.0, 1.0, 0.0]), fnp.array([1.0, 2.0, 3.0]))
    array([3., 2., 1.])
    """
    return finish(
        weigh_neighbours(floating(input), floating(weights), mode, cval, origin, axis), input, output
    )


@scipy_function("ndimage")
def convolve1d(input: ArrayLike, weights: ArrayLike, axis: int = -1, output: Any = None, mode: str = "reflect",
               cval: Any = 0.0, origin: int = 0) -> Array:  # fmt: skip
    """The convolution of an image with a vector of weights along an axis; modes are those of `correlate`.

    >>> fx.scipy.ndimage.convolve1d(fnp.array([0.0, 1.0, 0.0]), fnp.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return convolve(input, weights, output, mode, cval, origin, axes=(axis,))


# -- Gaussian and uniform weights ------------------------------------------
def gaussian_weights(sigma: Any, order: int, radius: int) -> Any:
    """The weights of a Gaussian, or of its derivative, with sum 1 before that is taken."""
    places = np.arange(-radius, radius + 1, dtype=float)
    weights = fnp.exp(-0.5 / (sigma * sigma) * places**2)
    weights = weights / fnp.sum(weights)
    if not order:
        return weights
    # (q(x)·φ)' = (q' − q·x/σ²)·φ
    q = [1.0] + [0.0] * order
    for _ in range(order):
        slope = [(i + 1) * v for i, v in enumerate(q[1:])] + [0.0]
        q = [slope[i] - (q[i - 1] / (sigma * sigma) if i else 0.0) for i in range(order + 1)]
    factor: Any = 0.0
    for v in reversed(q):
        factor = factor * places + v
    return factor * weights


@scipy_function("ndimage")
def gaussian_filter1d(input: ArrayLike, sigma: ArrayLike, axis: int = -1, order: int = 0, output: Any = None,
                      mode: str = "reflect", cval: Any = 0.0, truncate: float = 4.0, *,
                      radius: int | None = None) -> Array:  # fmt: skip
    """An image smoothed by a Gaussian along an axis, with a derivative in sigma too.

    Args:
        input: the image.
        sigma: the standard deviation; traced under `jit` or `vmap` it needs `radius`.
        axis: the axis.
        order: that of the derivative of the Gaussian.
        output, mode, cval: as for `correlate`.
        truncate: the radius of the weights, in standard deviations.
        radius: the radius in entries.

    Raises:
        RuntimeError: there is no such `mode`.
        ValueError: `order` is negative.

    >>> f = lambda s: ndimage.gaussian_filter1d(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), s)[2]
    >>> round(float(f(0.5)), 4), round(float(fx.grad(f)(0.5)), 4)
    (0.7866, -1.353)
    """
    sigma = operand(sigma)
    if radius is None:
        radius = int(truncate * float(known_value(sigma, "the radius of the weights", "radius=")) + 0.5)
    if order < 0:
        raise ShapeError(f"gaussian_filter1d: order={order} is negative", hint="order=0 for no derivative")
    weights = ops.flip(gaussian_weights(sigma, order, radius), axes=(0,))
    x = floating(input)
    weights = weights.astype(np.result_type(np.float32, fnp.real(x).dtype))
    return finish(weigh_neighbours(x, weights, mode, cval, 0, axis), input, output)


def per_axis(value: Any, axes: Sequence[int]) -> list[Any]:
    """A parameter for each axis."""
    if isinstance(value, str) or value is None or np.ndim(value) == 0:
        return [value] * len(axes)
    if len(value) != len(axes):
        raise ShapeError(
            f"{len(value)} values for {len(axes)} axes",
            hint=f"one value for all axes, or {len(axes)} of them",
        )
    return list(value)


@scipy_function("ndimage")
def gaussian_filter(
    input: ArrayLike,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Array:
    """An image smoothed by a Gaussian along axes; each of sigma, order, mode and radius may be one for each axis. It is
    differentiated by the image and by sigma, which needs `radius` under `jit` and `vmap`.

    Raises:
        RuntimeError: not one number for each axis, or no such `mode`.
        ShapeError: not one number for each axis of a traced image.

    >>> fx.scipy.ndimage.gaussian_filter(fnp.array([0.0, 1.0, 0.0]), 1.0).round(4)
    array([0.2961, 0.4078, 0.2961])
    """
    x = floating(input)
    axes = normalize_axes(axes, x.ndim)
    settings = zip(axes, *(per_axis(v, axes) for v in (sigma, order, mode, radius)))
    for axis, s, k, m, r in settings:
        x = gaussian_filter1d(x, s, axis, k, None, m, cval, truncate, radius=r)
    return finish(x, input, output)


@scipy_function("ndimage")
def uniform_filter1d(input: ArrayLike, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
                     cval: Any = 0.0, origin: int = 0) -> Array:  # fmt: skip
    """The means of `size` neighbours along an axis.

    Raises:
        RuntimeError: `size` is not positive, or there is no such `mode`.
        ValueError: the origin lies outside of the filter.

    >>> fx.scipy.ndimage.uniform_filter1d(fnp.array([0.0, 3.0, 0.0]), 3)
    array([1., 1., 1.])
    """
    if size < 1:
        raise ShapeError(f"uniform_filter1d: size={size}", hint="a size from 1 on")
    x = floating(input)
    weights = np.full(size, 1.0 / size, np.result_type(np.float32, fnp.real(x).dtype))
    return finish(weigh_neighbours(x, weights, mode, cval, origin, axis), input, output)


@scipy_function("ndimage")
def uniform_filter(input: ArrayLike, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
                   origin: Any = 0, *, axes: Any = None) -> Array:  # fmt: skip
    """The means of neighbours, `size` of them along each of the axes.

    Raises:
        RuntimeError: not one number for each axis, or no such `mode`.
        ShapeError: not one number for each axis of a traced image.

    >>> fx.scipy.ndimage.uniform_filter(fnp.array([0.0, 3.0, 0.0]), 3)
    array([1., 1., 1.])
    """
    x = floating(input)
    axes = normalize_axes(axes, x.ndim)
    for axis, n, m, o in zip(axes, *(per_axis(v, axes) for v in (size, mode, origin))):
        x = uniform_filter1d(x, n, axis, None, m, cval, o)
    return finish(x, input, output)


# -- differences ------------------------------------------
def smoothed_difference(
    input: Any, axis: int, output: Any, mode: str, cval: Any, smooth: Sequence[float]
) -> Any:
    """Central differences along an axis, smoothed along all others."""
    x = floating(input)
    axis = axis % x.ndim
    for i in range(x.ndim):
        weights = np.array([-1.0, 0.0, 1.0] if i == axis else smooth)
        x = weigh_neighbours(x, weights.astype(np.result_type(np.float32, x.dtype)), mode, cval, 0, i)
    return finish(x, input, output)


@scipy_function("ndimage")
def sobel(
    input: ArrayLike, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0
) -> Array:
    """Sobel's differences of an image along an axis, smoothed along the others.

    Raises:
        RuntimeError: there is no such `mode`.

    >>> fx.scipy.ndimage.sobel(fnp.array([0.0, 1.0, 4.0]))
    array([1., 4., 3.])
    """
    return smoothed_difference(input, axis, output, mode, cval, (1.0, 2.0, 1.0))


@scipy_function("ndimage")
def prewitt(
    input: ArrayLike, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0
) -> Array:
    """Prewitt's differences of an image along an axis, smoothed along the others.

    Raises:
        RuntimeError: there is no such `mode`.

    >>> fx.scipy.ndimage.prewitt(fnp.array([0.0, 1.0, 4.0]))
    array([1., 4., 3.])
    """
    return smoothed_difference(input, axis, output, mode, cval, (1.0, 1.0, 1.0))


@scipy_function("ndimage")
def laplace(
    input: ArrayLike, output: Any = None, mode: str = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Array:
    """The sum of the second differences of an image along axes.

    Raises:
        RuntimeError: there is no such `mode`.

    >>> fx.scipy.ndimage.laplace(fnp.array([0.0, 1.0, 4.0]))
    array([ 1.,  2., -3.])
    """
    x = floating(input)
    weights = np.array([1.0, -2.0, 1.0]).astype(np.result_type(np.float32, x.dtype))
    total: Any = 0.0
    for axis in normalize_axes(axes, x.ndim):
        total = total + weigh_neighbours(x, weights, mode, cval, 0, axis)
    return finish(total, input, output)


@scipy_function("ndimage")
def gaussian_laplace(input: ArrayLike, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *,
                     axes: Any = None, **kwargs: Any) -> Array:  # fmt: skip
    """The sum of the second derivatives of an image smoothed by a Gaussian.

    >>> fx.scipy.ndimage.gaussian_laplace(fnp.array([0.0, 1.0, 0.0]), 1.0).round(4)
    array([ 0.164, -0.328,  0.164])
    """
    x = floating(input)
    along = normalize_axes(axes, x.ndim)
    total: Any = 0.0
    for axis in along:
        orders = [2 if a == axis else 0 for a in along]
        total = total + gaussian_filter(x, sigma, orders, None, mode, cval, axes=along, **kwargs)
    return finish(total, input, output)


@scipy_function("ndimage")
def gaussian_gradient_magnitude(input: ArrayLike, sigma: Any, output: Any = None, mode: Any = "reflect",
                                cval: Any = 0.0, *, axes: Any = None, **kwargs: Any) -> Array:  # fmt: skip
    """The length of the gradient of an image smoothed by a Gaussian.

    >>> fx.scipy.ndimage.gaussian_gradient_magnitude(fnp.array([0.0, 1.0, 4.0]), 1.0).round(4)
    array([0.5643, 1.3977, 0.8334])
    """
    x = floating(input)
    along = normalize_axes(axes, x.ndim)
    total: Any = 0.0
    for axis in along:
        orders = [1 if a == axis else 0 for a in along]
        slope = gaussian_filter(x, sigma, orders, None, mode, cval, axes=along, **kwargs)
        total = total + slope * slope
    return finish(fnp.sqrt(total), input, output)


__all__ = [
    "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "prewitt", "sobel", "uniform_filter",
    "uniform_filter1d",
]  # fmt: skip
