"""Attacks on a classifier of pictures.

packages: torchattacks
tolerance: 1e-3
"""

import torch
import torchattacks
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 7 * 7, 3)).eval()
images = torch.rand(2, 3, 16, 16)
labels = model(images).argmax(1)
for attack in (
    torchattacks.FGSM(model, eps=8 / 255),
    torchattacks.BIM(model, eps=8 / 255, alpha=2 / 255, steps=4),
    torchattacks.PGD(model, eps=8 / 255, alpha=2 / 255, steps=4, random_start=True),
    torchattacks.PGDL2(model, eps=1.0, alpha=0.2, steps=4, random_start=False),
    torchattacks.MIFGSM(model, eps=8 / 255, steps=4),
    torchattacks.TIFGSM(model, eps=8 / 255, steps=4, diversity_prob=0.0),
    torchattacks.CW(model, c=1, steps=10, lr=0.01),
    torchattacks.DeepFool(model, steps=5),
    torchattacks.GN(model, std=0.1),
):
    adversarial = attack(images, labels)
    loss = nn.functional.cross_entropy(model(adversarial), labels)
    print(type(attack).__name__, (adversarial - images).norm().item(), loss.item())
