"""Losses and heads of self-supervised learning.

packages: lightly
tolerance: 1e-3
"""

import torch
from lightly.loss import (
    BarlowTwinsLoss,
    DCLLoss,
    DINOLoss,
    NegativeCosineSimilarity,
    NTXentLoss,
    SwaVLoss,
    TiCoLoss,
    VICRegLoss,
)
from lightly.models.modules import BarlowTwinsProjectionHead, SimCLRProjectionHead, SwaVPrototypes
from lightly.models.utils import deactivate_requires_grad, update_momentum

torch.manual_seed(0)
x, y = torch.randn(8, 12, requires_grad=True), torch.randn(8, 12)
head, other = SimCLRProjectionHead(12, 16, 6), SimCLRProjectionHead(12, 16, 6)
deactivate_requires_grad(other)
update_momentum(head, other, m=0.9)
for loss in (
    NTXentLoss(memory_bank_size=(16, 6)), BarlowTwinsLoss(), VICRegLoss(), NegativeCosineSimilarity(), DCLLoss(), TiCoLoss(),
):  # fmt: skip
    value = loss(head(x), other(y))
    print(type(loss).__name__, value.item(), torch.autograd.grad(value, x)[0].norm().item())
prototypes = SwaVPrototypes(6, n_prototypes=5)
views = [prototypes(head(v)) for v in (x, y, x * 0.5)]
value = SwaVLoss(sinkhorn_iterations=3)(views[:2], views[2:])
print(value.item(), torch.autograd.grad(value, x)[0].norm().item())
dino = DINOLoss(output_dim=6, warmup_teacher_temp_epochs=2)
value = dino([other(x).detach(), other(y)], [head(x), head(y)], epoch=1)
print(value.item(), torch.autograd.grad(value, x)[0].norm().item())
print(list(BarlowTwinsProjectionHead(12, 8, 4)(x).shape))
