"""Optimizers without a hand-set step, or by the sign: Lion, Prodigy, schedule-free Adam.

packages: lion-pytorch, prodigyopt, schedulefree
tolerance: 1e-4
"""

import torch
from lion_pytorch import Lion
from prodigyopt import Prodigy
from schedulefree import AdamWScheduleFree

for make in (lambda p: Lion(p, lr=1e-2, weight_decay=1e-2), Prodigy, lambda p: AdamWScheduleFree(p, lr=1e-2)):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = make(model.parameters())
    x = torch.randn(32, 3)
    if hasattr(optimizer, "train"):
        optimizer.train()
    for _ in range(6):
        optimizer.zero_grad()
        loss = (model(x) - x.prod(-1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
    if hasattr(optimizer, "eval"):
        optimizer.eval()
    print(type(optimizer).__name__, loss.item(), model(x).norm().item())
