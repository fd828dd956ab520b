"""Layers with distributions over their weights: draws, divergences, and training.

packages: torchbnn
tolerance: 1e-3
"""

import torch
import torchbnn as bnn

torch.manual_seed(0)
model = torch.nn.Sequential(
    bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=16), torch.nn.ReLU(),
    bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=16, out_features=3),
)  # fmt: skip
kl = bnn.BKLLoss(reduction="mean", last_layer_only=False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(20, 4), torch.randint(3, (20,))
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(model(x), y) + 0.1 * kl(model)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
