"""Neural spline and masked autoregressive flows: a conditional density fitted, inverted and drawn from.

packages: zuko
tolerance: 1e-3
"""

import torch
import zuko

torch.manual_seed(0)
flows = (
    zuko.flows.NSF(features=2, context=1, transforms=2, hidden_features=[16, 16]),
    zuko.flows.MAF(features=2, context=1, transforms=2, hidden_features=[16]),
    zuko.flows.NICE(features=2, context=1, transforms=2, hidden_features=[16]),
)
for flow in flows:
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    for _ in range(4):
        context = torch.rand(64, 1)
        x = torch.randn(64, 2) * context + 1
        loss = -flow(context).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    drawn = flow(torch.tensor([0.5])).rsample((5,))
    print(loss.item(), drawn.mean().item(), flow(torch.tensor([0.5])).log_prob(drawn).tolist())
