"""A physics-informed network: u″ + u·u′ = f on [0, 1] with boundary values, the residual by `autograd.grad` of
grads, the parameters (an unknown coefficient among them) trained through it. The exact solution is sin(πx)."""

import math

import numpy as np
import torch


class Sine(torch.autograd.Function):
    """sin(ωx) by rules of its own, differentiated three times below."""

    @staticmethod
    def forward(ctx, x, omega):
        ctx.save_for_backward(x)
        ctx.omega = omega
        return torch.sin(omega * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.omega * Sine.apply(x + math.pi / (2 * ctx.omega), ctx.omega), None


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(1, 20)
        self.second = torch.nn.Linear(20, 20)
        self.last = torch.nn.Linear(20, 1)
        self.coefficient = torch.nn.Parameter(torch.tensor(0.2))

    def forward(self, x):
        h = Sine.apply(self.first(x), 1.5)
        return self.last(torch.tanh(self.second(h)))


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def main() -> dict:
    torch.set_default_dtype(torch.float64)
    try:
        return train()
    finally:
        torch.set_default_dtype(torch.float32)


def train() -> dict:
    rng = np.random.default_rng(8)
    model = Network()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim():
                p.copy_(torch.from_numpy(rng.standard_normal(tuple(p.shape)) / math.sqrt(p.shape[-1])))
    x = torch.linspace(0, 1, 24).reshape(-1, 1).requires_grad_()
    ends = torch.tensor([[0.0], [1.0]])
    inside = x.detach()
    exact = torch.sin(math.pi * inside)
    slope = math.pi * torch.cos(math.pi * inside)
    source = -(math.pi**2) * exact + exact * slope
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(30):
        optimizer.zero_grad(set_to_none=False)
        u = model(x)
        du = derivative(u, x)
        ddu = derivative(du, x)
        residual = ddu + model.coefficient * u * du - source
        loss = (
            residual.square().mean()
            + 100 * model(ends).square().mean()
            + 10 * (u[::6] - exact[::6]).square().mean()
        )
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "losses": losses,
        "coefficient": model.coefficient.item(),
        "gradient of the points": x.grad.numpy(),
        "solution": model(inside).detach().numpy(),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(name, value)
