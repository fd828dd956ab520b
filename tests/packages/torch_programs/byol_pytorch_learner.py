"""A network that learns from two views of a picture without labels.

packages: byol-pytorch
tolerance: 1e-3
"""

import torch
from byol_pytorch import BYOL
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
)
learner = BYOL(
    net, image_size=16, hidden_layer=-1, projection_size=8, projection_hidden_size=16, moving_average_decay=0.9,
    augment_fn=nn.Identity(), augment_fn2=nn.Hardtanh(0, 0.7),
)  # fmt: skip
optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
for _ in range(3):
    loss = learner(torch.rand(4, 3, 16, 16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    learner.update_moving_average()
    print(loss.item(), net[0].weight.norm().item())
projection, embedding = learner(torch.rand(2, 3, 16, 16), return_embedding=True)
print(list(projection.shape), embedding.norm().item())
