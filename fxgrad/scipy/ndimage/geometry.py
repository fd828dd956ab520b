"""Interpolation of images between their entries, by splines of degree 0 to 5.

P. Thévenaz, T. Blu and M. Unser, "Interpolation revisited", IEEE Trans. Med. Imaging 19 (2000).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, Cache, ShapeError, UnsupportedError, check_ndim, ops
from ...numpy.composite import cast, dtype_of, floating, kind, operand
from ..reference import library, scipy_function

# How the coefficients go on outside, for each mode.
CONTINUATION = {
    "constant": "mirror", "mirror": "mirror", "wrap": "mirror", "grid-constant": "mirror", "nearest": "nearest",
    "reflect": "reflect", "grid-mirror": "reflect", "grid-wrap": "grid-wrap",
}  # fmt: skip
PADDED = ("nearest", "grid-constant")
PADDING = 12  # entries by which SciPy extends images of these modes

# The matrices of the prefilter, by size, degree and mode.
PREFILTERS = Cache(32)


def check_mode(mode: str, order: int) -> None:
    """Raise SciPy's errors for an unknown mode or degree."""
    if mode not in CONTINUATION:
        raise UnsupportedError(f"there is no mode={mode!r}", hint=f"one of {', '.join(CONTINUATION)}")
    if not 0 <= order <= 5:
        raise UnsupportedError(
            f"splines of order={order}", hint="order=1 for linear interpolation, 3 for cubic"
        )


# -- coefficients ------------------------------------------
def prefilter_matrix(n: int, order: int, mode: str) -> Any:
    """The matrix that turns n values into the coefficients of the spline through them."""
    key = n, order, mode
    if key not in PREFILTERS:
        ndimage = library("ndimage", "a spline")
        PREFILTERS[key] = ndimage.spline_filter1d(np.eye(n), order, axis=0, mode=mode)
    return PREFILTERS[key]


def multiply_along(matrix: Any, x: Any, axis: int) -> Any:
    """Multiply the columns along an axis by a matrix."""
    found = fnp.tensordot(
        matrix.astype(np.result_type(np.float32, fnp.real(x).dtype)), x, axes=((1,), (axis,))
    )
    return fnp.moveaxis(found, 0, axis)


@scipy_function("ndimage")
def spline_filter1d(input: ArrayLike, order: int = 3, axis: int = -1, output: Any = None,
                    mode: str = "mirror") -> Array:  # fmt: skip
    """The coefficients of the splines of this order through values along an axis.

    Raises:
        RuntimeError: there is no such `mode` or `order`.

    >>> fx.scipy.ndimage.spline_filter1d(fnp.array([0.0, 1.0, 0.0])).round(4)
    array([-1.,  2., -1.])
    """
    x = floating(input)
    check_mode(mode, order)
    if order < 2 or not x.ndim:
        return x
    return multiply_along(prefilter_matrix(x.shape[axis], order, mode), x, axis % x.ndim)


@scipy_function("ndimage")
def spline_filter(input: ArrayLike, order: int = 3, output: Any = None, mode: str = "mirror") -> Array:
    """The coefficients of the spline of this order through an image.

    >>> fx.scipy.ndimage.spline_filter(fnp.array([0.0, 1.0, 0.0])).round(4)
    array([-1.,  2., -1.])
    """
    x = floating(input)
    for axis in range(x.ndim):
        x = spline_filter1d(x, order, axis, mode=mode)
    return x


def coefficients_of(x: Any, order: int, mode: str, cval: Any, prefilter: bool) -> tuple[Any, int]:
    """Return coefficients, and by how many entries the image was extended before."""
    if order < 2 or not prefilter:
        return x, 0
    before = 0
    if mode in PADDED:
        before = PADDING
        x = fnp.pad(x, before, "edge") if mode == "nearest" else fnp.pad(x, before, constant_values=cval)
    return spline_filter(x, order, mode=mode), before


# -- B-splines ------------------------------------------
def spline_weights(offset: Any, order: int) -> Any:
    """The values at `offset` of a centred B-spline: Σₖ (−1)ᵏ C(m + 1, k)·max(u − k, 0)ᵐ/m! from its nearer end."""
    u = (order + 1) / 2 - abs(offset)
    total: Any = 0.0
    for k in range((order + 1) // 2 + 1):
        binomial = factorial(order + 1) // (factorial(k) * factorial(order + 1 - k))
        power = fnp.maximum(u - k, 0.0)
        total = total + (power if order == 1 else power**order) * ((-1) ** k * binomial / factorial(order))
    return total


def fold_place(x: Any, n: int, mode: str) -> Any:
    """Bring places into the image, as a mode goes on outside of it."""
    if mode in ("mirror", "wrap") and n == 1:
        return fnp.zeros_like(x)
    if mode == "mirror":
        x = ops.remainder(abs(x), 2 * (n - 1))
        return fnp.minimum(x, 2 * (n - 1) - x)
    if mode in ("reflect", "grid-mirror"):
        x = ops.remainder(x + 0.5, 2 * n)
        return fnp.minimum(x, 2 * n - x) - 0.5
    if mode == "wrap":
        outside = ops.logical_or(x < 0, x > n - 1)
        return fnp.where(outside, ops.remainder(x, n - 1), x)
    if mode == "grid-wrap":
        return ops.remainder(x, n)
    return x


def fold_index(i: Any, n: int, mode: str) -> Any:
    """Bring the indices of coefficients into the image."""
    way = CONTINUATION[mode]
    if way == "nearest":
        return fnp.clip(i, 0, n - 1)
    if way == "mirror":
        if n == 1:
            return fnp.zeros_like(i)
        i = ops.remainder(abs(i), 2 * (n - 1))
        return fnp.minimum(i, 2 * (n - 1) - i)
    if way == "reflect":
        i = ops.remainder(i, 2 * n)
        return fnp.minimum(i, 2 * n - 1 - i)
    return ops.remainder(i, n)


def interpolate(x: Any, places: Sequence[Any], order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """An image at places, one array of coordinates for each axis."""
    check_mode(mode, order)
    if len(places) != x.ndim:
        raise ShapeError(
            f"{len(places)} coordinates for an image with {x.ndim} axes",
            hint=f"coordinates of shape ({x.ndim}, …), a row for each axis of the image",
        )
    c, before = coefficients_of(x, order, mode, cval, prefilter)
    if not x.size:
        return fnp.full(places[0].shape, cval, x.dtype)
    outside: Any = np.False_
    away: Any = np.False_
    indices, weights = [], []
    for axis, place in enumerate(places):
        n, m = x.shape[axis], c.shape[axis]
        if mode == "constant":
            outside = ops.logical_or(outside, ops.logical_or(place < 0, place > n - 1))
        at = place + before if before else fold_place(place, n, mode)
        known = ops.stop_gradient(at)
        start = fnp.floor(known + (0.0 if order % 2 else 0.5)) - order // 2
        # The coefficients that count, along an axis of their own before those of the places.
        nodes = np.arange(order + 1).reshape(-1, *(1,) * (x.ndim - 1 - axis), *(1,) * place.ndim)
        index = start.astype(int) + nodes
        if mode == "grid-constant":
            away = ops.logical_or(away, ops.logical_or(index < 0, index > m - 1))
        indices.append(fold_index(index, m, mode))
        if order:
            weights.append(spline_weights(at - start - nodes.astype(at.dtype), order))
    total = fnp.at(c)[tuple(indices)].get()
    if mode == "grid-constant":
        total = fnp.where(away, cval, total)
    for weight in weights:
        total = total * weight
    total = fnp.sum(total, tuple(range(x.ndim)))
    if mode == "constant":
        total = fnp.where(outside, cval, total)
    return total


# -- functions of the user ------------------------------------------
@scipy_function("ndimage")
def map_coordinates(input: ArrayLike, coordinates: ArrayLike, output: Any = None, order: int = 3,
                    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True) -> Array:  # fmt: skip
    """An image interpolated at given places, with derivatives in both.

    Args:
        input: the image.
        coordinates: places (axes of the image, …); entry i of an axis is at i.
        output: a dtype for the result.
        order: the degree of the splines, 0 (nearest) to 5.
        mode: what is outside: "constant" (`cval`), "nearest", "mirror", "reflect", "wrap", "grid-constant",
            "grid-mirror", "grid-wrap".
        cval: a number.
        prefilter: go through the entries; otherwise they are the coefficients.

    Returns:
        An array with the shape of one coordinate.

    Raises:
        RuntimeError: not one row of coordinates for each axis, or no such `mode` or `order`.
        ShapeError: not one row of coordinates for each axis of a traced image.

    >>> f = lambda x: ndimage.map_coordinates(fnp.array([0.0, 1.0, 4.0]), [x], order=1)[0]
    >>> float(f(fnp.array([1.5]))), fx.grad(f)(fnp.array([1.5]))
    (2.5, array([3.]))
    """
    x, places = floating(input), floating(coordinates)
    if places.ndim < 1 or places.shape[0] != x.ndim:
        raise ShapeError(
            f"coordinates of shape {places.shape} for an image with {x.ndim} axes",
            hint=f"coordinates of shape ({x.ndim}, …), a row for each axis of the image",
        )
    found = interpolate(x, [places[i] for i in range(x.ndim)], order, mode, cval, prefilter)
    return finish(found, input, output)


def finish(found: Any, input: Any, output: Any) -> Any:
    """The result in the dtype of the input, unless another is asked for."""
    dtype = dtype_of(operand(input)) if output is None else np.dtype(output)
    return cast(fnp.round(found) if dtype.kind in "iu" and kind(found) == "f" else found, dtype)


def sample_affine(x: Any, matrix: Any, offset: Any, shape: Sequence[int], settings: tuple) -> Any:
    """An image at matrix·place + offset for all places of a grid."""
    grid = np.indices(tuple(shape), float)
    places = fnp.tensordot(matrix, grid, 1) + fnp.reshape(offset, (-1, *(1,) * len(shape)))
    return interpolate(x, [places[i] for i in range(x.ndim)], *settings)


@scipy_function("ndimage")
def affine_transform(input: ArrayLike, matrix: ArrayLike, offset: Any = 0.0, output_shape: Any = None,
                     output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
                     prefilter: bool = True) -> Array:  # fmt: skip
    """The image whose entry at a place is that of `input` at matrix·place + offset.

    Args:
        matrix: (n, n), (n,) for a diagonal one, or with a column (and a row) more for the offset.
        offset: a number or one for each axis.
        output_shape: the sizes of the result; None: those of the input.
        output, order, mode, cval, prefilter: as for `map_coordinates`.

    Raises:
        RuntimeError: the matrix does not fit the axes, or there is no such `mode` or `order`.
        ShapeError: the matrix does not fit the axes of a traced image.

    >>> fx.scipy.ndimage.affine_transform(fnp.array([0.0, 1.0, 2.0]), fnp.array([0.5]), order=1)
    array([0. , 0.5, 1. ])
    """
    x, matrix = floating(input), floating(matrix)
    n = x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if matrix.ndim == 1:
        matrix = fnp.diag(matrix)
    if matrix.shape != (n, n):
        raise ShapeError(
            f"affine_transform: a matrix of shape {matrix.shape} for an image with {n} axes",
            hint=f"a matrix of shape {(n, n)}, or {(n, n + 1)} with the offset",
        )
    offset = fnp.broadcast_to(operand(offset), (n,))
    shape = x.shape if output_shape is None else output_shape
    return finish(sample_affine(x, matrix, offset, shape, (order, mode, cval, prefilter)), input, output)


@scipy_function("ndimage")
def shift(input: ArrayLike, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
          prefilter: bool = True) -> Array:  # fmt: skip
    """The image shifted by a number of entries, one for all axes or one for each.

    Raises:
        RuntimeError: there is no such `mode` or `order`.

    >>> f = lambda s: ndimage.shift(fnp.array([0.0, 1.0, 4.0, 9.0]), s, order=1)[2]
    >>> float(f(0.5)), float(fx.grad(f)(0.5))
    (2.5, -3.0)
    """
    x = floating(input)
    offset = -fnp.broadcast_to(operand(shift), (x.ndim,))
    return finish(
        sample_affine(x, np.eye(x.ndim), offset, x.shape, (order, mode, cval, prefilter)), input, output
    )


@scipy_function("ndimage")
def zoom(input: ArrayLike, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
         prefilter: bool = True, *, grid_mode: bool = False) -> Array:  # fmt: skip
    """The image interpolated to `zoom` times as many entries along its axes. The factors determine the shape: they are
    known numbers.

    Raises:
        RuntimeError: there is no such `mode` or `order`.

    >>> fx.scipy.ndimage.zoom(fnp.array([0.0, 1.0]), 2, order=1).round(4)
    array([0.    , 0.3333, 0.6667, 1.    ])
    """
    x = floating(input)
    factors = np.broadcast_to(zoom, (x.ndim,))
    shape = tuple(round(n * f) for n, f in zip(x.shape, factors.tolist()))
    if grid_mode:
        scale = [n / m if m else 1.0 for n, m in zip(x.shape, shape)]
        offset = [0.5 * s - 0.5 for s in scale]
    else:
        scale = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(x.shape, shape)]
        offset = [0.0] * x.ndim
    settings = (order, mode, cval, prefilter)
    return finish(sample_affine(x, np.diag(scale), np.array(offset), shape, settings), input, output)


@scipy_function("ndimage")
def rotate(input: ArrayLike, angle: ArrayLike, axes: tuple[int, int] = (1, 0), reshape: bool = True, output: Any = None,
           order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True) -> Array:  # fmt: skip
    """The image rotated by an angle in degrees, which may be traced if reshape=False.

    Args:
        axes: the two axes of the plane.
        reshape: the result has room for the whole image.
        output, order, mode, cval, prefilter: as for `map_coordinates`.

    Raises:
        ValueError: fewer than two axes, or `axes` are not two different ones.

    >>> fx.scipy.ndimage.rotate(fnp.array([[0.0, 1.0], [2.0, 3.0]]), 90).round(4)
    array([[ 1.,  3.],
           [-0.,  2.]])
    """
    x = floating(input)
    check_ndim("rotate", "input", x, 2, or_more=True)
    first, second = sorted(axis % x.ndim for axis in axes)
    if len(axes) != 2 or first == second:
        raise ShapeError(
            f"rotate: axes={axes} are not two different axes", hint="axes=(1, 0), the plane of the rotation"
        )
    turn = fnp.deg2rad(operand(angle))
    c, s = fnp.cos(turn), fnp.sin(turn)
    matrix = fnp.stack([fnp.stack([c, s]), fnp.stack([-s, c])])
    size = np.array([x.shape[first], x.shape[second]])
    room: Any = size
    if reshape:
        known = library("special", "a rotation")
        c, s = known.cosdg(angle), known.sindg(angle)
        bounds = np.array([[c, s], [-s, c]]) @ [[0, 0, size[0], size[0]], [0, size[1], 0, size[1]]]
        room = (np.ptp(bounds, axis=1) + 0.5).astype(int)
    offset = (size - 1) / 2 - fnp.matmul(matrix, (room - 1) / 2)
    planes = fnp.moveaxis(x, (first, second), (-2, -1))
    settings = (order, mode, cval, prefilter)

    turned: Callable[[Any], Any] = partial(
        sample_affine, matrix=matrix, offset=offset, shape=room, settings=settings
    )
    for _ in range(x.ndim - 2):
        turned = mapped(turned)
    return finish(fnp.moveaxis(turned(planes), (-2, -1), (first, second)), input, output)


def mapped(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of images for a stack of them."""
    from ...extend import vmap

    return vmap(function)


__all__ = [
    "affine_transform", "map_coordinates", "rotate", "shift", "spline_filter", "spline_filter1d", "zoom",
]  # fmt: skip
