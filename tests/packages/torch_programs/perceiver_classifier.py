"""A perceiver that classifies sequences.

packages: perceiver-pytorch
tolerance: 1e-3
"""

import torch
from perceiver_pytorch import Perceiver


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
m = Perceiver(
    input_channels=3,
    input_axis=1,
    num_freq_bands=2,
    max_freq=4.0,
    depth=1,
    num_latents=4,
    latent_dim=8,
    cross_heads=1,
    latent_heads=2,
    cross_dim_head=4,
    latent_dim_head=4,
    num_classes=3,
)
x = torch.randn(2, 6, 3, requires_grad=True)
y = m(x)
y.square().sum().backward()
print_numbers(y.norm(), x.grad.norm())
