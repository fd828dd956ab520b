"""Spiking cells of norse: dynamics in time, and surrogate gradients.

packages: norse
tolerance: 1e-3
"""

import norse.torch as norse
import torch

torch.manual_seed(0)
model = norse.SequentialState(
    norse.ConstantCurrentLIFEncoder(10),
    norse.Lift(torch.nn.Linear(4, 8)),
    norse.LIFRecurrent(8, 8),
    norse.LSNNRecurrent(8, 6),
    norse.Lift(torch.nn.Linear(6, 3)),
    norse.LI(),
)
x = 3 * torch.rand(5, 4)
voltages, state = model(x)
loss = torch.nn.functional.cross_entropy(voltages.max(0).values, torch.tensor([0, 1, 2, 0, 1]))
loss.backward()
print(list(voltages.shape), voltages[-1, 0].tolist(), loss.item())
for name, parameter in model.named_parameters():
    print(name, parameter.grad.norm().item())
