"""Discrete Fourier transforms along axes, all linear; `norm` is NumPy's ("backward", "ortho", "forward").

The matrix w^(jk) is symmetric, and cotangents pair without conjugation: `fft` is its own transpose. `rfft` and
`irfft` keep half the spectrum of a real signal, in which every frequency stands for itself and its mirror image,
except the one at 0 and, where n is even, the one at n/2. They are each other's transposes up to these weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from .elementwise import conversion_kernel
from .kinds import linear
from .projection import project
from .reduction import kernel_dtype
from .vocabulary import ops

# The scaling of the transform in the other direction by which the matrices have the same factor.
OPPOSITE_NORM = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def complex_converter(xp: Any) -> Callable[[Any], Any]:
    """Return the conversion of operands for complex transforms: the standard takes only complex arrays, NumPy is faster
    for real ones."""
    convert = conversion_kernel(xp)

    def as_complex(x: Any) -> Any:
        dtype = aval_of(x).dtype
        return x if xp is np or dtype.kind == "c" else convert(x, dtype=np.result_type(dtype, np.complex64))

    return as_complex


def fft_kernel(xp: Any) -> Callable:
    forward, backward, operand = xp.fft.fftn, xp.fft.ifftn, complex_converter(xp)
    return lambda x, *, axes, norm, inverse: (backward if inverse else forward)(
        operand(x), axes=axes, norm=norm
    )


def rfft_kernel(xp: Any) -> Callable:
    rfft = xp.fft.rfft
    return lambda x, *, axis, norm: rfft(x, axis=axis, norm=norm)


def irfft_kernel(xp: Any) -> Callable:
    irfft, operand = xp.fft.irfft, complex_converter(xp)
    return lambda x, *, n, axis, norm: irfft(operand(x), n=n, axis=axis, norm=norm)


def resize_axis(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    return (*shape[:axis], n, *shape[axis + 1 :])


def weight_spectrum(spectrum: Any, n: int, axis: int, weight: float) -> Any:
    """Multiply the frequencies of half a spectrum that stand for two by `weight`."""
    single = np.arange(n // 2 + 1) * 2 % n == 0
    single = single.reshape((-1,) + (1,) * (spectrum.ndim - axis - 1))
    return ops.where(single, spectrum, spectrum * weight)


def rfft_transpose(ct: Any, x: Aval, *, axis: int, norm: str) -> Any:
    n = x.shape[axis]
    halved = weight_spectrum(ops.conjugate(ct), n, axis, 0.5)
    return project(irfft(halved, n=n, axis=axis, norm=OPPOSITE_NORM[norm]), x)


def irfft_transpose(ct: Any, x: Aval, *, n: int, axis: int, norm: str) -> Any:
    spectrum = rfft(ct, axis=axis, norm=OPPOSITE_NORM[norm])
    return project(weight_spectrum(ops.conjugate(spectrum), n, axis, 2.0), x)


# Complex, also of real operands. An axis that occurs twice is transformed twice.
fft = linear(
    "fft",
    fft_kernel,
    abstract_rule=lambda self, x, **params: Aval(x.shape, kernel_dtype(self, x, **{**params, "axes": (0,)})),
    transpose_rule=lambda ct, x, **params: project(fft(ct, **params), x),
    batch_rule=lambda x, *, size, axes, **params: fft(x, axes=tuple(a + 1 for a in axes), **params),
    structural=False,
)

# Takes a real operand, gives the frequencies 0 … n//2.
rfft = linear(
    "rfft",
    rfft_kernel,
    abstract_rule=lambda self, x, *, axis, norm: Aval(
        resize_axis(x.shape, axis, x.shape[axis] // 2 + 1), kernel_dtype(self, x, axis=0, norm=norm)
    ),
    transpose_rule=rfft_transpose,
    batch_rule=lambda x, *, size, axis, norm: rfft(x, axis=axis + 1, norm=norm),
    structural=False,
)

# Takes n//2 + 1 frequencies, gives n real entries.
irfft = linear(
    "irfft",
    irfft_kernel,
    abstract_rule=lambda self, x, *, n, axis, norm: Aval(
        resize_axis(x.shape, axis, n), kernel_dtype(self, x, n=1, axis=0, norm=norm)
    ),
    transpose_rule=irfft_transpose,
    batch_rule=lambda x, *, size, n, axis, norm: irfft(x, n=n, axis=axis + 1, norm=norm),
    structural=False,
)
