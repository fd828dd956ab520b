"""A mel spectrogram, and its derivative by the sound.

packages: nnAudio
tolerance: 1e-3
"""

import torch
from nnAudio.features import MelSpectrogram


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
x = torch.randn(1, 4096, requires_grad=True)
s = MelSpectrogram(sr=8000, n_fft=256, n_mels=16, hop_length=128, verbose=False)(x)
s.sum().backward()
print_numbers(s.norm(), x.grad.norm())
