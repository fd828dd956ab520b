"""Layers with weights that are drawn: the evidence lower bound of a regression.

packages: blitz-bayesian-pytorch
tolerance: 1e-3
"""

import torch
from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator
from torch import nn


@variational_estimator
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = BayesianConv2d(1, 2, (3, 3))
        self.recurrent = BayesianLSTM(6, 5)
        self.last = BayesianLinear(5, 1)

    def forward(self, x):
        sequence = self.conv(x).flatten(2).transpose(1, 2).reshape(len(x), -1, 6)
        return self.last(self.recurrent(sequence)[0][:, -1])


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(4, 1, 8, 5), torch.randn(4, 1)
for _ in range(4):
    optimizer.zero_grad()
    loss = net.sample_elbo(
        inputs=x, labels=y, criterion=nn.MSELoss(), sample_nbr=3, complexity_cost_weight=1e-3
    )
    loss.backward()
    optimizer.step()
    print(loss.item(), net.nn_kl_divergence().item())
net.freeze_()
print(net(x).flatten().tolist())
