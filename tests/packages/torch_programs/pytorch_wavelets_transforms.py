"""Discrete and dual-tree wavelet transforms of pictures, there and back.

packages: pytorch-wavelets
tolerance: 1e-4
"""

import torch
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse

torch.manual_seed(0)
x = torch.randn(2, 3, 32, 32, requires_grad=True)
low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
again = DWTInverse(wave="db3", mode="zero")((low, high))
print(low.norm().item(), [h.norm().item() for h in high], (again - x).abs().max().item() < 1e-4)
(low.square().sum() + high[0].abs().sum()).backward()
print(x.grad.norm().item())
low, high = DTCWTForward(J=2, biort="near_sym_b", qshift="qshift_b")(x)
again = DTCWTInverse(biort="near_sym_b", qshift="qshift_b")((low, high))
print(low.norm().item(), high[1].norm().item(), (again - x).abs().max().item() < 1e-4)
