"""An invertible network of coupling blocks, maximum likelihood, and its inverse.

packages: FrEIA
tolerance: 1e-3
"""

import FrEIA.framework as Ff
import FrEIA.modules as Fm
import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)


def subnet(n_in, n_out):
    return torch.nn.Sequential(torch.nn.Linear(n_in, 16), torch.nn.ReLU(), torch.nn.Linear(16, n_out))


flow = Ff.SequenceINN(2)
for _ in range(3):
    flow.append(Fm.AllInOneBlock, subnet_constructor=subnet, permute_soft=True)
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for _ in range(5):
    x = torch.randn(64, 2) * torch.tensor([1.0, 0.3]) + 1
    z, log_det = flow(x)
    loss = (0.5 * z.square().sum(1) - log_det).mean() / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
back, _ = flow(z, rev=True)
print((flow(back)[0] - z).abs().max().item() < 1e-3)
