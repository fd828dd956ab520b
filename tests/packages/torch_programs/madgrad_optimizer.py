"""MADGRAD on a linear layer.

packages: madgrad
tolerance: 1e-4
"""

import torch
from madgrad import MADGRAD


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
m = torch.nn.Linear(3, 2)
o = MADGRAD(m.parameters(), lr=0.01)
for _ in range(5):
    o.zero_grad()
    loss = m(torch.randn(4, 3)).square().sum()
    loss.backward()
    o.step()
print_numbers(loss, m.weight.norm())
