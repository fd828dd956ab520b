"""Short-time Fourier transforms, and averages of the spectra of segments (P. Welch, 1967)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, check_ndim, check_option
from ...numpy.composite import cast, floating, kind, normalize_axis, operand
from ..reference import library, scipy_function
from .recursive import extend
from .sampling import detrend as remove_trend

Detrending = str | Literal[False] | Callable[[Any], Any]


class Segments(NamedTuple):
    """How signals are cut into segments: the window, its size, the steps, and the size of the transforms."""

    window: Any
    size: int
    step: int
    fft_size: int
    fs: Any

    def scale(self, scaling: str) -> Any:
        """The factor of powers."""
        check_option("the spectrum", "scaling", scaling, ("density", "spectrum"))
        if scaling == "density":
            return 1.0 / (self.fs * fnp.sum(self.window * self.window))
        return 1.0 / fnp.sum(self.window) ** 2


def make_window(window: Any, nperseg: int | None, n: int) -> tuple[Any, int]:
    """Return a window, given as an array or as SciPy names it, and its size."""
    if isinstance(window, str | tuple):
        size = 256 if nperseg is None else nperseg
        if size > n:
            if nperseg is not None:
                warnings.warn(f"nperseg = {size:d} is greater than input length  = {n:d}, using nperseg = {n:d}",
                              stacklevel=4)  # fmt: skip
            size = n
        name = window.removesuffix("_periodic") if isinstance(window, str) else window
        return library("signal", "a window").get_window(name, size), size  # periodic, by any SciPy
    window = operand(window)
    check_ndim("the spectrum", "window", window, 1)
    if nperseg is not None and nperseg != window.size:
        raise ShapeError(
            f"nperseg={nperseg} for a window of {window.size} entries", hint=f"nperseg={window.size}, or None"
        )
    if window.size > n:
        raise ShapeError(
            f"a window of {window.size} entries for a signal of {n}",
            hint=f"a window of at most {n} entries, or fnp.pad(x, …)",
        )
    return window, window.size


def plan_segments(
    window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None, fs: Any, n: int
) -> Segments:
    """Return how signals of n entries are cut."""
    if nperseg is not None and nperseg < 1:
        raise ShapeError(f"nperseg={nperseg} is no length of segments", hint="nperseg=256, the default")
    window, size = make_window(window, nperseg, n)
    overlap = size // 2 if noverlap is None else int(noverlap)
    if overlap >= size:
        raise ShapeError(
            f"noverlap={overlap} for segments of {size} samples", hint=f"noverlap={size // 2}, the default"
        )
    fft_size = size if nfft is None else int(nfft)
    if fft_size < size:
        raise ShapeError(
            f"nfft={fft_size} for segments of {size} samples", hint=f"nfft={size} or more, None for {size}"
        )
    return Segments(window, size, size - overlap, fft_size, fs)


def transform_segments(x: Any, plan: Segments, detrend: Detrending, onesided: bool) -> Any:
    """The spectra of windowed segments along the last axis, (…, frequencies, segments)."""
    count = (x.shape[-1] - plan.size) // plan.step + 1
    places = np.arange(count)[:, None] * plan.step + np.arange(plan.size)
    parts = x[..., places]
    if callable(detrend):
        parts = detrend(parts)
    elif detrend:
        parts = remove_trend(parts, type=detrend)
    parts = parts * cast(plan.window, np.result_type(x.dtype, np.float32))
    if onesided:
        return fnp.moveaxis(fnp.fft.rfft(parts, plan.fft_size), -1, -2)
    return fnp.moveaxis(fnp.fft.fft(parts, plan.fft_size), -1, -2)


def frequencies(plan: Segments, onesided: bool) -> Any:
    """The frequencies of the spectra."""
    numbers = np.fft.rfftfreq(plan.fft_size) if onesided else np.fft.fftfreq(plan.fft_size)
    return numbers * plan.fs


def segment_times(plan: Segments, n: int) -> Any:
    """The times of the middles of the segments."""
    return np.arange(plan.size / 2, n - plan.size / 2 + 1, plan.step) / plan.fs


def at_axis(values: Any, axis: int, ndim: int) -> Any:
    """Move the axis of frequencies of (…, frequencies) or (…, frequencies, segments) to where time was."""
    return fnp.moveaxis(values, ndim - 1, axis)


def spectral_powers(x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
                    detrend: Detrending, return_onesided: bool, scaling: str, axis: int) -> Any:  # fmt: skip
    """Return frequencies, times, and the (cross) powers of segments (…, frequencies, segments)."""
    same = y is None
    x = fnp.moveaxis(floating(x), axis, -1)
    y = x if same else fnp.moveaxis(floating(y), axis, -1)
    n = max(x.shape[-1], y.shape[-1])
    if not same and x.shape[-1] != y.shape[-1]:
        x, y = (fnp.pad(v, ((0, 0),) * (v.ndim - 1) + ((0, n - v.shape[-1]),)) for v in (x, y))
    plan = plan_segments(window, nperseg, noverlap, nfft, fs, n)
    onesided = return_onesided and kind(x) != "c" and kind(y) != "c" and kind(plan.window) != "c"
    first = transform_segments(x, plan, detrend, onesided)
    if same:
        powers = fnp.real(first) ** 2 + fnp.imag(first) ** 2
    else:
        powers = fnp.conj(first) * transform_segments(y, plan, detrend, onesided)
    doubled = np.ones(powers.shape[-2])
    if onesided:  # the frequencies that stand for their mirror images too
        doubled[1 : (plan.fft_size + 1) // 2] = 2
    weights = plan.scale(scaling) * doubled[:, None]
    powers = powers * cast(weights, np.result_type(fnp.real(x).dtype, np.float32))
    return frequencies(plan, onesided), segment_times(plan, n), powers


def average(powers: Any, how: str) -> Any:
    """The mean or the median over segments, which without its bias estimates the mean."""
    check_option("the spectrum", "average", how, ("mean", "median"))
    if how == "mean":
        return fnp.mean(powers, -1)
    later = np.arange(2, powers.shape[-1], 2)
    bias = 1 + np.sum(1.0 / (later + 1) - 1.0 / later)
    if kind(powers) == "c":
        return (fnp.median(fnp.real(powers), -1) + 1j * fnp.median(fnp.imag(powers), -1)) / bias
    return fnp.median(powers, -1) / bias


@scipy_function("signal")
def csd(x: ArrayLike, y: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
        noverlap: int | None = None, nfft: int | None = None, detrend: Detrending = "constant",
        return_onesided: bool = True, scaling: str = "density", axis: int = -1,
        average: str = "mean") -> tuple[Array, Array]:  # fmt: skip
    """The pair of frequencies and the cross power spectral density of two signals by Welch's method: see `welch`.

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other or the signal, or there is no
            such `average`.

    >>> fx.scipy.signal.csd(fnp.arange(8.0), fnp.ones(8), nperseg=4)[0]
    array([0.  , 0.25, 0.5 ])
    """
    return averaged_powers(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                           average)  # fmt: skip


def averaged_powers(x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
                    return_onesided: bool, scaling: str, axis: int, how: str) -> tuple[Any, Any]:  # fmt: skip
    """Return frequencies, and the averages of the (cross) powers of segments."""
    x = operand(x)
    axis = normalize_axis(axis, x.ndim)
    freqs, _, powers = spectral_powers(
        x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    return freqs, at_axis(average(powers, how), axis, x.ndim)


@scipy_function("signal")
def welch(x: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
          noverlap: int | None = None, nfft: int | None = None, detrend: Detrending = "constant",
          return_onesided: bool = True, scaling: str = "density", axis: int = -1,
          average: str = "mean") -> tuple[Array, Array]:  # fmt: skip
    """The power spectral density of signals, averaged over segments that overlap.

    Args:
        x: signals.
        fs: the rate of the samples.
        window: a name or tuple for SciPy's `get_window`, or an array.
        nperseg, noverlap, nfft: the sizes of the segments, of their overlaps and of the transforms.
        detrend: "constant", "linear", a function of the segments, or False.
        return_onesided: only the frequencies ≥ 0 of real signals.
        scaling: "density" (power per frequency) or "spectrum" (power).
        axis: that of time.
        average: "mean" or "median".

    Returns:
        Frequencies, and the powers along the axis.

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other or the signal, or there is no
            such `average`.

    >>> f, p = signal.welch(np.sin(np.arange(64) * np.pi / 4), nperseg=16)
    >>> print(f[np.argmax(p)])
    0.125
    """
    return averaged_powers(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                           average)  # fmt: skip


@scipy_function("signal")
def periodogram(x: ArrayLike, fs: Any = 1.0, window: Any = "boxcar", nfft: int | None = None,
                detrend: Detrending = "constant", return_onesided: bool = True, scaling: str = "density",
                axis: int = -1) -> tuple[Array, Array]:  # fmt: skip
    """The pair of frequencies and the power spectral density of whole signals: see `welch`.

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other or the signal, or there is no
            such `average`.

    >>> fx.scipy.signal.periodogram(fnp.array([1.0, -1.0, 1.0, -1.0]))[1].round(6)
    array([0., 0., 4.])
    """
    x = operand(x)
    n = x.shape[axis]
    size = n if nfft is None else min(nfft, n)
    nfft = None if nfft is not None and nfft <= n else nfft
    if size < n:
        x = fnp.moveaxis(fnp.moveaxis(x, axis, -1)[..., :size], -1, axis)
    window = "boxcar" if window is None else window
    return averaged_powers(
        x, None, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis, "mean"
    )


@scipy_function("signal")
def coherence(x: ArrayLike, y: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
              noverlap: int | None = None, nfft: int | None = None, detrend: Detrending = "constant",
              axis: int = -1) -> tuple[Array, Array]:  # fmt: skip
    """The pair of frequencies and |Pxy|² / (Pxx·Pyy), of the spectral densities of two signals: see `welch`.

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other or the signal, or there is no
            such `average`.

    >>> x = fnp.array([0.0, 1.0, 0.0, 2.0, 1.0, 3.0, 0.0, 1.0])
    >>> fx.scipy.signal.coherence(x, 2 * x, nperseg=4)[1].round(6)
    array([1., 1., 1.])
    """
    settings = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis, "mean")
    freqs, pxx = averaged_powers(x, None, *settings)
    pyy, pxy = averaged_powers(y, None, *settings)[1], averaged_powers(x, y, *settings)[1]
    return freqs, (fnp.real(pxy) ** 2 + fnp.imag(pxy) ** 2) / pxx / pyy


@scipy_function("signal")
def spectrogram(x: ArrayLike, fs: Any = 1.0, window: Any = ("tukey_periodic", 0.25), nperseg: int | None = None,
                noverlap: int | None = None, nfft: int | None = None, detrend: Detrending = "constant",
                return_onesided: bool = True, scaling: str = "density", axis: int = -1,
                mode: str = "psd") -> tuple[Array, Array, Array]:  # fmt: skip
    """The spectra of segments: their power with mode="psd", or "complex", "magnitude", "angle", "phase".

    Returns:
        Frequencies, times, and spectra with a last axis of segments.

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other or the signal, or there is no
            such `mode` or `scaling`.

    >>> fx.scipy.signal.spectrogram(fnp.arange(8.0), nperseg=4, noverlap=0)[2].shape
    (3, 2)
    """
    x = operand(x)
    axis = normalize_axis(axis, x.ndim)
    plan = plan_segments(window, nperseg, noverlap, nfft, fs, x.shape[axis])
    if noverlap is None:
        plan = plan._replace(step=plan.size - plan.size // 8)
    if mode == "psd":
        overlap = plan.size - plan.step
        freqs, times, spectra = spectral_powers(
            x, None, fs, plan.window, None, overlap, plan.fft_size, detrend, return_onesided, scaling, axis
        )
        return freqs, times, at_axis(spectra, axis, x.ndim)
    check_option("spectrogram", "mode", mode, ("psd", "complex", "magnitude", "angle", "phase"))
    onesided = return_onesided and kind(x) != "c"
    x = fnp.moveaxis(floating(x), axis, -1)
    spectra = transform_segments(x, plan, detrend, onesided) * fnp.sqrt(plan.scale(scaling))
    if mode == "magnitude":
        spectra = fnp.abs(spectra)
    elif mode != "complex":
        spectra = fnp.angle(spectra)
        spectra = fnp.unwrap(spectra, axis=-2) if mode == "phase" else spectra
    times = segment_times(plan, x.shape[-1])
    return frequencies(plan, onesided), times, at_axis(spectra, axis, x.ndim)


@scipy_function("signal")
def stft(x: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = 256,
         noverlap: int | None = None, nfft: int | None = None, detrend: Detrending = False,
         return_onesided: bool = True, boundary: str | None = "zeros", padded: bool = True, axis: int = -1,
         scaling: str = "spectrum") -> tuple[Array, Array, Array]:  # fmt: skip
    """The short-time Fourier transform; `boundary` says how signals are extended at both ends by half a window.

    Returns:
        Frequencies, times, and complex spectra with a last axis of segments.

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other or the signal, or there is no
            such `mode` or `scaling`.

    >>> signal.stft(np.ones(16), nperseg=8)[2].shape
    (5, 5)
    """
    x = operand(x)
    axis = normalize_axis(axis, x.ndim)
    check_option("the transform", "scaling", scaling, ("spectrum", "psd"))
    x = fnp.moveaxis(floating(x), axis, -1)
    plan = plan_segments(window, nperseg, noverlap, nfft, fs, x.shape[-1])
    half = plan.size // 2
    if boundary == "zeros":
        x = fnp.pad(x, ((0, 0),) * (x.ndim - 1) + ((half, half),))
    elif boundary is not None:
        x = extend(x, half, boundary)
    if padded:
        more = -(x.shape[-1] - plan.size) % plan.step % plan.size
        x = fnp.pad(x, ((0, 0),) * (x.ndim - 1) + ((0, more),))
    onesided = return_onesided and kind(x) != "c"
    scale = fnp.sqrt(plan.scale("density" if scaling == "psd" else scaling))
    spectra = transform_segments(x, plan, detrend, onesided) * cast(
        scale, np.result_type(x.dtype, np.float32)
    )
    times = segment_times(plan, x.shape[-1])
    if boundary is not None:
        times = times - plan.size / 2 / fs
    return frequencies(plan, onesided), times, at_axis(spectra, axis, x.ndim)


@scipy_function("signal")
def istft(Zxx: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
          noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True, boundary: bool = True,
          time_axis: int = -1, freq_axis: int = -2, scaling: str = "spectrum") -> tuple[Array, Array]:  # fmt: skip
    """The inverse of `stft`, by least squares: segments are weighed by the window, added, and divided by its squares.

    Returns:
        Times, and signals. (SciPy's times have the size of the first axis of the signals, whichever is that of time.)

    Raises:
        ValueError: the window, `nperseg`, `noverlap` and `nfft` do not fit each other, `Zxx` has fewer than two axes,
            or there is no such `scaling`.

    >>> spectra = fx.scipy.signal.stft(fnp.arange(8.0), nperseg=4)[2]
    >>> fx.scipy.signal.istft(spectra, nperseg=4)[1].round(6) + 0.0
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    z = operand(Zxx)
    check_ndim("istft", "Zxx", z, 2, or_more=True)
    freq_axis, time_axis = normalize_axis(freq_axis, z.ndim), normalize_axis(time_axis, z.ndim)
    if freq_axis == time_axis:
        raise ShapeError(
            f"istft: time_axis={time_axis} and freq_axis={freq_axis} are one axis",
            hint="time_axis=-1, freq_axis=-2, the defaults",
        )
    check_option("the transform", "scaling", scaling, ("spectrum", "psd"))
    lead = [i for i in range(z.ndim) if i not in (freq_axis, time_axis)]
    z = fnp.transpose(z, (*lead, time_axis, freq_axis))
    count = z.shape[-2]
    full = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    size = full if nperseg is None else int(nperseg)
    fft_size = int(nfft) if nfft is not None else size if size == full + 1 and input_onesided else full
    taps, size = make_window(window, size, size)
    plan = plan_segments(taps, None, noverlap, fft_size, fs, size)
    parts = fnp.fft.irfft(z, plan.fft_size) if input_onesided else fnp.fft.ifft(z, plan.fft_size)
    taps = cast(plan.window, np.result_type(fnp.real(z).dtype, np.float32))
    root = fnp.sqrt(plan.scale("density" if scaling == "psd" else scaling))
    parts = parts[..., : plan.size] * (taps / cast(root, taps.dtype))
    n = plan.size + (count - 1) * plan.step
    places = np.arange(count)[:, None] * plan.step + np.arange(plan.size)
    x = fnp.at(fnp.zeros((*parts.shape[:-2], n), parts.dtype))[..., places].add(parts)
    norm = fnp.at(fnp.zeros(n, taps.dtype))[places].add(fnp.broadcast_to(taps * taps, places.shape))
    if boundary:
        half = plan.size // 2
        x, norm = x[..., half : n - half], norm[half : n - half]
    x = x / fnp.where(norm > 1e-10, norm, 1.0)
    times = np.arange(x.shape[-1]) / fs
    if len(lead) and time_axis < z.ndim - 1:
        place = time_axis - (freq_axis < time_axis)
        x = fnp.moveaxis(x, -1, place)
    return times, x


__all__ = ["coherence", "csd", "istft", "periodogram", "spectrogram", "stft", "welch"]
