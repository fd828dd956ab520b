"""A layer of a graph network that turns with its coordinates.

packages: egnn-pytorch
tolerance: 1e-3
"""

import torch
from egnn_pytorch import EGNN


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
m = EGNN(dim=8)
f = torch.randn(1, 5, 8)
c = torch.randn(1, 5, 3, requires_grad=True)
a, b = m(f, c)
(a.square().sum() + b.square().sum()).backward()
print_numbers(a.norm(), b.norm(), c.grad.norm())
