"""What spectra of frames, and windows, refuse; their values are in cases_signal.py."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt


@pytest.mark.parametrize("t", [fxt, torch])
def test_windows_refuse(t):
    windows = t.signal.windows
    for refused in (
        lambda: windows.gaussian(-1),
        lambda: windows.gaussian(3, std=0),
        lambda: windows.hann(3, dtype=t.float16),
        lambda: windows.exponential(3, center=1.0),
        lambda: windows.exponential(3, tau=0),
        lambda: windows.kaiser(3, beta=-1.0),
        lambda: windows.general_cosine(3, a=[]),
    ):
        with pytest.raises(ValueError, match=r"must be|expects|requires|cannot be"):
            refused()
    with pytest.raises(TypeError):
        windows.general_cosine(3, a=1.0)


@pytest.mark.filterwarnings("ignore:A window was not provided")  # which torch says once
@pytest.mark.parametrize("t", [fxt, torch])
def test_spectra_refuse(t):
    x, z = t.ones(16), t.ones(5, 9, dtype=t.complex64)
    for refused, words in [
        (lambda: t.stft(x, 4), "return_complex parameter"),
        (
            lambda: t.stft(x, 20, center=False, return_complex=True),
            "expected 0 < n_fft < 16, but got n_fft=20",
        ),
        (lambda: t.stft(x, 4, 0, return_complex=True), "expected hop_length > 0"),
        (lambda: t.stft(x, 4, win_length=5, return_complex=True), "expected 0 < win_length <= n_fft"),
        (
            lambda: t.stft(x, 4, window=t.ones(3), return_complex=True),
            "expected a 1D window tensor of size equal to",
        ),
        (lambda: t.stft(x * 1j, 4, onesided=True), "Cannot have onesided output"),
        (lambda: t.istft(x, 8), "istft requires a complex-valued input tensor"),
        (lambda: t.istft(z, 8, window=t.zeros(8)), "window overlap add min"),
        (lambda: t.istft(z, 8, window=t.ones(8), return_complex=True), "Cannot have onesided output"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            refused()


def test_spectra_without_a_window_warn():
    x = fxt.ones(16)
    with pytest.warns(UserWarning, match="A window was not provided") as found:
        spectra = fxt.stft(x, 4, return_complex=True)
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="Please provide the same window used by stft") as found:
        fxt.istft(spectra, 4)
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="return_complex=False is deprecated") as found:
        fxt.stft(x, 4, window=fxt.ones(4), return_complex=False)
    assert found[0].filename == __file__
