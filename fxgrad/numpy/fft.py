"""`fxgrad.numpy.fft`: Fourier transforms, with the conventions of numpy.fft and derivatives in both modes.

Single precision stays single. Cropping and padding are a slice and zeros, Hermitian and many-dimensional transforms
are made of the complex and the real one. Gradients of real functions of a spectrum follow JAX's convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from .. import ops
from ..core.common_errors import check_option
from ..core.errors import AxisError, DTypeError, ShapeError, UnsupportedError
from ..core.face import show_public_names
from ..core.interpreter import api_boundary
from ..core.typing import Array, ArrayLike, Axis, DType
from ..ops.fourier import OPPOSITE_NORM
from .composite import at_axis, cast, composite, dtype_of, kind, normalize_axis, operand
from .documentation import LINEAR, described
from .manipulation import roll


@api_boundary
@described("numpy.fft.fftfreq", "", further=("dtype",))
def fftfreq(n: int, d: float = 1.0, *, dtype: DType = None, device: Any = None) -> Array:
    """The frequencies of the entries of a transform of n entries, that of `fft`. The numbers are plain: nothing is
    differentiated through them.

    Args:
        n: the number of entries.
        d: the spacing of the samples.
        dtype: of the result; None: float64.
        device: "cpu" or None, as everywhere in the namespace.

    >>> fnp.fft.fftfreq(4, dtype=fnp.float32)
    array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return cast(np.fft.fftfreq(n, d, device=device), dtype)


@api_boundary
@described("numpy.fft.rfftfreq", "", further=("dtype",))
def rfftfreq(n: int, d: float = 1.0, *, dtype: DType = None, device: Any = None) -> Array:
    """The frequencies of the entries of `rfft` of n entries; arguments as of `fftfreq`.

    >>> fnp.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
    return cast(np.fft.rfftfreq(n, d, device=device), dtype)


def check_norm(norm: Any) -> str:
    """Return a normalization by its name; None is "backward"."""
    if norm is None:
        return "backward"
    check_option("fft", "norm", norm, OPPOSITE_NORM)
    return norm


def crop_or_pad(a: Any, n: int, axis: int) -> Any:
    """Crop the array to n entries along an axis, or pad it with zeros at its end."""
    have = a.shape[axis]
    if n < have:
        return ops.getitem(a, index=at_axis(slice(0, n, None), axis))
    if n > have:
        return ops.pad(a, widths=tuple((0, n - have if i == axis else 0) for i in range(a.ndim)))
    return a


def check_point_count(n: Any) -> int:
    """Check a number of points as NumPy does."""
    if index(n) < 1:
        raise ShapeError(
            f"Invalid number of FFT data points ({n}) specified.",
            hint="a positive n, or None for all entries",
        )
    return index(n)


def sizes_and_axes(a: Any, s: Any, axes: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Return the sizes and the non-negative axes of a transform along several axes; a size of -1 is that of
    the array."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    axes = tuple(normalize_axis(i, a.ndim) for i in axes)
    sizes = [-1] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes):
        raise ShapeError(
            f"{len(sizes)} sizes {tuple(sizes)} for the axes {axes}",
            hint=f"axes={tuple(range(-len(sizes), 0))}",
        )
    sizes = [a.shape[i] if n == -1 else n for n, i in zip(sizes, axes)]
    if len(set(zip(axes, sizes))) > len(set(axes)):
        raise UnsupportedError(
            "an axis that is transformed twice, with different sizes", hint="two transforms"
        )
    return sizes, axes


def complex_transform(
    a: Any, sizes: Sequence[Any], axes: tuple[int, ...], norm: Any, inverse: bool = False
) -> Any:
    """Transform along axes, after resizing them."""
    for n, axis in zip(sizes, axes):
        a = crop_or_pad(a, check_point_count(n), axis)
    return ops.fft(a, axes=axes, norm=check_norm(norm), inverse=inverse) if axes else a


def real_transform(a: Any, n: Any, axis: int, norm: Any) -> Any:
    """Compute half the spectrum of real numbers."""
    if kind(a) == "c":
        raise DTypeError(f"the operand must be real, not {dtype_of(a)}", hint="fft, or x.real")
    return ops.rfft(crop_or_pad(a, check_point_count(n), axis), axis=axis, norm=check_norm(norm))


def inverse_to_real(a: Any, n: Any, axis: int, norm: Any) -> Any:
    """Compute n real numbers from half their spectrum."""
    n = check_point_count(n)
    return ops.irfft(crop_or_pad(a, n // 2 + 1, axis), n=n, axis=axis, norm=check_norm(norm))


def one_axis_arguments(a: Any, n: Any, axis: int, half: bool = False) -> tuple[Any, Any, int]:
    """Return the array, the number of points and the axis of a transform along one axis; `half` the spectrum
    has 2·(entries − 1) points."""
    a = operand(a)
    axis = normalize_axis(axis, a.ndim)
    if n is None:
        n = 2 * (a.shape[axis] - 1) if half else a.shape[axis]
    return a, n, axis


# -- along one axis ------------------------------------------
@composite(np.fft.fft, derivative=LINEAR)
def fft(a: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Array:
    """The discrete Fourier transform along an axis.

    Raises:
        ValueError: `n` is not positive, or there is no such `norm`.

    >>> power = lambda x: fnp.sum(fnp.abs(fnp.fft.fft(x)) ** 2)  # n·Σx², by Parseval
    >>> fx.grad(power)(fnp.array([1.0, 2.0, 3.0, 4.0]))
    array([ 8., 16., 24., 32.])
    """
    a, n, axis = one_axis_arguments(a, n, axis)
    return complex_transform(a, [n], (axis,), norm)


@composite(np.fft.ifft, derivative=LINEAR)
def ifft(a: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Array:
    """The inverse of `fft` along an axis: complex numbers. The input is first cropped or padded to n.

    Raises:
        ValueError: `n` is not positive, or there is no such `norm`.

    >>> fnp.fft.ifft(fnp.array([4.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    a, n, axis = one_axis_arguments(a, n, axis)
    return complex_transform(a, [n], (axis,), norm, inverse=True)


@composite(np.fft.rfft, derivative=LINEAR)
def rfft(a: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Array:
    """The frequencies 0 … n//2 of real numbers; the others are their conjugates. TypeError for complex ones.

    Raises:
        TypeError: complex numbers.
        ValueError: `n` is not positive, or there is no such `norm`.

    >>> fnp.fft.rfft(fnp.array([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """
    a, n, axis = one_axis_arguments(a, n, axis)
    return real_transform(a, n, axis, norm)


@composite(np.fft.irfft, derivative=LINEAR)
def irfft(a: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Array:
    """The inverse of `rfft`. The imaginary parts of the frequencies 0 and (n even) n/2 have no effect and derivative 0.

    Raises:
        ValueError: `n` is not positive, or there is no such `norm`.

    >>> spectrum = fnp.array([1.0, 2.0 + 1.0j, 3.0])  # of four entries
    >>> (ct,) = fx.vjp(fnp.fft.irfft, spectrum)[1](fnp.array([0.0, 4.0, 0.0, 0.0]))
    >>> bool((ct.imag == [0, 2, 0]).all())
    True
    """
    a, n, axis = one_axis_arguments(a, n, axis, half=True)
    return inverse_to_real(a, n, axis, norm)


@composite(np.fft.hfft, derivative=LINEAR)
def hfft(a: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Array:
    """The transform of a signal with Hermitian symmetry, given by its first half: a real spectrum.

    Raises:
        ValueError: `n` is not positive, or there is no such `norm`.

    >>> fnp.fft.hfft(fnp.array([1.0, 2.0, 3.0]))
    array([ 8., -2.,  0., -2.])
    """
    a, n, axis = one_axis_arguments(a, n, axis, half=True)
    return inverse_to_real(ops.conjugate(a), n, axis, OPPOSITE_NORM[check_norm(norm)])


@composite(np.fft.ihfft, derivative=LINEAR)
def ihfft(a: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Array:
    """The inverse of `hfft`: the first half of a signal with Hermitian symmetry, from its real spectrum.

    Raises:
        TypeError: complex numbers.
        ValueError: `n` is not positive, or there is no such `norm`.

    >>> fnp.fft.ihfft(fnp.array([15.0, -4.0, 0.0, -4.0]))
    array([1.75-0.j, 3.75-0.j, 5.75-0.j])
    """
    a, n, axis = one_axis_arguments(a, n, axis)
    return ops.conjugate(real_transform(a, n, axis, OPPOSITE_NORM[check_norm(norm)]))


# -- along several ------------------------------------------
@composite(np.fft.fftn, derivative=LINEAR)
def fftn(a: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, out: None = None) -> Array:
    """The transform `fft` along axes (all of them), cropped or padded to the sizes `s`.

    Raises:
        ValueError: `s` and `axes` have different lengths, a size is not positive, or there is no such `norm`.
        UnsupportedError: an axis twice, with different sizes.

    >>> fnp.fft.fftn(fnp.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    a = operand(a)
    return complex_transform(a, *sizes_and_axes(a, s, axes), norm)


@composite(np.fft.ifftn, derivative=LINEAR)
def ifftn(a: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, out: None = None) -> Array:
    """The inverse of `fftn`, with the same arguments.

    Raises:
        ValueError: `s` and `axes` have different lengths, a size is not positive, or there is no such `norm`.
        UnsupportedError: an axis twice, with different sizes.

    >>> fnp.fft.ifftn(4 * fnp.eye(1, 4).reshape(2, 2))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    a = operand(a)
    return complex_transform(a, *sizes_and_axes(a, s, axes), norm, inverse=True)


@composite(np.fft.rfftn, derivative=LINEAR)
def rfftn(a: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, out: None = None) -> Array:
    """The transform `rfft` along the last of the axes, then `fft` along the others.

    Raises:
        AxisError: there are no axes.
        ValueError: `s` and `axes` have different lengths, a size is not positive, or there is no such `norm`.
        UnsupportedError: an axis twice, with different sizes.
        TypeError: complex numbers.

    >>> fnp.fft.rfftn(fnp.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    a = operand(a)
    (*sizes, n), (*others, last) = require_axes(*sizes_and_axes(a, s, axes))
    return complex_transform(real_transform(a, n, last, norm), sizes, tuple(others), norm)


@composite(np.fft.irfftn, derivative=LINEAR)
def irfftn(a: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, out: None = None) -> Array:
    """The inverse of `rfftn`: real numbers. The last axis has 2·(n − 1) entries unless `s` says otherwise.

    Raises:
        AxisError: there are no axes.
        ValueError: `s` and `axes` have different lengths, a size is not positive, or there is no such `norm`.
        UnsupportedError: an axis twice, with different sizes.

    >>> fnp.fft.irfftn(fnp.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    a = operand(a)
    (*sizes, n), (*others, last) = require_axes(*sizes_and_axes(a, s, axes))
    if s is None:
        n = 2 * (n - 1)
    return inverse_to_real(complex_transform(a, sizes, tuple(others), norm, inverse=True), n, last, norm)


def require_axes(sizes: list[Any], axes: tuple[int, ...]) -> tuple[list[Any], tuple[int, ...]]:
    """Return sizes and axes; raise unless there is a last one."""
    if not axes:
        raise AxisError(
            "at least one axis must be transformed", hint="axes=None for all axes, or one such as axes=-1"
        )
    return sizes, axes


@composite(np.fft.fft2, derivative=LINEAR)
def fft2(a: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, out: None = None) -> Array:
    """The transform `fft` along two axes, the last ones unless given.

    >>> fnp.fft.fft2(fnp.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return fftn(a, s, axes, norm)


@composite(np.fft.ifft2, derivative=LINEAR)
def ifft2(a: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, out: None = None) -> Array:
    """The inverse of `fft2`.

    >>> fnp.fft.ifft2(fnp.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return ifftn(a, s, axes, norm)


@composite(np.fft.rfft2, derivative=LINEAR)
def rfft2(a: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, out: None = None) -> Array:
    """The transform of real numbers along two axes, the last ones unless given: `rfft` along the second, `fft` along
    the first.

    >>> fnp.fft.rfft2(fnp.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return rfftn(a, s, axes, norm)


@composite(np.fft.irfft2, derivative=LINEAR)
def irfft2(a: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, out: None = None) -> Array:
    """The inverse of `rfft2`: real numbers.

    >>> fnp.fft.irfft2(fnp.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    return irfftn(a, s, axes, norm)


# -- the order of frequencies ------------------------------------------
def half_sizes(x: Any, axes: Any) -> tuple[list[int], tuple[int, ...]]:
    """Return half the size of each axis, and the axes."""
    axes = range(x.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    axes = tuple(normalize_axis(i, x.ndim) for i in axes)
    return [x.shape[i] // 2 for i in axes], axes


@composite(np.fft.fftshift, derivative=LINEAR)
def fftshift(x: ArrayLike, axes: Axis = None) -> Array:
    """An array with the frequency 0 moved to the middle of the axes, all of them unless given.

    >>> fnp.fft.fftshift(fnp.fft.fftfreq(4, 0.25))
    array([-2., -1.,  0.,  1.])
    """
    x = operand(x)
    return roll(x, *half_sizes(x, axes))


@composite(np.fft.ifftshift, derivative=LINEAR)
def ifftshift(x: ArrayLike, axes: Axis = None) -> Array:
    """The inverse of `fftshift`, also for axes of odd size.

    >>> fnp.fft.ifftshift(fnp.array([-1.0, 0.0, 1.0]))
    array([ 0.,  1., -1.])
    """
    x = operand(x)
    by, axes = half_sizes(x, axes)
    return roll(x, [-n for n in by], axes)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

show_public_names(__name__)
