"""Optimal transport with gradients: exact, entropic, sliced and unbalanced.

packages: POT
tolerance: 1e-4
"""

import ot
import torch

torch.manual_seed(0)
x, y = (
    torch.randn(12, 2, dtype=torch.float64, requires_grad=True),
    torch.randn(15, 2, dtype=torch.float64) + 1,
)
a, b = ot.unif(12, type_as=x), ot.unif(15, type_as=x)
M = ot.dist(x, y)
for value in (
    ot.emd2(a, b, M),
    ot.sinkhorn2(a, b, M, reg=0.5),
    ot.bregman.empirical_sinkhorn_divergence(x, y, 1.0),
    ot.sliced_wasserstein_distance(x, y, n_projections=8, seed=1),
    ot.unbalanced.sinkhorn_unbalanced2(a, b, M, reg=1.0, reg_m=1.0),
    ot.wasserstein_1d(x[:, 0], y[:, 0], p=2),
):
    print(float(value.sum()), torch.autograd.grad(value.sum(), x, retain_graph=True)[0].norm().item())
