"""Simpson's rule over a rectangle.

packages: torchquad
tolerance: 1e-5
"""

import torch
from torchquad import Simpson


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)


def f(x):
    return torch.sin(x[:, 0]) + torch.exp(x[:, 1])


print_numbers(Simpson().integrate(f, dim=2, N=1001, integration_domain=[[0, 1], [-1, 1]], backend="torch"))
