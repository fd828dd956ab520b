"""Optimizers of torch-optimizer on the function of Rosenbrock.

packages: torch-optimizer
tolerance: 1e-4
"""

import torch
import torch_optimizer as optim

kinds = "AdaBound AdaMod Adahessian DiffGrad Lamb NovoGrad PID QHAdam QHM RAdam Ranger SGDP SGDW Shampoo SWATS Yogi AggMo AdaBelief"
for name in kinds.split():
    p = torch.tensor([[-2.0, 2.0]], requires_grad=True)
    optimizer = getattr(optim, name)([p], lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        x, y = p[0]
        loss = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        loss.backward(create_graph=name == "Adahessian")
        torch.nn.utils.clip_grad_norm_([p], 1.0)
        torch.manual_seed(0)
        optimizer.step()
    print(name, p.flatten().tolist())
