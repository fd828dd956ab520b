"""Quantities beside the gradient in one backward pass: of each sample, second moments, Gauss-Newton diagonals, KFAC.

packages: backpack-for-pytorch
tolerance: 1e-4
"""

import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFAC,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SumGradSquared,
    Variance,
)

torch.manual_seed(0)
model = extend(
    torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3), torch.nn.Sigmoid(), torch.nn.Flatten(), torch.nn.Linear(3 * 6 * 6, 4)
    )
)
criterion = extend(torch.nn.CrossEntropyLoss())
x, y = torch.randn(8, 1, 8, 8), torch.randint(4, (8,))
asked = (
    BatchGrad(),
    BatchL2Grad(),
    SumGradSquared(),
    Variance(),
    DiagGGNExact(),
    DiagHessian(),
    KFAC(mc_samples=1),
)
with backpack(*asked):
    criterion(model(x), y).backward()
for name, p in model.named_parameters():
    print(
        name,
        p.grad.norm().item(),
        p.grad_batch.norm().item(),
        p.batch_l2.tolist(),
        p.sum_grad_squared.sum().item(),
    )
    print(
        p.variance.sum().item(),
        p.diag_ggn_exact.sum().item(),
        p.diag_h.sum().item(),
        [k.norm().item() for k in p.kfac],
    )
