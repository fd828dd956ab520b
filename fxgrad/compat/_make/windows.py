"""Window functions: weights that decrease towards both ends of a signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Unpack

import numpy as np

from .._core.dtypes import default_numpy_dtype
from .._core.tensor import Tensor
from .._declare.spaces import expose
from ..errors import ArgumentError, ArgumentValueError, TensorError
from .creation import create_with_options
from .options import Options, SignalOptions


def make_window(name: str, length: int, periodic: bool, shape: Callable[[Any], Any], options: Any) -> Tensor:
    """Make the Tensor of shape(places from 0 to 1), computed in double precision; a periodic window leaves out the last
    place."""
    length = index(length)
    if length < 0:
        raise TensorError(
            f"{name} requires non-negative window_length, got window_length={length}",
            hint="window_length=0 makes a window without places",
        )

    def make_array(numpy) -> np.ndarray:
        if numpy.kind not in "fV":
            raise TensorError(
                f"{name} expects floating point dtypes, got: TensorOptions(dtype={numpy})",
                hint="dtype=torch.float32",
            )
        if length == 1:
            return np.ones(1, numpy)
        return shape(np.arange(length) / (length if periodic else length - 1)).astype(numpy)

    return create_with_options(make_array, name, default_numpy_dtype("f"), **options)


def cosine_sum(*factors: float) -> Callable[[Any], Any]:
    """Return the function Σₖ factors[k]·cos(2πk·place)."""
    return lambda place: sum(a * np.cos(2 * np.pi * k * place) for k, a in enumerate(factors))


def triangle(place: Any) -> Any:
    """The function that rises from 0 to 1 in the middle, and falls."""
    return 1 - np.abs(2 * place - 1)


def kaiser_shape(beta: float) -> Callable[[Any], Any]:
    """Return the function I₀(beta·√(1 - (2·place - 1)²)) / I₀(beta)."""
    return lambda place: np.i0(beta * np.sqrt(np.maximum(1 - (2 * place - 1) ** 2, 0))) / np.i0(beta)


@expose()
def hann_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """The window sin²(π·place).

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return make_window("hann_window", window_length, periodic, cosine_sum(0.5, -0.5), options)


@expose()
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Unpack[Options],
) -> Tensor:
    """The window alpha - beta·cos(2π·place)."""
    return make_window("hamming_window", window_length, periodic, cosine_sum(alpha, -beta), options)


@expose()
def blackman_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """The window 0.42 - 0.5·cos(2π·place) + 0.08·cos(4π·place)."""
    return make_window("blackman_window", window_length, periodic, cosine_sum(0.42, -0.5, 0.08), options)


@expose()
def bartlett_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """The window 1 - |2·place - 1|."""
    return make_window("bartlett_window", window_length, periodic, triangle, options)


@expose()
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[Options]
) -> Tensor:
    """The window I₀(beta·√(1 - (2·place - 1)²)) / I₀(beta)."""
    return make_window("kaiser_window", window_length, periodic, kaiser_shape(beta), options)


# -- torch.signal.windows ------------------------------------------
def make_signal_window(
    name: str, M: int, sym: bool, shape: Callable[[Any, int], Any], *, dtype=None, **options
) -> Tensor:
    """Make a Tensor of shape(0 … M - 1, N): windows have N = M places, periodic ones N = M + 1 places, of which the
    last is left out."""
    M = index(M)
    if M < 0:
        raise ArgumentValueError(
            f"{name} requires non-negative window length, got M={M}", hint="M=0 makes a window without places"
        )
    if dtype is not None and str(dtype) not in ("torch.float32", "torch.float64"):
        raise ArgumentValueError(
            f"{name} expects float32 or float64 dtypes, got: {dtype}", hint="dtype=torch.float32, then .to(…)"
        )

    def make_array(numpy) -> np.ndarray:
        if M <= 1:
            return np.ones(M, numpy)
        return shape(np.arange(M), M + (not sym)).astype(numpy)

    return create_with_options(make_array, name, default_numpy_dtype("f"), dtype=dtype, **options)


@expose("signal.windows")
def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, **options: Unpack[SignalOptions]
) -> Tensor:
    """The window Σₖ (-1)ᵏ·a[k]·cos(2πk·n/(N - 1)), for n = 0 … M - 1, with N = M places, or N = M + 1 if it is one
    period (`sym=False`).

    Args:
        M: the length.
        a: the weights of the cosines.
        sym: whether it ends where it began.
        dtype: float32 or float64.

    Raises:
        ValueError: M is negative, `a` empty, or the dtype another one.
        TypeError: `a` is no list or tuple.

    >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, list | tuple):
        raise ArgumentError("Coefficients must be a list/tuple", hint="a=[0.5, 0.5]")
    if not a:
        raise ArgumentValueError("Coefficients cannot be empty", hint="a=[0.5, 0.5] is the Hann window")
    weighted = cosine_sum(*[-factor if k % 2 else factor for k, factor in enumerate(a)])
    return make_signal_window("general_cosine", M, sym, lambda n, count: weighted(n / (count - 1)), **options)


@expose("signal.windows")
def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, **options: Unpack[SignalOptions]
) -> Tensor:
    """The window alpha - (1 - alpha)·cos(2π·n/(N - 1)): see `general_cosine`."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


@expose("signal.windows")
def hamming(M: int, *, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """The window 0.54 - 0.46·cos(2π·n/(N - 1)): see `general_cosine`."""
    return general_hamming(M, sym=sym, **options)


@expose("signal.windows")
def hann(M: int, *, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """The window sin²(π·n/(N - 1)): see `general_cosine`."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


@expose("signal.windows")
def blackman(M: int, *, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """Blackman's window of three cosines: see `general_cosine`."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


@expose("signal.windows")
def nuttall(M: int, *, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """Nuttall's window of four cosines with the least side lobes: see `general_cosine`."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


@expose("signal.windows")
def bartlett(M: int, *, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """The triangle 1 - |2n/(N - 1) - 1|."""
    return make_signal_window("bartlett", M, sym, lambda n, count: triangle(n / (count - 1)), **options)


@expose("signal.windows")
def cosine(M: int, *, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """The window sin(π·(n + ½)/N)."""
    return make_signal_window("cosine", M, sym, lambda n, count: np.sin(np.pi * (n + 0.5) / count), **options)


@expose("signal.windows")
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    **options: Unpack[SignalOptions],
) -> Tensor:
    """The window exp(-|n - center|/tau); the center of a symmetric window is its middle."""
    if tau <= 0:
        raise ArgumentValueError(f"Tau must be positive, got: {tau} instead.", hint=f"tau={-tau or 1.0}")
    if sym and center is not None:
        raise ArgumentValueError("Center must be None for symmetric windows", hint="sym=False")

    def shape(n, count: int) -> Any:
        return np.exp(-np.abs(n - ((count - 1) / 2 if center is None else center)) / tau)

    return make_signal_window("exponential", M, sym, shape, **options)


@expose("signal.windows")
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """The window exp(-½·((n - (N - 1)/2)/std)²)."""
    if std <= 0:
        raise ArgumentValueError(
            f"Standard deviation must be positive, got: {std} instead.", hint=f"std={-std or 1.0}"
        )
    return make_signal_window(
        "gaussian", M, sym, lambda n, count: np.exp(-0.5 * ((n - (count - 1) / 2) / std) ** 2), **options
    )


@expose("signal.windows")
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Unpack[SignalOptions]) -> Tensor:
    """The window I₀(beta·√(1 - (2n/(N - 1) - 1)²)) / I₀(beta)."""
    if beta < 0:
        raise ArgumentValueError(
            f"beta must be non-negative, got: {beta} instead.",
            hint=f"beta={-beta}; the window is the same for both signs",
        )
    shape = kaiser_shape(beta)
    return make_signal_window("kaiser", M, sym, lambda n, count: shape(n / (count - 1)), **options)
