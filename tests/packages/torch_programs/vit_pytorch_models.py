"""Vision transformers: the plain one, a compact convolutional one, and one trained by distillation.

packages: vit-pytorch
tolerance: 1e-4
"""

import torch
from vit_pytorch import ViT
from vit_pytorch.cct import CCT
from vit_pytorch.distill import DistillableViT, DistillWrapper

torch.manual_seed(0)
image = torch.randn(2, 3, 32, 32)
small = dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=64)
vit = ViT(dropout=0.0, emb_dropout=0.0, **small)
cct = CCT(
    img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=1, num_heads=2, mlp_ratio=2.0, num_classes=5
)
for model in (vit, cct.eval()):
    loss = model(image).logsumexp(-1).sum()
    loss.backward()
    print(
        type(model).__name__,
        loss.item(),
        torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item(),
    )
student = DistillableViT(dropout=0.0, emb_dropout=0.0, **small)
distiller = DistillWrapper(student=student, teacher=vit, temperature=3, alpha=0.5, hard=False)
loss = distiller(image, torch.tensor([1, 4]))
loss.backward()
print(loss.item(), student.to_vit()(image).norm().item())
