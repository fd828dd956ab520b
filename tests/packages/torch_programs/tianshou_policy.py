"""A policy of deep Q-learning over a buffer of transitions.

packages: tianshou
tolerance: 1e-3
"""

import numpy as np
import torch
from tianshou.data import Batch, ReplayBuffer, to_torch

torch.manual_seed(0)
rng = np.random.default_rng(0)
buffer = ReplayBuffer(size=20)
for k in range(20):
    buffer.add(
        Batch(
            obs=rng.standard_normal(3),
            act=k % 2,
            rew=float(k),
            terminated=k % 7 == 6,
            truncated=False,
            obs_next=rng.standard_normal(3),
        )
    )
torch.set_default_dtype(torch.float64)
net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for start in (0, 5, 10):
    batch = to_torch(buffer[np.arange(start, start + 8)])
    with torch.no_grad():
        target = batch.rew + 0.9 * net(batch.obs_next).max(-1).values * (1 - batch.done.double())
    loss = (net(batch.obs).gather(1, batch.act.long().unsqueeze(-1)).squeeze(-1) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
