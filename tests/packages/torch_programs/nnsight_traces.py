"""Inner values of a model, read and replaced in a traced block.

packages: nnsight
tolerance: 1e-3
"""

import torch
from nnsight import NNsight
from torch import nn

torch.manual_seed(0)
model = NNsight(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)))
x = torch.rand(3, 4)
with model.trace(x):
    hidden = model[1].output.save()
    out = model.output.save()
print(hidden.norm().item(), out[0].tolist())
with model.trace(x):
    model[1].output[:, 0] = 0
    changed = model.output.save()
print(changed[0].tolist())
