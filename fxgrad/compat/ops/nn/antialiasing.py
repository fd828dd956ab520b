"""Weights of antialiased downsampling: each new entry is a weighted mean of the entries around its place, by a window
that is stretched by the factor of the reduction. Source: Turkowski, 1990, "Filters for common resampling tasks", in
Graphics Gems; as in the Python Imaging Library.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

KEYS = -0.5  # the parameter of the cubic window: Keys, 1981, doi:10.1109/TASSP.1981.1163711


def triangle(x: np.ndarray) -> np.ndarray:
    """1 − |x|, not below 0."""
    return np.maximum(1 - np.abs(x), 0)


def cubic(x: np.ndarray) -> np.ndarray:
    """The cubic convolution of Keys, 0 beyond 2."""
    x = np.abs(x)
    near = ((KEYS + 2) * x - (KEYS + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * KEYS * x - 4 * KEYS
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def lanczos(x: np.ndarray) -> np.ndarray:
    """sinc(x)·sinc(x/3), 0 beyond 3. Source: Duchon, 1979."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


# (window, where it ends) by mode.
WINDOWS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "bilinear": (triangle, 1),
    "bicubic": (cubic, 2),
    "lanczos": (lanczos, 3),
}


def window_taps(
    n: int, count: int, mode: str, align_corners: bool, scale: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return (positions, weights), each (taps, count), of entries of a row of length n around each of `count` new
    ones."""
    window, end = WINDOWS[mode]
    if align_corners:
        step = (n - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = n / count if scale is None else 1 / scale
    stretch = max(step, 1.0)
    reach = end * stretch
    places = step * (np.arange(count) + 0.5)
    first = np.maximum((places - reach + 0.5).astype(np.int64), 0)
    last = np.minimum((places + reach + 0.5).astype(np.int64), n)  # the one behind
    taps = np.arange(max(int((last - first).max()), 1))[:, None]
    positions = np.minimum(first + taps, np.maximum(last - 1, 0))
    weights = np.where(first + taps < last, window((first + taps - places + 0.5) / stretch), 0.0)
    total = weights.sum(0)
    return positions, weights / np.where(total == 0, 1, total)
