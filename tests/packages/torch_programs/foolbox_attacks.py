"""Attacks of foolbox on a classifier: by gradients, and by decisions alone.

packages: foolbox
tolerance: 1e-3
"""

import foolbox
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.Tanh(), nn.Linear(16, 3)).eval()
model = foolbox.PyTorchModel(net, bounds=(0, 1), device="cpu")
images = torch.rand(4, 3, 4, 4)
labels = net(images).argmax(1)
print(foolbox.accuracy(model, images, labels))
for attack in (
    foolbox.attacks.LinfFastGradientAttack(),
    foolbox.attacks.L2ProjectedGradientDescentAttack(steps=5, random_start=False),
    foolbox.attacks.LinfDeepFoolAttack(steps=5),
    foolbox.attacks.L2CarliniWagnerAttack(binary_search_steps=2, steps=10),
    foolbox.attacks.DDNAttack(steps=10),
):
    _, clipped, success = attack(model, images, labels, epsilons=0.5)
    print(type(attack).__name__, (clipped - images).flatten(1).norm(dim=1).tolist(), success.tolist())
