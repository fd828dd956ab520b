"""Resampling of sounds, a similarity of pictures, and k-space of magnetic resonance.

packages: julius, pytorch-msssim, torchkbnufft
tolerance: 1e-3
"""

import julius
import torch
import torchkbnufft as tkbn
from pytorch_msssim import ms_ssim, ssim

torch.manual_seed(0)
sound = torch.randn(2, 1, 800, requires_grad=True)
for y in (
    julius.resample_frac(sound, 4, 3), julius.lowpass_filter(sound, 0.1), julius.fft_conv1d(sound, torch.randn(1, 1, 64)),
    julius.SplitBands(1, n_bands=3)(sound),
):  # fmt: skip
    print(y.shape, y.norm().item(), torch.autograd.grad(y.square().sum(), sound)[0].norm().item())
x = torch.rand(1, 3, 176, 176, requires_grad=True)
y = (x.detach() + 0.2 * torch.rand(1, 3, 176, 176)) / 1.2
value = ssim(x, y, data_range=1.0) + ms_ssim(x, y, data_range=1.0)
print(value.item(), torch.autograd.grad(value, x)[0].norm().item())
image = torch.randn(1, 1, 8, 8, dtype=torch.complex64)
trajectory = (torch.rand(2, 20) * 2 - 1) * torch.pi
forward, adjoint = tkbn.KbNufft(im_size=(8, 8)), tkbn.KbNufftAdjoint(im_size=(8, 8))
samples = forward(image, trajectory)
print(samples.abs().sum().item(), adjoint(samples, trajectory).abs().sum().item())
