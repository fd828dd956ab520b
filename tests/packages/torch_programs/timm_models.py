"""Vision models by name, without weights: a vision transformer, residual, mobile and convolutional networks.

packages: timm
tolerance: 1e-3
"""

import timm
import torch

for name, size in (
    ("resnet10t", 64),
    ("vit_tiny_patch16_224", 64),
    ("mobilenetv3_small_050", 64),
    ("convnext_atto", 64),
):
    torch.manual_seed(0)
    options = {"img_size": size} if name.startswith("vit") else {}
    model = timm.create_model(name, pretrained=False, num_classes=5, **options)
    model.train()
    x, y = torch.randn(2, 3, size, size), torch.tensor([1, 3])
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    model.eval()
    with torch.no_grad():
        print(name, loss.item(), norm.item(), model(x).norm().item(), model.forward_features(x).shape)
