"""Custom Functions: straight-through, gradient reversal, mark_dirty, non-differentiable outputs, double backward."""

import numpy as np
import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class STE(Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return torch.round(x.clamp(-1, 1) * levels) / levels

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1), None


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lambd, None


class InplaceScale(Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.mark_dirty(x)
        ctx.s = s
        x.mul_(s)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.s, None


class SortWithIndex(Function):
    @staticmethod
    def forward(ctx, x):
        v, i = x.sort(dim=-1)
        ctx.mark_non_differentiable(i)
        ctx.save_for_backward(i)
        return v, i

    @staticmethod
    def backward(ctx, gv, gi):
        (i,) = ctx.saved_tensors
        out = torch.zeros_like(gv)
        out.scatter_(-1, i, gv)
        return out


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        r = x**3
        dx = 3 * x**2
        ctx.save_for_backward(x, dx)
        return r, dx

    @staticmethod
    def backward(ctx, g, gdx):
        x, dx = ctx.saved_tensors
        return g * dx + gdx * 6 * x


class LogSumExp(Function):
    @staticmethod
    def forward(x, dim):
        m = x.amax(dim, keepdim=True)
        return (x - m).exp().sum(dim).log() + m.squeeze(dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim = inputs
        ctx.save_for_backward(x, output)
        ctx.save_for_forward(x, output)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.unsqueeze(ctx.dim) * (x - y.unsqueeze(ctx.dim)).exp(), None

    @staticmethod
    def jvp(ctx, tx, _):
        x, y = ctx.saved_tensors
        return (tx * (x - y.unsqueeze(ctx.dim)).exp()).sum(ctx.dim)


def main():
    rng = np.random.default_rng(9)
    x = torch.from_numpy(rng.standard_normal((4, 5))).requires_grad_()
    out = {}
    w = torch.from_numpy(rng.standard_normal((5, 3))).requires_grad_()
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(5):
        loss = (x.detach() @ STE.apply(w, 4) - 1).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    out["ste"], out["loss"] = w.detach().numpy(), loss.item()
    feat = torch.tanh(x @ w)
    dom = Reverse.apply(feat, 0.3).sum()
    (feat.pow(2).sum() + dom).backward()
    out["rev"] = x.grad.numpy().copy()
    x.grad = None
    h = x * 2
    v = h._version
    h2 = InplaceScale.apply(h, 3.0)
    out["same"] = h2 is h
    out["ver"] = h._version - v
    (h2 * h2).sum().backward()
    out["dirty"] = x.grad.numpy().copy()
    s, i = SortWithIndex.apply(x)
    out["rgi"] = i.requires_grad
    (g,) = torch.autograd.grad((s * torch.arange(5)).sum(), x)
    out["sort"] = g.numpy()
    y, _ = Cube.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.pow(2).sum(), x)
    out["cube"] = gg.numpy()
    out["gc"] = gradcheck(Cube.apply, (x,)) and gradgradcheck(lambda x: Cube.apply(x)[0], (x,))
    out["lse"] = gradcheck(LogSumExp.apply, (x, 1), check_forward_ad=True) and gradgradcheck(
        LogSumExp.apply, (x, 0)
    )
    out["lsev"] = LogSumExp.apply(x, 1).detach().numpy()
    names = [type(y.grad_fn).__name__, y.grad_fn.name(), repr(s)[-40:]]
    out["names"] = names

    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    try:
        Bad.apply(x).sum().backward()
    except RuntimeError as e:
        out["bad"] = str(e).splitlines()[0]
    return out
