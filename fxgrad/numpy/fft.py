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
from ..core.errors import AxisError, DTypeError, ShapeError, UnsupportedError
from ..ops.fourier import OPPOSITE
from .composite import at_axis, axis_index, composite, dtype_of, kind, operand
from .manipulation import roll

fftfreq, rfftfreq = np.fft.fftfreq, np.fft.rfftfreq


def checked(norm: Any) -> str:
    """A normalization by its name; None is "backward"."""
    if norm is None:
        return "backward"
    if norm not in OPPOSITE:
        raise ShapeError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    return norm


def sized(a: Any, n: int, axis: int) -> Any:
    """The array cropped to n entries along an axis, or padded with zeros at its end."""
    have = a.shape[axis]
    if n < have:
        return ops.getitem(a, index=at_axis(slice(0, n, None), axis))
    if n > have:
        return ops.pad(a, widths=tuple((0, n - have if i == axis else 0) for i in range(a.ndim)))
    return a


def points(n: Any) -> int:
    """A number of points as NumPy takes it."""
    if index(n) < 1:
        raise ShapeError(f"Invalid number of FFT data points ({n}) specified.")
    return index(n)


def along(a: Any, s: Any, axes: Any) -> tuple[list[Any], tuple[int, ...]]:
    """(sizes, axes made non-negative) of a transform along several axes; a size of -1 is that of the array."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    axes = tuple(axis_index(i, a.ndim) for i in axes)
    sizes = [-1] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes):
        raise ShapeError("Shape and axes have different lengths.")
    sizes = [a.shape[i] if n == -1 else n for n, i in zip(sizes, axes)]
    if len(set(zip(axes, sizes))) > len(set(axes)):
        raise UnsupportedError(
            "an axis that is transformed twice, with different sizes", hint="two transforms"
        )
    return sizes, axes


def of_complex(a: Any, sizes: Sequence[Any], axes: tuple[int, ...], norm: Any, inverse: bool = False) -> Any:
    """The transform along axes, resized."""
    for n, axis in zip(sizes, axes):
        a = sized(a, points(n), axis)
    return ops.fft(a, axes=axes, norm=checked(norm), inverse=inverse) if axes else a


def of_real(a: Any, n: Any, axis: int, norm: Any) -> Any:
    """Half the spectrum of real numbers."""
    if kind(a) == "c":
        raise DTypeError(f"the operand must be real, not {dtype_of(a)}", hint="fft, or x.real")
    return ops.rfft(sized(a, points(n), axis), axis=axis, norm=checked(norm))


def to_real(a: Any, n: Any, axis: int, norm: Any) -> Any:
    """n real numbers from half their spectrum."""
    n = points(n)
    return ops.irfft(sized(a, n // 2 + 1, axis), n=n, axis=axis, norm=checked(norm))


def one(a: Any, n: Any, axis: int, half: bool = False) -> tuple[Any, Any, int]:
    """(array, number of points, axis) of a transform along one axis; `half` the spectrum has 2·(entries − 1) points."""
    a = operand(a)
    axis = axis_index(axis, a.ndim)
    if n is None:
        n = 2 * (a.shape[axis] - 1) if half else a.shape[axis]
    return a, n, axis


# -- along one axis ------------------------------------------
@composite(np.fft.fft)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    """The discrete Fourier transform along an axis.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> power = lambda x: fnp.sum(fnp.abs(fnp.fft.fft(x)) ** 2)  # n·Σx², by Parseval
    >>> fx.grad(power)(fnp.array([1.0, 2.0, 3.0, 4.0]))
    array([ 8., 16., 24., 32.])
    """
    a, n, axis = one(a, n, axis)
    return of_complex(a, [n], (axis,), norm)


@composite(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    """The inverse of `fft`."""
    a, n, axis = one(a, n, axis)
    return of_complex(a, [n], (axis,), norm, inverse=True)


@composite(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    """The frequencies 0 … n//2 of real numbers; the others are their conjugates."""
    a, n, axis = one(a, n, axis)
    return of_real(a, n, axis, norm)


@composite(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    """The inverse of `rfft`. Of the frequencies 0 and (n even) n/2 the imaginary parts have no effect and derivative 0.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> spectrum = fnp.array([1.0, 2.0 + 1.0j, 3.0])  # of four entries
    >>> (ct,) = fx.vjp(fnp.fft.irfft, spectrum)[1](fnp.array([0.0, 4.0, 0.0, 0.0]))
    >>> bool((ct.imag == [0, 2, 0]).all())
    True
    """
    a, n, axis = one(a, n, axis, half=True)
    return to_real(a, n, axis, norm)


@composite(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    """The transform of a signal with Hermitian symmetry, given by its first half: a real spectrum."""
    a, n, axis = one(a, n, axis, half=True)
    return to_real(ops.conjugate(a), n, axis, OPPOSITE[checked(norm)])


@composite(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    """The inverse of `hfft`."""
    a, n, axis = one(a, n, axis)
    return ops.conjugate(of_real(a, n, axis, OPPOSITE[checked(norm)]))


# -- along several ------------------------------------------
@composite(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    """`fft` along axes (all of them), cropped or padded to the sizes `s`."""
    a = operand(a)
    return of_complex(a, *along(a, s, axes), norm)


@composite(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    """The inverse of `fftn`."""
    a = operand(a)
    return of_complex(a, *along(a, s, axes), norm, inverse=True)


@composite(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    """`rfft` along the last of the axes, then `fft` along the others."""
    a = operand(a)
    (*sizes, n), (*others, last) = some(*along(a, s, axes))
    return of_complex(of_real(a, n, last, norm), sizes, tuple(others), norm)


@composite(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    """The inverse of `rfftn`."""
    a = operand(a)
    (*sizes, n), (*others, last) = some(*along(a, s, axes))
    if s is None:
        n = 2 * (n - 1)
    return to_real(of_complex(a, sizes, tuple(others), norm, inverse=True), n, last, norm)


def some(sizes: list[Any], axes: tuple[int, ...]) -> tuple[list[Any], tuple[int, ...]]:
    """Sizes and axes, of which there must be a last one."""
    if not axes:
        raise AxisError("at least one axis must be transformed")
    return sizes, axes


@composite(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return fftn(a, s, axes, norm)


@composite(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return ifftn(a, s, axes, norm)


@composite(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return rfftn(a, s, axes, norm)


@composite(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return irfftn(a, s, axes, norm)


# -- the order of frequencies ------------------------------------------
def shifts(x: Any, axes: Any) -> tuple[list[int], tuple[int, ...]]:
    """(half the size of each axis, the axes)."""
    axes = range(x.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    axes = tuple(axis_index(i, x.ndim) for i in axes)
    return [x.shape[i] // 2 for i in axes], axes


@composite(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle."""
    x = operand(x)
    return roll(x, *shifts(x, axes))


@composite(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of `fftshift`."""
    x = operand(x)
    by, axes = shifts(x, axes)
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
