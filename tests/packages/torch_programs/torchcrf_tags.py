"""A conditional random field over tags: likelihood, its gradient, and the best sequences.

packages: pytorch-crf
tolerance: 1e-4
"""

import torch
from torchcrf import CRF

torch.manual_seed(0)
crf = CRF(5, batch_first=True)
emissions = torch.randn(3, 6, 5, requires_grad=True)
tags = torch.randint(5, (3, 6))
mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 2 + [0] * 4], dtype=torch.bool)
optimizer = torch.optim.SGD(crf.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = -crf(emissions, tags, mask=mask, reduction="token_mean")
    loss.backward()
    optimizer.step()
    print(loss.item(), crf.transitions.grad.norm().item(), emissions.grad.norm().item())
print(crf.decode(emissions, mask=mask), crf(emissions, tags, reduction="none").tolist())
