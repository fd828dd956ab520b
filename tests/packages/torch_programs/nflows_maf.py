"""A masked autoregressive flow of a two-dimensional density.

packages: nflows
tolerance: 1e-3
"""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
steps = []
for _ in range(3):
    steps += [
        ReversePermutation(features=2),
        MaskedAffineAutoregressiveTransform(features=2, hidden_features=8),
    ]
flow = Flow(CompositeTransform(steps), StandardNormal(shape=[2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for _ in range(6):
    noise = torch.randn(100, 2)
    x = torch.stack([noise[:, 0], noise[:, 0] ** 2 + 0.1 * noise[:, 1]], -1)
    optimizer.zero_grad()
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(flow.sample(4).tolist())
