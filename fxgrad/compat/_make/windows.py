"""Window functions: weights that fall off towards both ends of a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.dtypes import default_numpy_dtype
from .._core.errors import TensorError
from .._declare.spaces import expose
from .creation import create_with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core.tensor import Tensor


def make_window(name: str, length: int, periodic: bool, shape: Callable[[Any], Any], options: dict) -> Tensor:
    """Make the Tensor of shape(places from 0 to 1), computed in double precision; a periodic window leaves out the last
    place."""
    if length < 0:
        raise TensorError(f"{name} requires non-negative window_length, got window_length={length}")

    def make_array(numpy) -> np.ndarray:
        if numpy.kind not in "fV":
            raise TensorError(f"{name} expects floating point dtypes, got: TensorOptions(dtype={numpy})")
        if length == 1:
            return np.ones(1, numpy)
        return shape(np.arange(length) / (length if periodic else length - 1)).astype(numpy)

    return create_with_options(make_array, name, default_numpy_dtype("f"), **options)


def cosine_sum(*factors: float) -> Callable[[Any], Any]:
    """Return the function Σₖ factors[k]·cos(2πk·place)."""
    return lambda place: sum(a * np.cos(2 * np.pi * k * place) for k, a in enumerate(factors))


@expose()
def hann_window(window_length: int, periodic: bool = True, **options) -> Tensor:
    """The window sin²(π·place).

    >>> import fxgrad.compat as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return make_window("hann_window", window_length, periodic, cosine_sum(0.5, -0.5), options)


@expose()
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options
) -> Tensor:
    """The window alpha - beta·cos(2π·place)."""
    return make_window("hamming_window", window_length, periodic, cosine_sum(alpha, -beta), options)


@expose()
def blackman_window(window_length: int, periodic: bool = True, **options) -> Tensor:
    """The window 0.42 - 0.5·cos(2π·place) + 0.08·cos(4π·place)."""
    return make_window("blackman_window", window_length, periodic, cosine_sum(0.42, -0.5, 0.08), options)


@expose()
def bartlett_window(window_length: int, periodic: bool = True, **options) -> Tensor:
    """The window 1 - |2·place - 1|."""
    return make_window("bartlett_window", window_length, periodic, lambda p: 1 - np.abs(2 * p - 1), options)


@expose()
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options) -> Tensor:
    """The window I₀(beta·√(1 - (2·place - 1)²)) / I₀(beta)."""

    def shape(place) -> Any:
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * place - 1) ** 2, 0))) / np.i0(beta)

    return make_window("kaiser_window", window_length, periodic, shape, options)
