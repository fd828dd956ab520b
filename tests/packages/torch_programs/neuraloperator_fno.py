"""A Fourier neural operator of functions on a grid.

packages: neuraloperator
tolerance: 1e-3
"""

import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO

torch.manual_seed(0)
model = FNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
x = torch.randn(2, 1, 16, 16)
y = x.cumsum(-1).sin()
for _ in range(3):
    optimizer.zero_grad()
    loss = LpLoss(d=2, p=2)(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(H1Loss(d=2)(model(x), y).item())
