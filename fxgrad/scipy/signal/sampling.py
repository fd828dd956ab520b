"""Resampling, smoothing, and removal of trends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, check_option, ops, wrong_shape
from ...lax.convolution import conv_general_dilated
from ...numpy.composite import floating, kind, normalize_axis, operand
from ..reference import library, scipy_function
from .recursive import sosfiltfilt


# -- trends ------------------------------------------
@scipy_function("signal")
def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Array:
    """Signals without their mean or their least-squares line.

    Args:
        data: signals.
        axis: that of time.
        type: "linear" or "constant".
        bp: places between which lines are fitted separately.

    Raises:
        ValueError: there is no such `type`, or a breakpoint lies outside.

    >>> signal.detrend([1.0, 2.0, 3.0]).round(12) + 0.0
    array([0., 0., 0.])
    >>> fx.grad(lambda x: (signal.detrend(x, type="constant") ** 2).sum())(fx.numpy.array([0.0, 2.0]))
    array([-2.,  2.])
    """
    check_option("detrend", "type", type, ("linear", "constant"), aliases=("l", "c"))
    x = floating(data)
    if type in ("constant", "c"):
        return x - fnp.mean(x, axis, keepdims=True)
    axis = normalize_axis(axis, x.ndim)
    x = fnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    edges = np.sort(np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]]))).astype(int)
    if edges[0] < 0 or edges[-1] > n:
        raise ShapeError(f"detrend: bp={bp} for {n} samples", hint=f"breakpoints from 0 to {n}")
    parts = []
    for start, stop in pairwise(edges):
        count = stop - start
        basis, _ = np.linalg.qr(np.stack([np.arange(1, count + 1) / count, np.ones(count)], 1))
        part, basis = x[..., start:stop], basis.astype(np.result_type(np.float32, x.dtype))
        parts.append(part - fnp.matmul(fnp.matmul(part, basis), basis.T))
    return fnp.moveaxis(fnp.concatenate(parts, axis=-1), -1, axis)


@scipy_function("signal")
def savgol_filter(x: ArrayLike, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0,
                  axis: int = -1, mode: str = "interp", cval: Any = 0.0) -> Array:  # fmt: skip
    """Signals smoothed, or their derivatives, by polynomials of least squares in windows (A. Savitzky, M. J. E. Golay,
    Analytical Chemistry 36, 1964).

    Raises:
        ValueError: there is no such `mode`, or with "interp" the window is longer than the signal.

    >>> fx.scipy.signal.savgol_filter(fnp.array([0.0, 1.0, 4.0, 9.0, 16.0]), 3, 2).round(6) + 0.0
    array([ 0.,  1.,  4.,  9., 16.])
    """
    signal = library("signal", "fxgrad.scipy.signal.savgol_filter")
    # SciPy checks the arguments, and says what a window gives at its ends.
    unit = np.eye(window_length)
    ends = signal.savgol_filter(unit, window_length, polyorder, deriv, delta, axis=0)
    taps = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    x = fnp.moveaxis(floating(x), axis, -1)
    dtype = x.dtype if x.dtype == np.float32 else np.result_type(x.dtype, np.float32)
    ends, taps, half = ends.astype(dtype), taps.astype(dtype), window_length // 2
    if mode == "interp":
        if window_length > x.shape[-1]:
            raise ShapeError(
                f"savgol_filter: window_length={window_length} for {x.shape[-1]} samples",
                hint=f'window_length={x.shape[-1] - (x.shape[-1] + 1) % 2}, or mode="nearest"',
            )
        first = fnp.matmul(x[..., :window_length], ends[:half].T)
        last = fnp.matmul(x[..., x.shape[-1] - window_length :], ends[window_length - half :].T)
        middle = filter_windows(x, taps)[..., 1 - window_length % 2 :]
        y = fnp.concatenate([first, middle, last], axis=-1)
    else:
        left = len(taps) - 1 - half
        widths = ((0, 0),) * (x.ndim - 1) + ((left, len(taps) - 1 - left),)
        y = filter_windows(fnp.pad(x, widths, **padding_of_mode(mode, cval)), taps)
    return fnp.moveaxis(y, -1, axis)


def padding_of_mode(mode: str, cval: Any) -> dict[str, Any]:
    """The keywords of NumPy's `pad` for a mode of SciPy's filters."""
    names = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
    check_option("savgol_filter", "mode", mode, (*names, "interp"))
    return {"mode": names[mode]} | ({"constant_values": cval} if mode == "constant" else {})


def filter_windows(x: Any, taps: Any) -> Any:
    """The convolution with taps along the last axis where they overlap it wholly."""
    full = ops.convolve(x, taps)
    return full[..., len(taps) - 1 : x.shape[-1]]


@scipy_function("signal")
def hilbert(x: ArrayLike, N: int | None = None, axis: int = -1) -> Array:
    """The analytic signal, x + i·(its Hilbert transform), along an axis.

    Raises:
        ValueError: `x` is complex, or `N` is not positive.

    >>> np.abs(signal.hilbert(np.cos(np.linspace(0, 2 * np.pi, 8, endpoint=False)))).round(12)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    x = floating(x)
    if kind(x) == "c":
        raise ShapeError("hilbert: x is complex, expected real numbers", hint="x.real")
    n = x.shape[axis] if N is None else N
    if n <= 0:
        raise ShapeError(f"hilbert: N={n}", hint="N=None for as many as x has")
    weights = np.zeros(n, x.dtype)
    weights[1 : (n + 1) // 2] = 2
    weights[0] = weights[n // 2 :][: 1 - n % 2] = 1
    spectrum = fnp.moveaxis(fnp.fft.fft(x, n, axis), axis, -1) * weights
    return fnp.moveaxis(fnp.fft.ifft(spectrum), -1, axis)


# -- other rates ------------------------------------------
@scipy_function("signal")
def resample(x: ArrayLike, num: int, t: Any = None, axis: int = 0, window: Any = None,
             domain: str = "time") -> Any:  # fmt: skip
    """Periodic signals resampled at `num` points, by their spectrum.

    Args:
        x: signals, or spectra with domain="freq".
        num: the number of points along the axis.
        t: the places of the samples; with them the result is a pair of samples and places.
        window: a name, tuple, function or array that weighs the spectrum.
        domain: "time" or "freq".

    Raises:
        ValueError: there is no such `domain`, or the window has another length.

    >>> signal.resample([1.0, 0.0, -1.0, 0.0], 8).round(3)[:5] + 0.0
    array([ 1.   ,  0.707,  0.   , -0.707, -1.   ])
    """
    check_option("resample", "domain", domain, ("time", "freq"))
    x = fnp.moveaxis(floating(x), axis, -1)
    n, is_real = x.shape[-1], domain == "time" and kind(x) != "c"
    spectrum = x if domain == "freq" else fnp.fft.fft(x)
    if window is not None:
        spectrum = spectrum * spectral_weights(window, n)
    kept = min(n, num)
    # The frequencies below that of Nyquist, of both signs; the one at it is shared.
    low, high = spectrum[..., : (kept + 1) // 2], spectrum[..., n - (kept - 1) // 2 :]
    middle = [fnp.zeros((*x.shape[:-1], num - low.shape[-1] - high.shape[-1]), spectrum.dtype)]
    if kept % 2 == 0:
        edge = spectrum[..., kept // 2 : kept // 2 + 1]
        if num < n:
            edge = edge + spectrum[..., n - kept // 2 : n - kept // 2 + 1]
            middle = [edge]
        elif num > n:
            middle = [edge / 2, fnp.zeros((*x.shape[:-1], num - n - 1), spectrum.dtype), edge / 2]
        else:
            middle = [edge]
    y = fnp.fft.ifft(fnp.concatenate([low, *middle, high], axis=-1)) * (num / n)
    y = fnp.moveaxis(fnp.real(y) if is_real else y, -1, axis)
    if t is None:
        return y
    t = operand(t)
    return y, fnp.arange(num) * (t[1] - t[0]) * n / num + t[0]


def spectral_weights(window: Any, n: int) -> Any:
    """The weights of frequencies that a window gives, in the order of `fft`."""
    if callable(window):
        return window(np.fft.fftfreq(n))
    if isinstance(window, str | tuple):
        return np.fft.ifftshift(library("signal", "fxgrad.scipy.signal.resample").get_window(window, n))
    window = operand(window)
    if window.shape != (n,):
        raise wrong_shape("resample", "window", window.shape, (n,))
    return window


@scipy_function("signal")
def upfirdn(h: ArrayLike, x: ArrayLike, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
            cval: Any = 0) -> Array:  # fmt: skip
    """Signals upsampled by inserted zeros, filtered, and downsampled to every `down`-th entry: a correlation with
    dilation.

    Raises:
        ValueError: `h` is no sequence, or traced values with another `mode` than zeros outside.

    >>> fx.scipy.signal.upfirdn(fnp.array([1.0, 1.0]), fnp.array([1.0, 2.0, 3.0]), up=2)
    array([1., 1., 2., 2., 3., 3.])
    """
    if mode != "constant" or cval != 0:
        raise ShapeError(
            f"upfirdn of traced values goes on with zeros outside, not by mode={mode!r}, cval={cval!r}",
            hint="fnp.pad(x, …) before",
        )
    h, x = floating(h), fnp.moveaxis(floating(x), axis, -1)
    if h.ndim != 1 or not h.size:
        raise ShapeError(f"upfirdn: h has shape {h.shape}", hint="a vector of one weight or more")
    h, x = ops.promote_dtypes([h, x])
    image = fnp.reshape(x, (-1, 1, x.shape[-1]))
    kernel = fnp.reshape(ops.flip(h, axes=(0,)), (1, 1, -1))
    y = conv_general_dilated(image, kernel, (down,), [(h.size - 1, h.size - 1)], lhs_dilation=(up,))
    return fnp.moveaxis(fnp.reshape(y, (*x.shape[:-1], y.shape[-1])), -1, axis)


@scipy_function("signal")
def resample_poly(x: ArrayLike, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0),
                  padtype: str = "constant", cval: Any = None) -> Array:  # fmt: skip
    """Signals resampled at up/down times the rate, by a zero-phase filter.

    Args:
        x: signals.
        up, down: integers.
        window: a name or tuple, of which a filter is made, or the coefficients of one.
        padtype, cval: what is outside: constants; "mean", "median", "minimum", "maximum" are taken off before.

    Raises:
        ValueError: `up` or `down` is not positive, or traced values with a `padtype` that is no constant.

    >>> fx.scipy.signal.resample_poly(fnp.ones(4), 1, 2).shape
    (2,)
    """
    x = floating(x)
    if up < 1 or down < 1 or up != int(up) or down != int(down):
        raise ShapeError(
            f"up and down must be integers >= 1, not {up} and {down}",
            hint="fractions.Fraction(rate).limit_denominator(1000), numerator and denominator",
        )
    divisor = int(np.gcd(int(up), int(down)))
    up, down = int(up) // divisor, int(down) // divisor
    if up == down == 1:
        return x
    n = x.shape[axis]
    count = n * up // down + bool(n * up % down)
    if isinstance(window, str | tuple):
        half = 10 * max(up, down)
        design = library("signal", "fxgrad.scipy.signal.resample_poly")
        h = design.firwin(2 * half + 1, 1.0 / max(up, down), window=window).astype(
            np.result_type(x.dtype, np.float32)
        )
    else:
        h = operand(window)
        half = (h.size - 1) // 2
    h = h * up
    background: Any = 0 if cval is None else cval
    if padtype in ("mean", "median", "minimum", "maximum"):
        take = {"mean": fnp.mean, "median": fnp.median, "minimum": fnp.min, "maximum": fnp.max}[padtype]
        background = take(x, axis=axis, keepdims=True)
    elif padtype != "constant":
        raise ShapeError(
            f"resample_poly of traced values pads with constants, not by padtype={padtype!r}",
            hint='padtype="constant", "mean", "median", "minimum" or "maximum"',
        )
    before = down - half % down
    skipped = (before + half) // down
    after = 0
    while filtered_length(h.size + before + after, n, up, down) < count + skipped:
        after += 1
    y = upfirdn(fnp.pad(h, (before, after)), x - background, up, down, axis)
    kept = [slice(None)] * y.ndim
    kept[axis] = slice(skipped, skipped + count)
    return y[tuple(kept)] + background


def filtered_length(taps: int, n: int, up: int, down: int) -> int:
    """The number of entries that `upfirdn` gives."""
    return ((n - 1) * up + taps - 1) // down + 1


@scipy_function("signal")
def decimate(x: ArrayLike, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1,
             zero_phase: bool = True) -> Array:  # fmt: skip
    """Every q-th entry of low-pass filtered signals.

    Args:
        x: signals.
        q: an integer.
        n: the order of the filter.
        ftype: "iir", a Chebyshev filter, or "fir", a Hamming window.
        zero_phase: filter without shift of phase.

    Raises:
        ValueError: traced values without `zero_phase`, or with a filter of the caller's own.

    >>> signal.decimate(np.ones(40), 8).round(1)
    array([1., 1., 1., 1., 1.])
    """
    if not zero_phase or ftype not in ("iir", "fir"):
        raise ShapeError(
            'decimate of traced values has zero_phase=True and ftype "iir" or "fir"',
            hint="scipy.signal.decimate of plain arrays",
        )
    x = floating(x)
    design = library("signal", "fxgrad.scipy.signal.decimate")
    if ftype == "fir":
        taps = design.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        return resample_poly(x, 1, q, axis, taps.astype(np.result_type(x.dtype, np.float32)))
    sos = design.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
    y = sosfiltfilt(sos.astype(np.result_type(x.dtype, np.float32)), x, axis)
    kept = [slice(None)] * y.ndim
    kept[axis] = slice(None, None, q)
    return y[tuple(kept)]


__all__ = ["decimate", "detrend", "hilbert", "resample", "resample_poly", "savgol_filter", "upfirdn"]
