"""A network of sines, and its derivative by the coordinates.

packages: siren-pytorch
tolerance: 1e-3
"""

import torch
from siren_pytorch import SirenNet


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
n = SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=3)
x = torch.randn(5, 2, requires_grad=True)
y = n(x).square().sum()
y.backward()
print_numbers(y, x.grad.norm())
