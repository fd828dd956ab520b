"""Discrete cosine transforms, their inverses and gradients.

packages: torch-dct
tolerance: 1e-4
"""

import torch
import torch_dct as dct

torch.manual_seed(0)
x = torch.randn(2, 3, 4, 6, dtype=torch.float64, requires_grad=True)
for there, back in (
    (dct.dct, dct.idct),
    (dct.dct_2d, dct.idct_2d),
    (dct.dct_3d, dct.idct_3d),
    (dct.dct1, dct.idct1),
):
    y = there(x)
    print(y[0, 0, 0].tolist(), (back(y) - x).abs().max().item() < 1e-12)
    print(torch.autograd.grad(y.abs().sum(), x)[0].norm().item())
layer = dct.LinearDCT(6, "dct", norm="ortho").double()
print(layer(x)[0, 0, 0].tolist(), dct.dct(x, norm="ortho")[0, 0, 0].tolist())
