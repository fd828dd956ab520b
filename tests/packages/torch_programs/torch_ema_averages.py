"""A running average of parameters while they are trained.

packages: torch-ema
tolerance: 1e-4
"""

import torch
from torch_ema import ExponentialMovingAverage


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
m = torch.nn.Linear(3, 2)
e = ExponentialMovingAverage(m.parameters(), decay=0.9)
o = torch.optim.Adam(m.parameters(), 0.01)
for _ in range(5):
    o.zero_grad()
    m(torch.randn(4, 3)).square().sum().backward()
    o.step()
    e.update()
with e.average_parameters():
    print_numbers(m(torch.ones(1, 3)).sum())
print_numbers(m(torch.ones(1, 3)).sum(), len(e.state_dict()))
