"""Operands for Fourier transforms; the references are sums over the matrix of the transform."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.sample import written

SCALE = {"backward": (0, 1), "ortho": (0.5, 0.5), "forward": (1, 0)}  # powers of 1/n: forward, inverse


def matrix(n: int, inverse: bool, norm: str) -> np.ndarray:
    """w^(jk) with w = exp(∓2πi/n), scaled."""
    turns = np.outer(np.arange(n), np.arange(n)) % n / n
    return np.exp((2j if inverse else -2j) * np.pi * turns) / n ** SCALE[norm][inverse]


def along(x: np.ndarray, axis: int, factor: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.tensordot(factor, x, (1, axis)), 0, axis)


def fft(x: np.ndarray, axes: Sequence[int], norm: str, inverse: bool) -> np.ndarray:
    for axis in axes:
        x = along(x, axis, matrix(x.shape[axis], inverse, norm))
    return x


def rfft(x: np.ndarray, axis: int, norm: str) -> np.ndarray:
    n = x.shape[axis]
    return along(x, axis, matrix(n, False, norm)[: n // 2 + 1])


def irfft(x: np.ndarray, axis: int, norm: str, n: int) -> np.ndarray:
    """Through the whole spectrum, of which the second half mirrors the first."""
    half = np.moveaxis(x, axis, 0).astype(complex)
    half[np.arange(n // 2 + 1) * 2 % n == 0] = half[np.arange(n // 2 + 1) * 2 % n == 0].real
    whole = np.concatenate([half, half[(n - 1) // 2 : 0 : -1].conj()])
    return along(np.moveaxis(whole, 0, axis), axis, matrix(n, True, norm)).real


def trigonometric_transform(x: np.ndarray, wave: str, form: int, axis: int) -> np.ndarray:
    n = x.shape[axis]
    k = np.arange(n) + (0.0 if form in (1, 2) else 0.5)
    j = np.arange(n) + (0.0 if form in (1, 3) else 0.5)
    if wave == "cosine":
        factor = 2 * np.cos(np.pi * np.outer(k, j) / (n - 1 if form == 1 else n))
        halved = {1: [0, -1], 3: [0]}.get(form, [])
    else:
        k, j = k + (form in (1, 2)), j + (form in (1, 3))
        factor = 2 * np.sin(np.pi * np.outer(k, j) / (n + 1 if form == 1 else n))
        halved = [-1] if form == 3 else []
    factor[:, halved] /= 2
    return along(x, axis, factor)


def spectral(reference: Any, domain: str, shape: tuple[int, ...], **params: Any) -> Any:
    """A sample of the primitive of that name, against its reference."""
    return written(reference.__name__, (domain, shape), reference=lambda x: reference(x, **params), **params)


SAMPLES = [
    *(
        spectral(fft, domain, shape, axes=axes, norm=norm, inverse=inverse)
        for domain, shape, axes, norm, inverse in [
            ("complex", (4,), (0,), "backward", False),
            ("complex", (5,), (0,), "ortho", True),
            ("complex", (2, 3), (1,), "forward", False),
            ("complex", (2, 3), (0, 1), "backward", True),
            ("complex", (2, 3, 2), (2, 0), "forward", True),
            ("complex", (3, 2), (0, 0), "ortho", False),
            ("complex", (1,), (0,), "backward", False),
            ("real", (5,), (0,), "backward", False),
            ("real", (2, 4), (1, 0), "ortho", True),
            ("complex", (0, 3), (1,), "backward", False),
        ]
    ),
    *(
        spectral(rfft, "real", shape, axis=axis, norm=norm)
        for shape, axis, norm in [
            ((6,), 0, "backward"),
            ((5,), 0, "ortho"),
            ((2, 4), 1, "forward"),
            ((3, 2), 0, "backward"),
            ((2,), 0, "backward"),
            ((1,), 0, "ortho"),
            ((0, 3), 1, "backward"),
        ]
    ),
    *(
        spectral(irfft, domain, shape, n=n, axis=axis, norm=norm)
        for domain, shape, n, axis, norm in [
            ("complex", (4,), 6, 0, "backward"),
            ("complex", (4,), 7, 0, "forward"),
            ("complex", (2, 3), 4, 1, "ortho"),
            ("complex", (3, 2), 5, 0, "backward"),
            ("complex", (2,), 2, 0, "backward"),
            ("complex", (1,), 1, 0, "ortho"),
            ("real", (3,), 4, 0, "backward"),
            ("complex", (0, 3), 5, 1, "backward"),
        ]
    ),
    *(
        spectral(trigonometric_transform, domain, shape, wave=wave, form=form, axis=axis)
        for domain, shape, wave, form, axis in [
            *(("real", (4,), wave, form, 0) for wave in ("cosine", "sine") for form in (1, 2, 3, 4)),
            ("complex", (2, 3), "cosine", 3, 1),
            ("complex", (3, 2), "sine", 2, 0),
        ]
    ),
]
