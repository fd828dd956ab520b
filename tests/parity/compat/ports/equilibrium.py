"""Deep equilibrium model: implicit differentiation by a custom Function, and a hook variant."""

import numpy as np
import torch
from torch import nn
from torch.autograd import Function


def fixed_point(f, z, tol=1e-12, limit=200):
    for k in range(limit):
        new = f(z)
        if (new - z).norm() < tol * (1 + new.norm()):
            return new, k
        z = new
    return z, limit


class Root(Function):
    @staticmethod
    def forward(ctx, W, U, b, x):
        with torch.no_grad():
            z, k = fixed_point(
                lambda z: torch.tanh(z @ W.t() + x @ U.t() + b),
                torch.zeros(x.shape[0], W.shape[0], dtype=x.dtype),
            )
        ctx.save_for_backward(W, U, b, x, z)
        ctx.iterations = k
        return z

    @staticmethod
    def backward(ctx, grad):
        W, U, b, x, z = ctx.saved_tensors
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            leaves = [v.detach().requires_grad_(need) for v, need in zip((W, U, b, x), ctx.needs_input_grad)]
            f = torch.tanh(z @ leaves[0].t() + leaves[3] @ leaves[1].t() + leaves[2])
        g, _ = fixed_point(lambda g: torch.autograd.grad(f, z, g, retain_graph=True)[0] + grad, grad)
        wanted = [v for v in leaves if v.requires_grad]
        found = iter(torch.autograd.grad(f, wanted, g))
        return tuple(next(found) if v.requires_grad else None for v in leaves)


class DEQ(nn.Module):
    def __init__(self, rng):
        super().__init__()
        self.W = nn.Parameter(torch.from_numpy(0.12 * rng.standard_normal((5, 5))))
        self.U = nn.Parameter(torch.from_numpy(0.5 * rng.standard_normal((5, 3))))
        self.b = nn.Parameter(torch.zeros(5, dtype=torch.double))

    def forward(self, x):
        return Root.apply(self.W, self.U, self.b, x)


class HookDEQ(DEQ):
    def forward(self, x):
        def f(z):
            return torch.tanh(z @ self.W.t() + x @ self.U.t() + self.b)

        with torch.no_grad():
            z, _ = fixed_point(f, torch.zeros(x.shape[0], 5, dtype=x.dtype))
        z = f(z)
        z0 = z.clone().detach().requires_grad_()
        f0 = f(z0)

        def backward_hook(grad):
            return fixed_point(lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad)[0]

        z.register_hook(backward_hook)
        return z


def main():
    out = {}
    for cls in (DEQ, HookDEQ):
        rng = np.random.default_rng(7)
        model = cls(rng)
        head = nn.Linear(5, 1).double()
        head.weight.data.copy_(torch.from_numpy(rng.standard_normal((1, 5))))
        head.bias.data.zero_()
        x = torch.from_numpy(rng.standard_normal((16, 3)))
        target = x.prod(1, keepdim=True)
        opt = torch.optim.SGD(
            [{"params": model.parameters()}, {"params": head.parameters(), "lr": 0.01}], lr=0.1, momentum=0.8
        )
        losses = []
        for _ in range(6):
            opt.zero_grad()
            loss = (head(model(x)) - target).pow(2).mean()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        xr = x[:2].clone().requires_grad_()
        model(xr).sum().backward()
        out[cls.__name__] = {"losses": losses, "W": model.W.detach().numpy(), "xgrad": xr.grad.numpy()}
    inputs = [p.detach().clone().requires_grad_() for p in (model.W, model.U, model.b)]
    ok = torch.autograd.gradcheck(Root.apply, (*inputs, xr), eps=1e-6, atol=1e-5)
    out["ok"] = ok
    return out
