"""Model-agnostic meta-learning by unrolled steps of an inner optimizer.

packages: higher
tolerance: 1e-4
"""

import higher
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
outer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    outer.zero_grad()
    for amplitude in (0.5, 1.0, 2.0):
        x = torch.linspace(-2, 2, 10).unsqueeze(-1)
        y = amplitude * torch.sin(x)
        inner = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
        with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (fnet, diffopt):
            for _ in range(3):
                diffopt.step((fnet(x[:5]) - y[:5]).square().mean())
            loss = (fnet(x[5:]) - y[5:]).square().mean()
            loss.backward()
    outer.step()
    print(loss.item(), net[0].weight.grad.norm().item())
