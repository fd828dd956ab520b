"""Short-time Fourier transforms, which compute the spectra of overlapping frames of a signal, and their inverses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...extend import source_info
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.spaces import SPACES, expose
from .._make.creation import ones, zeros
from .._make.sequences import arange
from ..errors import TensorError
from .complex import view_as_real
from .declarers import expose_as_method
from .entries import by_entries
from .nn.padding import pad
from .scatter import index_add
from .slicing import unfold

WINDOW_WARNINGS = {
    "stft": "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
    "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To "
    "suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
    "istft": "A window was not provided. A rectangular window will be applied.Please provide the same window used by "
    "stft to make the inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`.",
}
REAL_WARNING = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
    "all inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the "
    "complex output to recover the old return format."
)
SMALLEST_ENVELOPE = 1e-11  # of the windows' squares, by which istft divides


def complete_window(
    name: str,
    input: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
) -> tuple[int, int, Tensor]:
    """Check lengths, and return (hop length, window length, the window with zeros around it, n_fft entries)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise TensorError(
            f"{name}: expected hop_length > 0, but got hop_length={hop}",
            hint=f"hop_length={max(n_fft // 4, 1)}",
        )
    if not 0 < length <= n_fft:
        raise TensorError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}",
            hint=f"win_length={n_fft}",
        )
    if window is None:
        warnings.warn(WINDOW_WARNINGS[name], UserWarning, stacklevel=source_info.user_stacklevel())
        window = ones(length, dtype=input.real.dtype, device=input.device)
    elif window.ndim != 1 or window.shape[0] != length:
        raise TensorError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}",
            hint=f"torch.hann_window({length})",
        )
    left = (n_fft - length) // 2
    return hop, length, pad(window, (left, n_fft - length - left))


@operation("envelope", spaces="", constant=(0,), by_value=True, out=False)
@by_entries
def ensure_reached(envelope) -> Any:
    """Raise where the squares of the windows sum up to nothing; return the least sum."""
    least = np.abs(envelope).min()
    if not least > SMALLEST_ENVELOPE:
        raise TensorError(
            "istft: window overlap add min: 1",
            hint="the windows leave a place that none of them reaches: a smaller hop_length, or center=True",
        )
    return np.asarray(least)


def check_onesided(onesided: bool | None, is_complex: bool) -> None:
    """Raise where half of the frequencies would not have the rest."""
    if onesided and is_complex:
        raise TensorError("Cannot have onesided output if window or input is complex", hint="onesided=False")


@expose("function")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of frames of a signal, which overlap and fall off by a window.

    Args:
        input: signals, real or complex, in the last of one or two dimensions.
        n_fft: the length of a frame.
        hop_length: how far apart frames begin, n_fft // 4 unless it is given.
        win_length: the length of the window, which stands in the middle of the frame; n_fft unless it is given.
        window: its entries; ones unless they are given.
        center: frames are around the places 0, hop_length, …, beyond the ends by `pad_mode`, rather than from these
            places on.
        pad_mode: a mode of `nn.functional.pad`.
        normalized: whether results are divided by √n_fft.
        onesided: only the frequencies 0 … n_fft // 2, as is usual for real signals.
        return_complex: complex results; otherwise real and imaginary parts in a last dimension. Signals that are real
            require it.
        align_to_window: without `center`, the windows and not the frames begin at the first entry.

    Returns:
        A Tensor of (…, frequencies, frames).

    Raises:
        RuntimeError: lengths that do not fit; half of the frequencies of a complex signal; no `return_complex`.

    >>> x = torch.cos(torch.arange(64) * torch.pi / 4)
    >>> torch.stft(x, 16, window=torch.hann_window(16), return_complex=True).abs()[:, 8].argmax().item()
    2
    """
    if return_complex is None:
        return_complex = input.is_complex() or (window is not None and window.is_complex())
        if not return_complex:
            raise TensorError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release.",
                hint="return_complex=True; torch.view_as_real of the result has its parts",
            )
    if not (input.is_floating_point() or input.is_complex()):
        raise TensorError("stft: expected a tensor of floating point or complex values", hint="x.float()")
    if input.ndim not in (1, 2):
        raise TensorError(
            f"stft: expected a 1D or 2D tensor, but got one of shape {list(input.shape)}",
            hint="x.flatten(0, -2)" if input.ndim else "x.reshape(1)",
        )
    if center and align_to_window is not None:
        raise TensorError("stft align_to_window should only be set when center = false", hint="center=False")
    hop, length, weights = complete_window("stft", input, n_fft, hop_length, win_length, window)
    is_complex = input.is_complex() or weights.is_complex()
    check_onesided(onesided, is_complex)
    if center:
        signals = input[None] if input.ndim == 1 else input
        signals = pad(signals, (n_fft // 2, n_fft // 2), mode=pad_mode)
        input = signals[0] if input.ndim == 1 else signals
    elif align_to_window:
        left = (n_fft - length) // 2
        input = pad(input, (left, n_fft - length - left))
    if not 0 < n_fft <= input.shape[-1]:
        raise TensorError(
            f"stft: expected 0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}",
            hint=f"n_fft={input.shape[-1]}, or torch.nn.functional.pad before",
        )
    frames = unfold(input, -1, n_fft, hop) * weights
    transform = SPACES["fft"]["fft" if is_complex or onesided is False else "rfft"]
    spectra = transform(frames, norm="ortho" if normalized else "backward").transpose(-1, -2)
    if return_complex:
        return spectra
    warnings.warn(REAL_WARNING, UserWarning, stacklevel=source_info.user_stacklevel())
    return view_as_real(spectra)


@expose("function")
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of which `stft` with the same arguments gives spectra: that of least squares, if there is none.

    Args:
        input: complex spectra of (…, frequencies, frames).
        length: that of the result; what the frames do not reach is 0.
        onesided: whether only the frequencies 0 … n_fft // 2 are given, as it seems by their number.
        return_complex: whether the signal is complex.
        hop_length: see `stft`.
        win_length: see `stft`.
        center: see `stft`.
        normalized: see `stft`.

    Raises:
        RuntimeError: lengths that do not fit; a place that no window reaches.

    >>> x, window = torch.rand(32), torch.hann_window(8)
    >>> spectra = torch.stft(x, 8, window=window, return_complex=True)
    >>> torch.allclose(torch.istft(spectra, 8, window=window), x, atol=1e-6)
    True
    """
    if not input.is_complex():
        raise TensorError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
            hint="torch.view_as_complex(x), of pairs in a last dimension of 2",
        )
    if input.ndim not in (2, 3):
        raise TensorError(
            f"istft: expected a tensor with 2 or 3 dimensions, but got {input.ndim}",
            hint="x.flatten(0, -3)" if input.ndim > 3 else "x.unsqueeze(-1), one frame",
        )
    if not input.numel():
        raise TensorError("istft: input tensor cannot be empty.", hint="only where x.numel() > 0")
    hop, length_of_window, weights = complete_window("istft", input, n_fft, hop_length, win_length, window)
    if not (weights.is_floating_point() or weights.is_complex()):
        weights = weights.to(input.real.dtype)
    if hop > length_of_window:
        raise TensorError(
            "istft: expected 0 < hop_length <= win_length", hint=f"hop_length={max(length_of_window // 4, 1)}"
        )
    frequencies, count = input.shape[-2:]
    onesided = frequencies != n_fft if onesided is None else onesided
    check_onesided(onesided, return_complex or weights.is_complex())
    if weights.is_complex() and not return_complex:
        raise TensorError(
            "Complex windows are incompatible with return_complex=False", hint="return_complex=True"
        )
    if frequencies != (n_fft // 2 + 1 if onesided else n_fft):
        expected = f"n_fft / 2 + 1 ({n_fft // 2 + 1})" if onesided else f"n_fft ({n_fft})"
        raise TensorError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match {expected} when "
            f"onesided={onesided}, but got {frequencies}",
            hint=f"n_fft={2 * (frequencies - 1) if onesided else frequencies}",
        )
    transform = SPACES["fft"][
        "ifft" if return_complex else "irfft"
    ]  # which reads the first half of the frequencies
    frames = transform(input.transpose(-1, -2), n=n_fft, norm="ortho" if normalized else "backward") * weights
    reach = n_fft + hop * (count - 1)
    device = input.device
    places = (arange(count, device=device)[:, None] * hop + arange(n_fft, device=device)).flatten()

    def overlap(parts: Tensor) -> Tensor:
        """Add the frames, each at its place."""
        flat = parts.flatten(-2)
        total = zeros((*flat.shape[:-1], reach), dtype=flat.dtype, device=flat.device)
        return index_add(total, -1, places, flat)

    start = n_fft // 2 if center else 0
    end = start + length if length is not None else reach - start
    signal = overlap(frames)[..., start:end]
    envelope = overlap((weights * weights).expand(count, n_fft))[start:end]
    ensure_reached(envelope)
    signal = signal / envelope
    missing = end - max(reach, start)
    if missing > 0:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=source_info.user_stacklevel(),
        )
        signal = pad(signal, (0, missing))
    return signal


for function in (stft, istft):
    expose_as_method(function)
