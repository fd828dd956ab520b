"""`fxgrad.scipy.fft`: Fourier, cosine and sine transforms with the names of scipy.fft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .. import numpy as fnp
from ..extend import Array, ArrayLike, Axis, ShapeError, api_boundary, check_option, ops, show_public_names
from ..numpy.composite import kind, operand
from ..numpy.documentation import LINEAR
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
class AlongAxis(Protocol):
    """The type of the transforms along one axis."""

    def __call__(self, x: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
                 workers: Any = None, *, plan: Any = None) -> Array: ...  # fmt: skip


class AlongAxes(Protocol):
    """The type of the transforms along several axes."""

    def __call__(self, x: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
                 workers: Any = None, *, plan: Any = None) -> Array: ...  # fmt: skip


def declare(function: Any, name: str, text: str, example: str) -> Any:
    """Declare a transform that numpy.fft has by this name; the example says which shape a result has."""
    function.__name__ = name
    function.__doc__ = f"""{text}

    `overwrite_x`, `workers` and `plan` are SciPy's; traced values have no use for them. See `fxgrad.numpy.fft.{name}`.

    >>> fx.scipy.fft.{name}{example}
    """
    return scipy_function("fft", derivative=LINEAR)(function)


def along_axis(name: str, text: str, size: int) -> AlongAxis:
    """Declare a transform along one axis; `size` is that of the transform of four entries."""

    def function(x: ArrayLike, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
                 workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
        return getattr(fnp.fft, name)(x, n, axis, norm)

    return declare(function, name, text, f"(fnp.ones(4)).shape\n    ({size},)")


def along_axes(name: str, text: str, size: int, last_two: bool = False) -> AlongAxes:
    """Declare a transform along several axes; `size` is the last one of the transform of two rows of four entries."""
    default = (-2, -1) if last_two else None

    def function(x: ArrayLike, s: Any = None, axes: Axis = default, norm: Any = None, overwrite_x: bool = False,
                 workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
        return getattr(fnp.fft, name)(x, s, axes, norm)

    return declare(function, name, text, f"(fnp.ones((2, 4))).shape\n    (2, {size})")


fft: AlongAxis = along_axis("fft", "The discrete Fourier transform along an axis.", 4)
ifft: AlongAxis = along_axis("ifft", "The inverse of `fft` along an axis.", 4)
rfft: AlongAxis = along_axis("rfft", "The frequencies 0 … n//2 of real numbers along an axis.", 3)
irfft: AlongAxis = along_axis("irfft", "The inverse of `rfft` along an axis: real numbers.", 6)
hfft: AlongAxis = along_axis("hfft", "The real spectrum of a Hermitian signal, given by its first half.", 6)
ihfft: AlongAxis = along_axis("ihfft", "The inverse of `hfft`: the first half of a Hermitian signal.", 3)
fftn: AlongAxes = along_axes("fftn", "The transform `fft` along axes, all of them unless given.", 4)
ifftn: AlongAxes = along_axes("ifftn", "The inverse of `fftn`.", 4)
rfftn: AlongAxes = along_axes(
    "rfftn", "The transform `rfft` along the last of the axes, `fft` along the others.", 3
)
irfftn: AlongAxes = along_axes("irfftn", "The inverse of `rfftn`: real numbers.", 6)
fft2: AlongAxes = along_axes(
    "fft2", "The transform `fft` along two axes, the last ones unless given.", 4, True
)
ifft2: AlongAxes = along_axes("ifft2", "The inverse of `fft2`.", 4, True)
rfft2: AlongAxes = along_axes(
    "rfft2", "The transform `rfftn` along two axes, the last ones unless given.", 3, True
)
irfft2: AlongAxes = along_axes("irfft2", "The inverse of `rfft2`: real numbers.", 6, True)


@scipy_function("fft", derivative=LINEAR)
def hfftn(x: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The real transform of a signal with Hermitian symmetry, given by its first half along the last axis.

    >>> fx.scipy.fft.hfftn(fnp.array([1.0, 2.0, 3.0]))
    array([ 8., -2.,  0., -2.])
    """
    return fnp.fft.irfftn(fnp.conj(x), s, axes, OPPOSITE_NORM[check_norm(norm)])


@scipy_function("fft", derivative=LINEAR)
def ihfftn(x: ArrayLike, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
           workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The inverse of `hfftn`.

    >>> fx.scipy.fft.ihfftn(fnp.array([15.0, -4.0, 0.0, -4.0])).real
    array([1.75, 3.75, 5.75])
    """
    return fnp.conj(fnp.fft.rfftn(x, s, axes, OPPOSITE_NORM[check_norm(norm)]))


@scipy_function("fft", derivative=LINEAR)
def hfft2(x: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The transform `hfftn` along the last two axes.

    >>> fx.scipy.fft.hfft2(fnp.ones((2, 2)))
    array([[4., 0.],
           [0., 0.]])
    """
    return hfftn(x, s, axes, norm)


@scipy_function("fft", derivative=LINEAR)
def ihfft2(x: ArrayLike, s: Any = None, axes: Axis = (-2, -1), norm: Any = None, overwrite_x: bool = False,
           workers: Any = None, *, plan: Any = None) -> Array:  # fmt: skip
    """The inverse of `hfft2`.

    >>> fx.scipy.fft.ihfft2(fnp.array([[4.0, 0.0], [0.0, 0.0]])).real
    array([[1., 1.],
           [1., 1.]])
    """
    return ihfftn(x, s, axes, norm)


@api_boundary
def next_fast_len(target: int, real: bool = False) -> int:
    """The smallest size of at least `target` for which transforms are fast; `real` transforms have other sizes.

    >>> fx.scipy.fft.next_fast_len(93)
    96
    """
    return library("fft", "fxgrad.scipy.fft.next_fast_len").next_fast_len(target, real)


@api_boundary
def prev_fast_len(target: int, real: bool = False) -> int:
    """The largest size of at most `target` for which transforms are fast; `real` transforms have other sizes.

    >>> fx.scipy.fft.prev_fast_len(93)
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
    check_option(wave, "type", type, INVERSE_TYPE)
    x, n, axis = one_axis_arguments(x, n, axis)
    x, norm = crop_or_pad(x, check_point_count(n), axis), check_norm(norm)
    before, after = ENDS.get((wave, type), ((), ()))
    orthogonalize = norm == "ortho" if orthogonalize is None else orthogonalize
    if orthogonalize:
        x = scale_entries(x, before, 2**0.5, axis)
    period = 2 * n + EXCESS.get((wave, type), 0)
    if period == 0:
        raise ShapeError(
            "the cosine transform of type 1 is not defined for a single entry", hint="type=2, or n=2 and more"
        )
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


@scipy_function("fft", derivative=LINEAR)
def dct(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The discrete cosine transform along an axis.

    Args:
        x: a real or complex array.
        type: 1 to 4, the form of the sum.
        n: crop or pad to so many entries; by default all.
        axis: that along which the sums go.
        norm: "backward" (no factor), "ortho" or "forward" (1 over the period).
        overwrite_x, workers: of no effect on traced values.
        orthogonalize: scale the ends such that "ortho" is an orthogonal matrix; the default there.

    Raises:
        ValueError: there is no such `type` or `norm`, `n` is not positive, or of type 1 there is a single entry.

    >>> energy = lambda x: (fft.dct(x, norm="ortho") ** 2).sum()
    >>> fx.grad(energy)(np.array([1.0, 2.0, 3.0])).round(12)
    array([2., 4., 6.])
    """
    return transform_wave(x, "cosine", type, n, axis, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def idct(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dct` along an axis, with the same arguments.

    Raises:
        ValueError: as of `dct`.

    >>> fx.scipy.fft.idct(fx.scipy.fft.dct(fnp.array([1.0, 2.0, 3.0]))).round(6)
    array([1., 2., 3.])
    """
    type, norm = inverse(type, norm)
    return transform_wave(x, "cosine", type, n, axis, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def dst(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The discrete sine transform along an axis; arguments as of `dct`.

    Raises:
        ValueError: there is no such `type` or `norm`, or `n` is not positive.

    >>> fx.scipy.fft.dst(fnp.array([1.0, 0.0]), type=1).round(6)
    array([1.732051, 1.732051])
    """
    return transform_wave(x, "sine", type, n, axis, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def idst(x: ArrayLike, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dst` along an axis, with the same arguments.

    Raises:
        ValueError: as of `dct`.

    >>> fx.scipy.fft.idst(fx.scipy.fft.dst(fnp.array([1.0, 2.0, 3.0]))).round(6)
    array([1., 2., 3.])
    """
    type, norm = inverse(type, norm)
    return transform_wave(x, "sine", type, n, axis, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def dctn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, *, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The cosine transform `dct` along several axes.

    Raises:
        ValueError: `s` and `axes` have different lengths, or one transform is refused, as by `dct`.

    >>> fx.scipy.fft.dctn(fnp.ones((2, 2))).round(6)
    array([[16.,  0.],
           [ 0.,  0.]])
    """
    return transform_waves(x, "cosine", type, s, axes, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def idctn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dctn`.

    Raises:
        ValueError: `s` and `axes` have different lengths, or one transform is refused, as by `dct`.

    >>> fx.scipy.fft.idctn(fx.scipy.fft.dctn(fnp.eye(2))).round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    type, norm = inverse(type, norm)
    return transform_waves(x, "cosine", type, s, axes, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def dstn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
         workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The sine transform `dst` along several axes.

    Raises:
        ValueError: `s` and `axes` have different lengths, or one transform is refused, as by `dct`.

    >>> fx.scipy.fft.dstn(fnp.ones((2, 2))).round(6)
    array([[8., 0.],
           [0., 0.]])
    """
    return transform_waves(x, "sine", type, s, axes, norm, orthogonalize)


@scipy_function("fft", derivative=LINEAR)
def idstn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis = None, norm: Any = None, overwrite_x: bool = False,
          workers: Any = None, orthogonalize: bool | None = None) -> Array:  # fmt: skip
    """The inverse of `dstn`.

    Raises:
        ValueError: `s` and `axes` have different lengths, or one transform is refused, as by `dct`.

    >>> fx.scipy.fft.idstn(fx.scipy.fft.dstn(fnp.ones((2, 2)))).round(6)
    array([[1., 1.],
           [1., 1.]])
    """
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
    """The Hankel transform of samples at logarithmic distances `dln`, of the order `mu` (A. J. S. Hamilton, MNRAS 312,
    2000). It is linear in `a`; the other arguments are plain numbers.

    >>> fx.scipy.fft.fht(fnp.exp(-fnp.array([0.1, 1.0, 10.0]) ** 2), 2.3, 0.0).round(4)
    array([-0.1213,  0.798 ,  0.6812])
    """
    return hankel(a, dln, mu, offset, bias, inverted=False)


@scipy_function("fft")
def ifht(A: ArrayLike, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Array:
    """The inverse of `fht`: linear in `A`.

    >>> fx.scipy.fft.ifht(fx.scipy.fft.fht(fnp.array([1.0, 2.0, 3.0]), 2.3, 0.0), 2.3, 0.0).round(6)
    array([1., 2., 3.])
    """
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

show_public_names(__name__)
