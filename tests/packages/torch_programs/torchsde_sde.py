"""A neural SDE solved by Euler and Milstein steps, and its gradient by the stochastic adjoint.

packages: torchsde
tolerance: 1e-3
"""

import torch
import torchsde


class SDE(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y).tanh()

    def g(self, t, y):
        return 0.2 * self.sigma(y).sigmoid()


torch.manual_seed(0)
sde, y0, ts = SDE(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 6)
for solve, method in (
    (torchsde.sdeint, "euler"),
    (torchsde.sdeint, "milstein"),
    (torchsde.sdeint_adjoint, "euler"),
):
    brownian = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7, dtype=torch.float32)
    y = solve(sde, y0, ts, bm=brownian, dt=0.1, method=method)
    sde.zero_grad()
    y[-1].square().sum().backward()
    print(method, y[-1].mean().item(), sde.mu.weight.grad.norm().item(), sde.sigma.weight.grad.norm().item())
