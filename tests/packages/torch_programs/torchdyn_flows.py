"""Neural ODEs of torchdyn, flow matching.

packages: torchdyn
tolerance: 2e-3
"""

import torch
from torchdyn.core import NeuralODE

torch.manual_seed(0)
f = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
x = torch.randn(10, 2)
for sensitivity, solver in (("autograd", "rk4"), ("adjoint", "dopri5"), ("interpolated_adjoint", "dopri5")):
    model = NeuralODE(f, sensitivity=sensitivity, solver=solver, atol=1e-4, rtol=1e-4)
    f.zero_grad()
    _, y = model(x, torch.linspace(0, 1, 5))
    y[-1].square().sum().backward()
    print(sensitivity, y[-1].norm().item(), f[0].weight.grad.norm().item())
