"""A schedule with a warm-up that dampens the rate.

packages: pytorch-warmup
tolerance: 1e-4
"""

import pytorch_warmup as w
import torch


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
m = torch.nn.Linear(3, 2)
o = torch.optim.AdamW(m.parameters(), 0.01)
s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 10)
wu = w.UntunedLinearWarmup(o)
for _ in range(5):
    o.zero_grad()
    loss = m(torch.randn(4, 3)).square().sum()
    loss.backward()
    o.step()
    with wu.dampening():
        s.step()
print_numbers(loss, o.param_groups[0]["lr"])
