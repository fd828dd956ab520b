"""Convolutions and correlations of arrays with any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, Axis, ShapeError, check_option, costs, fit_broadcast, ops
from ...lax.convolution import conv_general_dilated
from ...numpy.composite import kind, normalize_axes, operands
from ..fft import next_fast_len
from ..reference import scipy_function

MODES = ("full", "same", "valid")


# -- sizes ------------------------------------------
def check_mode(mode: str) -> None:
    """Raise SciPy's error for a word that is none of the modes."""
    check_option("convolve", "mode", mode, MODES)


def order_operands(x: Any, y: Any, mode: str, axes: Sequence[int]) -> tuple[Any, Any]:
    """Return the operands, the larger one first where only entries with full overlap are wanted."""
    if mode != "valid":
        return x, y
    if all(x.shape[i] >= y.shape[i] for i in axes):
        return x, y
    if all(y.shape[i] >= x.shape[i] for i in axes):
        return y, x
    raise ShapeError(
        f"For 'valid' mode, one must be at least as large as the other in every dimension: shapes {x.shape}, {y.shape}",
        hint='mode="same" or "full"',
    )


def crop(full: Any, first: Sequence[int], second: Sequence[int], mode: str, axes: Sequence[int]) -> Any:
    """Return the part of a full convolution that a mode wants; the sizes are those of the operands along the axes."""
    if mode == "full":
        return full
    index = [slice(None)] * full.ndim
    for axis, n, m in zip(axes, first, second):
        start = (m - 1) // 2 if mode == "same" else m - 1
        index[axis] = slice(start, start + (n if mode == "same" else n - m + 1))
    return ops.getitem(full, index=tuple(index))


# -- the two ways ------------------------------------------
def contract_windows(x: Any, y: Any, axes: Any, dot_axes: Any) -> Any:
    """The full convolution along pairs of axes, summed over other pairs; the axes that are left come first.

    It is a correlation of images (of the first operand) with reversed kernels (of the second).
    """
    (x_axes, y_axes), (x_dots, y_dots) = axes, dot_axes
    x_rest = [i for i in range(x.ndim) if i not in (*x_axes, *x_dots)]
    y_rest = [i for i in range(y.ndim) if i not in (*y_axes, *y_dots)]

    def arrange(v: Any, rest: Sequence[int], dots: Sequence[int], along: Sequence[int]) -> Any:
        """Return an array with the axes (those that are left, channels, image)."""
        v = fnp.transpose(v, (*rest, *dots, *along))
        shape, r, d = v.shape, len(rest), len(rest) + len(dots)
        return ops.reshape(v, shape=(prod(shape[:r]), prod(shape[r:d]), *(shape[d:] or (1,))))

    image, kernel = arrange(x, x_rest, x_dots, x_axes), arrange(y, y_rest, y_dots, y_axes)
    image, kernel = ops.promote_dtypes([image, kernel])
    along = tuple(range(2, kernel.ndim))
    pads = [(kernel.shape[i] - 1,) * 2 for i in along]
    found = conv_general_dilated(image, ops.flip(kernel, axes=along), (1,) * len(along), pads)
    rest = (*(x.shape[i] for i in x_rest), *(y.shape[i] for i in y_rest))
    return ops.reshape(found, shape=(*rest, *found.shape[2:])[: len(rest) + len(x_axes)])


def convolve_spectra(x: Any, y: Any, axes: Sequence[int]) -> Any:
    """The full convolution along axes by Fourier transforms; other axes broadcast."""
    axes = tuple(i for i in axes if x.shape[i] != 1 and y.shape[i] != 1)
    if not axes:
        return x * y
    sizes = [x.shape[i] + y.shape[i] - 1 for i in axes]
    real = kind(x) != "c" and kind(y) != "c"
    lengths = [next_fast_len(n, real) for n in sizes]
    forward, backward = (fnp.fft.rfftn, fnp.fft.irfftn) if real else (fnp.fft.fftn, fnp.fft.ifftn)
    found = backward(forward(x, lengths, axes) * forward(y, lengths, axes), lengths, axes)
    index = [slice(None)] * found.ndim
    for axis, n in zip(axes, sizes):
        index[axis] = slice(n)
    return ops.getitem(found, index=tuple(index))


def is_direct(x: Any, y: Any) -> bool:
    """Whether products of entries take less time than Fourier transforms."""
    full = prod(n + m - 1 for n, m in zip(x.shape, y.shape))
    return x.size * y.size <= full * np.log2(max(full, 2)) + costs.FOURIER_PRODUCTS


# -- convolution ------------------------------------------
@scipy_function("signal", further=("axes", "dot_axes"))
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    *,
    axes: Any = None,
    dot_axes: Any = None,
) -> Array:
    """The convolution of two arrays.

    Args:
        in1, in2: arrays with the same number of axes, unless `axes` says which belong together.
        mode: "full"; "same", the middle, of the size of `in1`; or "valid", where one operand overlaps the other wholly.
        method: "direct", "fft", or "auto" for what is faster.
        axes: a pair of lists: the axes of `in1` and those of `in2` along which they are convolved (autograd's).
        dot_axes: likewise the axes over which products are summed.

    Returns:
        An array in the dtype to which the operands promote. With `axes`: first the axes of `in1` that are neither
        convolved nor summed over, then those of `in2`, then the convolved ones.

    Raises:
        ShapeError: (a ValueError) for axes that do not fit, or an unknown mode.

    >>> signal.convolve([1.0, 2.0, 3.0], [1.0, 1.0])
    array([1., 3., 5., 3.])
    >>> fx.grad(lambda v: signal.convolve([1.0, 2.0, 3.0], v, mode="valid").sum())(fx.numpy.ones(2))
    array([5., 3.])
    >>> images, kernels = fx.numpy.ones((8, 3, 9, 9)), fx.numpy.ones((3, 4, 5, 5))
    >>> signal.convolve(images, kernels, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid").shape
    (8, 4, 5, 5)
    """
    x, y = operands((in1, in2))
    check_mode(mode)
    if axes is not None or dot_axes is not None:
        return convolve_axes(x, y, mode, axes, dot_axes)
    if x.ndim == y.ndim == 0:
        return x * y
    if x.ndim != y.ndim:
        raise ShapeError(
            f"in1 and in2 should have the same dimensionality: shapes {x.shape} and {y.shape}",
            hint="reshape one of them, or axes=([…], […])",
        )
    check_option("convolve", "method", method, ("auto", "direct", "fft"))
    x, y = ops.promote_dtypes([*order_operands(x, y, mode, range(x.ndim))])
    if not x.size or not y.size:
        return fnp.zeros(0, x.dtype)
    if method == "direct" or (method == "auto" and (kind(x) in "biu" or is_direct(x, y))):
        along = tuple(range(x.ndim))
        full = contract_windows(x, y, (along, along), ((), ()))
    else:
        full = convolve_spectra(x, y, range(x.ndim))
        if kind(x) in "iu":
            full = fnp.round(full)
        full = fnp.astype(full, x.dtype)
    return crop(full, x.shape, y.shape, mode, range(x.ndim))


def convolve_axes(x: Any, y: Any, mode: str, axes: Any, dot_axes: Any) -> Any:
    """The convolution along pairs of axes, summed over other pairs."""
    x_dots, y_dots = (normalize_axes(list(a), v.ndim) for a, v in zip(dot_axes or ((), ()), (x, y)))
    if axes is None:
        axes = [[i for i in range(v.ndim) if i not in dots] for v, dots in ((x, x_dots), (y, y_dots))]
    x_axes, y_axes = (normalize_axes(list(a), v.ndim) for a, v in zip(axes, (x, y)))
    if len(x_axes) != len(y_axes) or {*x_axes} & {*x_dots} or {*y_axes} & {*y_dots}:
        raise ShapeError(
            f"convolve: axes {axes} and dot_axes {dot_axes} do not pair the axes of shapes {x.shape} and {y.shape}",
            hint="axes=([…], […]) of one length, and none of them among dot_axes",
        )
    if [x.shape[i] for i in x_dots] != [y.shape[i] for i in y_dots]:
        raise ShapeError(
            f"convolve: the sizes along dot_axes {dot_axes} of shapes {x.shape} and {y.shape} differ",
            hint="dot_axes=([…], […]), whose sizes agree in pairs",
        )
    sizes: Any = [x.shape[i] for i in x_axes], [y.shape[i] for i in y_axes]
    full = contract_windows(x, y, (x_axes, y_axes), (x_dots, y_dots))
    along = range(full.ndim - len(x_axes), full.ndim)
    if mode == "valid" and any(n < m for n, m in zip(*sizes)):
        if any(n > m for n, m in zip(*sizes)):
            raise ShapeError(
                f"For 'valid' mode, one of the sizes {sizes} must be the larger along every axis",
                hint='mode="same" or "full"',
            )
        sizes = sizes[::-1]
    return crop(full, sizes[0], sizes[1], mode, along)


@scipy_function("signal")
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Array:
    """The correlation Σ in1[n + k]·conj(in2[n]) of two arrays; modes as those of `convolve`.

    >>> fx.scipy.signal.correlate(fnp.array([1.0, 2.0, 3.0]), fnp.array([0.0, 1.0]), "valid")
    array([2., 3.])
    """
    x, y = operands((in1, in2))
    if x.ndim == y.ndim == 0:
        return x * fnp.conj(y)
    return convolve(x, fnp.conj(ops.flip(y, axes=tuple(range(y.ndim)))), mode, method)


def spectral_arguments(in1: Any, in2: Any, axes: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Return the operands and axes of a convolution by Fourier transforms; other axes broadcast."""
    x, y = operands((in1, in2))
    if x.ndim != y.ndim:
        raise ShapeError(
            f"in1 and in2 should have the same dimensionality: shapes {x.shape} and {y.shape}",
            hint="in2[None] or in2[:, None], which has an axis more",
        )
    along = normalize_axes(axes, x.ndim)
    if axes is not None and not along:
        raise ShapeError("axes=() leaves no axis to convolve along", hint="axes=None for all")
    for i in range(x.ndim):
        if i not in along and x.shape[i] != y.shape[i] and 1 not in (x.shape[i], y.shape[i]):
            raise ShapeError(
                f"incompatible shapes for in1 and in2: {x.shape} and {y.shape}",
                hint=fit_broadcast([x.shape, y.shape], ("in1", "in2")),
            )
    return x, y, along


@scipy_function("signal")
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axis = None) -> Array:
    """The convolution along axes (all of them) by Fourier transforms; other axes broadcast.

    Raises:
        ValueError: the shapes do not fit, there is no such `mode`, or with "valid" neither contains the other.

    >>> signal.fftconvolve([1.0, 2.0, 3.0], [1.0, 1.0]).round(12)
    array([1., 3., 5., 3.])
    """
    check_mode(mode)
    x, y, along = spectral_arguments(in1, in2, axes)
    if x.ndim == 0:
        return x * y
    if not x.size or not y.size:
        return fnp.zeros(0)
    x, y = order_operands(x, y, mode, along)
    sizes = [x.shape[i] for i in along], [y.shape[i] for i in along]
    return crop(convolve_spectra(x, y, along), *sizes, mode, along)


@scipy_function("signal")
def oaconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axis = None) -> Array:
    """The convolution `fftconvolve` of two arrays; SciPy computes plain ones block by block.

    >>> fx.scipy.signal.oaconvolve(fnp.array([1.0, 2.0, 3.0]), fnp.array([1.0, 1.0])).round(6)
    array([1., 3., 5., 3.])
    """
    return fftconvolve(in1, in2, mode, axes)


# -- of images ------------------------------------------
BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric", "symmetric": "symmetric"}


@scipy_function("signal")
def convolve2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Array:
    """The convolution of two matrices, the first of which is extended as `boundary` says.

    Args:
        in1, in2: matrices.
        mode: "full", "same" or "valid", as for `convolve`.
        boundary: "fill" with `fillvalue`; "wrap", periodically; "symm", reflected.
        fillvalue: a number.

    Raises:
        ValueError: an operand has not two axes, there is no such `mode` or `boundary`, or with "valid" neither
            contains the other.

    >>> signal.convolve2d([[1.0, 2.0]], [[1.0, 1.0]], boundary="wrap")
    array([[3., 3., 3.]])
    """
    x, y = operands((in1, in2))
    check_mode(mode)
    if x.ndim != 2 or y.ndim != 2:
        raise ShapeError(
            f"convolve2d inputs must both be 2-D arrays, not of shapes {x.shape} and {y.shape}",
            hint="fx.vmap(convolve2d) over further axes, or convolve, which takes any number",
        )
    check_option("convolve2d", "boundary", boundary, BOUNDARIES)
    x, y = order_operands(x, y, mode, (0, 1))
    if mode == "valid":
        return convolve(x, y, "valid", "direct")
    widths = [(n - 1, n - 1) for n in y.shape]
    fill = {"constant_values": fillvalue} if boundary == "fill" else {}
    wide = fnp.pad(x, widths, mode=BOUNDARIES[boundary], **fill)
    full = convolve(wide, y, "valid", "direct")
    return crop(full, x.shape, y.shape, mode, (0, 1))


@scipy_function("signal")
def correlate2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Array:
    """The correlation of two matrices; modes and boundaries as those of `convolve2d`.

    >>> fx.scipy.signal.correlate2d(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([[0.0, 1.0]]), "valid")
    array([[2.],
           [4.]])
    """
    x, y = operands((in1, in2))
    swapped = mode == "valid" and any(n < m for n, m in zip(x.shape, y.shape))
    if swapped:  # whose result SciPy gives reversed and conjugated
        x, y = y, x
    kernel = fnp.conj(ops.flip(y, axes=tuple(range(y.ndim))))
    if mode == "same":  # whose middle is another than that of a convolution
        full = convolve2d(x, kernel, "full", boundary, fillvalue)
        return ops.getitem(full, index=tuple(slice(m // 2, m // 2 + n) for n, m in zip(x.shape, y.shape)))
    found = convolve2d(x, kernel, mode, boundary, fillvalue)
    return fnp.conj(ops.flip(found, axes=(0, 1))) if swapped else found


__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]
