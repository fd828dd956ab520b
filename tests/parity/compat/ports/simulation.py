"""Differentiable simulation with views and in-place updates: springs, a wave on a grid, balls that overlap."""

import numpy as np
import torch


def chain(k, x0, steps=20, dt=0.05):
    traj = torch.zeros(steps + 1, *x0.shape, dtype=x0.dtype)
    traj[0] = x0
    x, v = x0.clone(), torch.zeros_like(x0)
    for t in range(steps):
        f = torch.zeros_like(x)
        d = x[1:] - x[:-1]
        length = d.norm(dim=-1, keepdim=True)
        force = k[:, None] * (length - 1.0) * d / length
        f[:-1] += force
        f[1:] -= force
        f[..., 1] -= 0.1
        v = v + dt * f
        x = x + dt * v
        x[0] = x0[0]
        traj[t + 1] = x
    return traj


def wave(c, u0, steps=12):
    u, prev = u0.clone(), u0.clone()
    for _ in range(steps):
        lap = torch.zeros_like(u)
        inner = lap[1:-1, 1:-1]
        inner.copy_(u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        inner.sub_(u[1:-1, 1:-1], alpha=4)
        new = 2 * u - prev + c**2 * lap
        new[0, :], new[-1, :] = 0, 0
        new[:, 0].zero_()
        new[:, -1:] = new[:, -2:-1]
        prev, u = u, new
    return u


def collide(p, r):
    """Pairwise penalties gathered with indices."""
    i, j = torch.triu_indices(len(p), len(p), offset=1)
    d = (p[i] - p[j]).norm(dim=1)
    pen = torch.clamp(r[i] + r[j] - d, min=0) ** 2
    e = torch.zeros(len(p), dtype=p.dtype)
    e.index_add_(0, i, pen)
    e.scatter_add_(0, j, pen)
    return e


def main():
    rng = np.random.default_rng(16)
    k = torch.full((4,), 3.0, dtype=torch.double, requires_grad=True)
    x0 = torch.stack([torch.arange(5.0), torch.zeros(5)], 1).double().requires_grad_()
    goal = torch.tensor([3.0, 1.0], dtype=torch.double)
    opt = torch.optim.Adam([k], lr=0.2)
    ls = []
    for _ in range(5):
        opt.zero_grad()
        traj = chain(k, x0)
        loss = (traj[-1, -1] - goal).pow(2).sum() + 0.1 * traj[:, 1:, 1].diff(dim=0).abs().sum()
        loss.backward()
        opt.step()
        ls.append(loss.item())
    out = {"ls": ls, "k": k.detach().numpy(), "x0": x0.grad.numpy()}
    c = torch.from_numpy(0.3 + 0.1 * rng.random((9, 9))).requires_grad_()
    u0 = torch.zeros(9, 9, dtype=torch.double)
    u0[4, 4] = 1.0
    u = wave(c, u0)
    sensor = u[[2, 6, 4], [2, 3, 7]]
    sensor.square().sum().backward()
    out["u"], out["c"] = u.detach().numpy(), c.grad.numpy()
    out["gc"] = torch.autograd.gradcheck(lambda c: wave(c, u0, 3)[2:7, 2:7], (c,))
    p = torch.from_numpy(rng.random((7, 2))).requires_grad_()
    r = torch.full((7,), 0.25, dtype=torch.double)
    for _ in range(5):
        e = collide(p, r).sum()
        (g,) = torch.autograd.grad(e, p)
        with torch.no_grad():
            p -= 0.1 * g
            p.clamp_(0, 1)
    out["p"] = p.detach().numpy()
    out["per"] = torch.func.vmap(torch.func.grad(lambda q: wave(q, u0, 3).sum()))(
        torch.stack([c.detach(), c.detach() * 1.1])
    ).numpy()
    # state buffers modified where the tape still needs them
    a = torch.ones(3, requires_grad=True)
    b = a.exp()
    s = b.sin()
    b.add_(1)
    try:
        s.sum().backward()
    except RuntimeError as err:
        out["err"] = str(err).split(":")[0][:60]
    w = torch.zeros(4)
    w[1:3] = a[:2] * 2
    w.view(2, 2)[0].mul_(a[2] + 1)
    out["wfn"] = w.grad_fn.name()
    w.sum().backward()
    out["ag"] = a.grad.tolist()
    out["base"] = [w[1:]._base is w, w[1:]._is_view(), w._version]
    return out
