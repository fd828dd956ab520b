"""Measures of the quality of pictures, and gradients of them.

packages: piq
tolerance: 1e-3
"""

import piq
import torch

torch.manual_seed(0)
y = torch.rand(2, 3, 192, 192)
x = (y + 0.05 * torch.randn_like(y)).clamp(0, 1).requires_grad_()
for measure in (
    piq.ssim,
    piq.psnr,
    piq.vif_p,
    piq.fsim,
    piq.gmsd,
    piq.haarpsi,
    piq.mdsi,
    piq.vsi,
    piq.multi_scale_ssim,
):
    value = measure(x, y, data_range=1.0)
    print(measure.__name__, value.item(), torch.autograd.grad(value, x)[0].norm().item())
print(piq.total_variation(x).item())
