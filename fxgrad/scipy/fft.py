"""`fxgrad.scipy.fft`: Fourier, cosine and sine transforms by the names of scipy.fft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.errors import ShapeError
from ..core.typing import Array, ArrayLike, Axis
from ..numpy.composite import kind, operand
from ..numpy.fft import (
    OPPOSITE_NORM,
    check_norm,
    check_point_count,
    crop_or_pad,
    fftfreq,
    fftshift,
    ifftshift,
    one_axis_arguments,
    rfftfreq,
    sizes_and_axes,
)
from .reference import library, scipy_function


# -- Fourier transforms ------------------------------------------
def along_axis(name: str) -> Any:
    """Declare the transform along one axis that numpy.fft has by this name."""

    def function(x: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
                 workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
        return getattr(fnp.fft, name)(x, n, axis, norm)

    function.__name__ = name
    return scipy_function("fft")(function)


def along_axes(name: str, last_two: bool = False) -> Any:
    """Declare the transform along several axes that numpy.fft has by this name."""
    default = (-2, -1) if last_two else None

    def function(x: ArrayLike, s: Any = None, axes: Axis = default, norm: Any = None, overwrite_x: bool = False,
                 workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
        return getattr(fnp.fft, name)(x, s, axes, norm)

    function.__name__ = name
    return scipy_function("fft")(function)


fft, ifft, rfft, irfft, hfft, ihfft = map(along_axis, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(along_axes, ("fftn", "ifftn", "rfftn", "irfftn"))
fft2, ifft2, rfft2, irfft2 = (
    along_axes(name, last_two=True) for name in ("fft2", "ifft2", "rfft2", "irfft2")
)


@scipy_function("fft")
def hfftn(x: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The real transform of a signal with Hermitian symmetry, given by its first half along the last axis."""
    return fnp.fft.irfftn(fnp.conj(x), s, axes, OPPOSITE_NORM[check_norm(norm)])


@scipy_function("fft")
def ihfftn(x: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
           workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The inverse of `hfftn`."""
    return fnp.conj(fnp.fft.rfftn(x, s, axes, OPPOSITE_NORM[check_norm(norm)]))


@scipy_function("fft")
def hfft2(x: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """`hfftn` along the last two axes."""
    return hfftn(x, s, axes, norm)


@scipy_function("fft")
def ihfft2(x: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, overwrite_x: bool = False,
           workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The inverse of `hfft2`."""
    return ihfftn(x, s, axes, norm)


def next_fast_len(target: int, real: bool = False) -> int:
    """The least size that is not less than `target` and for which transforms are fast.

    >>> from fxgrad.scipy import fft
    >>> fft.next_fast_len(93)
    96
    """
    return library("fft", "fxgrad.scipy.fft.next_fast_len").next_fast_len(target, real)


def prev_fast_len(target: int, real: bool = False) -> int:
    """The greatest size that is not more than `target` and for which transforms are fast.

    >>> from fxgrad.scipy import fft
    >>> fft.prev_fast_len(93)
    90
    """
    return library("fft", "fxgrad.scipy.fft.prev_fast_len").prev_fast_len(target, real)


# -- cosine and sine transforms ------------------------------------------
INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}
# What the period of the transformed wave exceeds twice the number of entries by.
EXCESS = {("cosine", 1): -2, ("sine", 1): 2}
# By which factor the orthogonal transform has entries multiplied before and after: of which entries.
ENDS = {
    ("cosine", 1): ((0, -1), (0, -1)), ("cosine", 2): ((), (0,)), ("cosine", 3): ((0,), ()),
    ("sine", 2): ((), (-1,)), ("sine", 3): ((-1,), ()),
}  # fmt: skip


def scale_entries(x: Any, places: Sequence[int], factor: float, axis: int) -> Any:
    """Multiply entries at places along an axis."""
    if not places:
        return x
    weights = np.ones((x.shape[axis],) + (1,) * (x.ndim - axis - 1), np.float32 if kind(x) in "fc" else float)
    weights = weights.astype(np.result_type(x.dtype, weights.dtype))
    weights[list(places)] = factor
    return ops.multiply(x, weights)


def transform_wave(
    x: Any, wave: str, type: int, n: Any, axis: int, norm: Any, orthogonalize: bool | None
) -> Any:
    """The cosine or sine transform of a type, scaled as `norm` says."""
    if type not in INVERSE_TYPE:
        raise ShapeError(f"Invalid transform type ({type}): it is 1, 2, 3 or 4")
    x, n, axis = one_axis_arguments(x, n, axis)
    x, norm = crop_or_pad(x, check_point_count(n), axis), check_norm(norm)
    before, after = ENDS.get((wave, type), ((), ()))
    orthogonalize = norm == "ortho" if orthogonalize is None else orthogonalize
    if orthogonalize:
        x = scale_entries(x, before, 2**0.5, axis)
    period = 2 * n + EXCESS.get((wave, type), 0)
    if period == 0:
        raise ShapeError("the cosine transform of type 1 is not defined for a single entry")
    y = ops.trigonometric_transform(x, wave=wave, form=type, axis=axis)
    if orthogonalize:
        y = scale_entries(y, after, 0.5**0.5, axis)
    return y * period ** {"backward": 0.0, "ortho": -0.5, "forward": -1.0}[norm]


def transform_waves(
    x: Any, wave: str, type: int, s: Any, axes: Any, norm: Any, orthogonalize: bool | None
) -> Any:
    """The cosine or sine transform along several axes, one after the other."""
    x = operand(x)
    if np.ndim(s) == 0 and s is not None:
        s = (s,)
    if np.ndim(axes) == 0 and axes is not None:
        axes = (axes,)
    for n, axis in zip(*sizes_and_axes(x, s, axes)):
        x = transform_wave(x, wave, type, n, axis, norm, orthogonalize)
    return x


def inverse(type: int, norm: Any) -> tuple[int, str]:
    """The type and normalization of the transform that is the inverse."""
    return INVERSE_TYPE.get(type, type), OPPOSITE_NORM[check_norm(norm)]


@scipy_function("fft")
def dct(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The discrete cosine transform along an axis; arguments as those of `scipy.fft.dct`.

    >>> import fxgrad as fx, numpy as np
    >>> from fxgrad.scipy import fft
    >>> energy = lambda x: (fft.dct(x, norm="ortho") ** 2).sum()
    >>> fx.grad(energy)(np.array([1.0, 2.0, 3.0])).round(12)
    array([2., 4., 6.])
    """
    return transform_wave(x, "cosine", type, n, axis, norm, orthogonalize)


@scipy_function("fft")
def idct(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dct`."""
    type, norm = inverse(type, norm)
    return transform_wave(x, "cosine", type, n, axis, norm, orthogonalize)


@scipy_function("fft")
def dst(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The discrete sine transform along an axis; arguments as those of `scipy.fft.dst`."""
    return transform_wave(x, "sine", type, n, axis, norm, orthogonalize)


@scipy_function("fft")
def idst(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dst`."""
    type, norm = inverse(type, norm)
    return transform_wave(x, "sine", type, n, axis, norm, orthogonalize)


@scipy_function("fft")
def dctn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, *, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """`dct` along several axes."""
    return transform_waves(x, "cosine", type, s, axes, norm, orthogonalize)


@scipy_function("fft")
def idctn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dctn`."""
    type, norm = inverse(type, norm)
    return transform_waves(x, "cosine", type, s, axes, norm, orthogonalize)


@scipy_function("fft")
def dstn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """`dst` along several axes."""
    return transform_waves(x, "sine", type, s, axes, norm, orthogonalize)


@scipy_function("fft")
def idstn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dstn`."""
    type, norm = inverse(type, norm)
    return transform_waves(x, "sine", type, s, axes, norm, orthogonalize)


# -- Hankel transforms on logarithmic grids ------------------------------------------
def hankel_coefficients(n: int, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    """The factors of the frequencies: A. J. S. Hamilton, MNRAS 312 (2000)."""
    special = library("special", "fxgrad.scipy.fft.fht")
    y = np.linspace(0, np.pi * (n // 2) / (n * dln), n // 2 + 1)
    forth, back = ((mu + 1 + bias) / 2 + 1j * y, (mu + 1 - bias) / 2 + 1j * y)
    u = special.loggamma(forth) - special.loggamma(back).conj()
    u = np.exp(u.real + np.log(2) * bias + 1j * (u.imag + 2 * (np.log(2) - offset) * y))
    if n % 2 == 0:
        u.imag[-1] = 0
    if not np.isfinite(u[0]):  # the ratio of the two poles
        u[0] = 2**bias * special.poch(back[0].real, forth[0].real - back[0].real)
    return u


@scipy_function("fft")
def fht(a: ArrayLike, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Array:
    """The Hankel transform of samples at logarithmic distances, linear in `a`; as `scipy.fft.fht`."""
    return hankel(a, dln, mu, offset, bias, inverted=False)


@scipy_function("fft")
def ifht(A: ArrayLike, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Array:
    """The inverse of `fht`."""
    return hankel(A, dln, mu, offset, bias, inverted=True)


def hankel(a: Any, dln: Any, mu: Any, offset: Any, bias: Any, inverted: bool) -> Any:
    """Multiply the spectrum by the coefficients of the transform, and the samples by powers before and after."""
    a = operand(a)
    n = a.shape[-1]
    power = bias * (np.arange(n) - (n - 1) / 2) * dln
    u = hankel_coefficients(n, dln, mu, offset, bias)
    a = a * np.exp(power + bias * offset) if inverted else a * np.exp(-power)
    spectrum = fnp.fft.rfft(a)
    spectrum = spectrum / u.conj() if inverted else spectrum * u
    a = fnp.fft.irfft(spectrum, n)[..., ::-1]
    return a * np.exp(power) if inverted else a * np.exp(-(power + bias * offset))


__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "fht", "hfft", "hfft2", "hfftn",
    "idct", "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ifht", "ihfft", "ihfft2", "ihfftn",
    "irfft", "irfft2", "irfftn", "next_fast_len", "prev_fast_len", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
