"""A neural ODE fitted to a spiral, by backpropagation and by the adjoint method.

packages: torchdiffeq
tolerance: 2e-4
"""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
y0, t = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 2.0, 20)
with torch.no_grad():
    true_y = odeint(lambda t, y: y**3 @ true_A, y0, t, method="dopri5")


class Derivative(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


for solve, method in ((odeint, "rk4"), (odeint_adjoint, "dopri5")):
    f = Derivative()
    optimizer = torch.optim.RMSprop(f.parameters(), lr=1e-3)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (solve(f, y0, t, method=method) - true_y).abs().mean()
        loss.backward()
        optimizer.step()
        print(method, loss.item())

fall = lambda t, state: (state[1], torch.full_like(state[1], -9.8))
when, _ = odeint_event(
    fall, (torch.tensor([10.0]), torch.tensor([0.0])), torch.tensor(0.0), event_fn=lambda t, state: state[0], atol=1e-8, rtol=1e-8
)  # fmt: skip
print("lands", when.item())
