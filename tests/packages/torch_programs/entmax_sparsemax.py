"""Sparse counterparts of softmax and their losses.

packages: entmax
tolerance: 1e-5
"""

import torch
from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, normmax_bisect, sparsemax

torch.manual_seed(0)
x, y = torch.randn(4, 7, requires_grad=True), torch.randint(7, (4,))
alpha = torch.tensor(1.3, requires_grad=True)
for p in (
    sparsemax(x, dim=-1),
    entmax15(x, dim=-1, k=3),
    entmax_bisect(x, alpha),
    normmax_bisect(x, alpha=2),
):
    print(p[0].tolist(), torch.autograd.grad(p.square().sum(), x)[0].norm().item())
print(torch.autograd.grad(entmax_bisect(x, alpha).square().sum(), alpha)[0].item())
for loss in (SparsemaxLoss(), Entmax15Loss()):
    value = loss(x, y)
    print(value.item(), torch.autograd.grad(value, x)[0].norm().item())
