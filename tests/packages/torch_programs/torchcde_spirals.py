"""A neural controlled differential equation over an interpolated path.

packages: torchcde
tolerance: 1e-3
"""

import torch
import torchcde


class Func(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4 * 3)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


torch.manual_seed(0)
x = torch.cat([torch.linspace(0, 1, 10).expand(5, 10).unsqueeze(-1), torch.randn(5, 10, 2).cumsum(1)], -1)
for coefficients, path in (
    (torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.CubicSpline),
    (torchcde.linear_interpolation_coeffs, torchcde.LinearInterpolation),
):
    X, func = path(coefficients(x)), Func()
    z = torchcde.cdeint(
        X=X,
        func=func,
        z0=torch.zeros(5, 4),
        t=X.interval,
        method="rk4",
        adjoint=False,
        options={"step_size": 0.2},
    )
    z[:, -1].square().sum().backward()
    print(z[:, -1].mean().item(), func.linear.weight.grad.norm().item())
