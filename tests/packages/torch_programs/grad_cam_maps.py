"""Maps of the places in a picture to which a class is due.

packages: grad-cam
tolerance: 1e-3
"""

import torch
from pytorch_grad_cam import GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, XGradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
).eval()  # fmt: skip
x = torch.rand(2, 3, 16, 16)
targets = [ClassifierOutputTarget(1), ClassifierOutputTarget(3)]
for method in (GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, XGradCAM):
    with method(model=model, target_layers=[model[3]]) as cam:
        maps = cam(input_tensor=x, targets=targets)
    print(method.__name__, maps.shape, float(maps.mean()), float(maps.std()))
