"""Losses of sounds in time and in spectra.

packages: auraloss
tolerance: 1e-3
"""

import auraloss
import torch

torch.manual_seed(0)
target = torch.sin(torch.linspace(0, 200, 4096)).expand(2, 1, -1).contiguous()
sound = (target + 0.1 * torch.randn(2, 1, 4096)).requires_grad_()
for loss in (
    auraloss.time.SISDRLoss(), auraloss.time.ESRLoss(), auraloss.time.LogCoshLoss(), auraloss.freq.STFTLoss(),
    auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[512, 256], hop_sizes=[128, 64], win_lengths=[512, 256]),
):  # fmt: skip
    value = loss(sound, target)
    print(type(loss).__name__, value.item(), torch.autograd.grad(value, sound)[0].norm().item())
