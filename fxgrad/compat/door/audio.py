"""Operations of torchaudio's library of C++, written for NumPy."""

from __future__ import annotations

from typing import Any

from .._core.operation_names import OPERATIONS


def filter_recursively(x: Any, coefficients: Any, padded: Any) -> None:
    """Write y[t] = x[t] − Σₖ aₖ·y[t − k] behind the n zeros that begin `padded`.

    Args:
        x: signals (batch, channels, times).
        coefficients: aₙ, …, a₁ and 1 for each channel.
        padded: zeros (batch, channels, n + times), which are overwritten.
    """
    x, a, y = (tensor.detach().numpy() for tensor in (x, coefficients, padded))
    n = a.shape[1] - 1
    for t in range(x.shape[2]):
        y[:, :, t + n] = x[:, :, t] - (a[:, :n] * y[:, :, t : t + n]).sum(-1)


def overdrive(x: Any, driven: Any, last_in: Any, last_out: Any, out: Any) -> None:
    """Write x/2 + 3/4·y to `out`, where y[t] = 0.995·y[t − 1] + driven[t] − driven[t − 1].

    Args:
        x: signals (channels, times).
        driven: the signals after the distortion.
        last_in: `driven` before the first time.
        last_out: y before the first time.
        out: what is overwritten.
    """
    x, driven, before, y, out = (tensor.detach().numpy() for tensor in (x, driven, last_in, last_out, out))
    for t in range(x.shape[1]):
        y, before = driven[:, t] - before + y.dtype.type(0.995) * y, driven[:, t]
        out[:, t] = x[:, t] / 2 + y * y.dtype.type(0.75)


def define() -> None:
    """Define the operations, among which are answers that a library without CUDA and without forced alignment gives."""
    OPERATIONS["_torchaudio"] = {"cuda_version": lambda: None, "is_align_available": lambda: False}
    OPERATIONS["torchaudio"] = {"_lfilter_core_loop": filter_recursively, "_overdrive_core_loop": overdrive}
