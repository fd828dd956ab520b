"""Descent along aggregated Jacobians of several objectives.

packages: torchjd
tolerance: 1e-3
"""

import torch
from torchjd.aggregation import MGDA, Mean, UPGrad
from torchjd.autojac import backward

for aggregator in (UPGrad(), MGDA(), Mean()):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(16, 4)
    for _ in range(3):
        losses = (model(x) - torch.stack([x.sum(1), x.prod(1)], 1)).square().mean(0)
        optimizer.zero_grad()
        try:
            backward(losses, aggregator)
        except TypeError:
            from torchjd.autojac import jac_to_grad

            backward(losses)
            jac_to_grad(model.parameters(), aggregator)
        optimizer.step()
    print(type(aggregator).__name__, losses.tolist())
