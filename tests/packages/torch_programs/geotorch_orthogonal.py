"""Layers whose weights stay on manifolds, through parametrizations.

packages: geotorch
tolerance: 1e-4
"""

import geotorch
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh(), torch.nn.Linear(6, 6))
geotorch.orthogonal(net[0], "weight")
geotorch.low_rank(net[2], "weight", rank=2)
net[0].weight = torch.eye(6)
x = torch.randn(20, 6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    loss = (net(x) - x.roll(1, -1)).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print((net[0].weight @ net[0].weight.mT).diagonal().tolist())
positive = torch.nn.Linear(4, 4)
geotorch.positive_definite(positive, "weight")
print(torch.linalg.eigvalsh(positive.weight).gt(0).all().item())
