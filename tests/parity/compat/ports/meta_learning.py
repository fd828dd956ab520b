"""MAML: inner loop with functional_call, outer Adam; also per-sample gradients, NTK."""

import numpy as np
import torch
import torch.nn as nn
from torch.func import functional_call, grad, jacfwd, jacrev, stack_module_state, vmap


def main():
    rng = np.random.default_rng(5)
    net = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 1)).double()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.tensor(rng.standard_normal(p.shape)) * 0.5)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)

    def inner(params, x, y, lr=0.05, steps=2):
        for _ in range(steps):
            loss = ((functional_call(net, params, (x,)) - y) ** 2).mean()
            grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
            params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
        return params

    losses = []
    for _ in range(6):
        opt.zero_grad()
        meta = 0.0
        for _ in range(3):
            a, ph = rng.uniform(0.5, 2), rng.uniform(0, np.pi)
            xs = torch.from_numpy(rng.uniform(-3, 3, (12, 1)))
            ys = a * torch.sin(xs + ph)
            fast = inner(dict(net.named_parameters()), xs[:6], ys[:6])
            meta = meta + nn.functional.mse_loss(functional_call(net, fast, xs[6:]), ys[6:])
        (meta / 3).backward()
        opt.step()
        losses.append(meta.item() / 3)
    first_order = [p.grad.clone().numpy() for p in net.parameters()]

    # MAML again with torch.func
    params = {k: v.detach() for k, v in net.named_parameters()}
    buffers = dict(net.named_buffers())

    def loss_fn(p, x, y):
        return nn.functional.mse_loss(functional_call(net, (p, buffers), (x,)), y)

    def task_loss(p, x1, y1, x2, y2):
        g = grad(loss_fn)(p, x1, y1)
        return loss_fn({k: p[k] - 0.05 * g[k] for k in p}, x2, y2)

    X = torch.from_numpy(rng.uniform(-2, 2, (4, 2, 5, 1)))
    Y = X.sin()
    metas = vmap(task_loss, in_dims=(None, 0, 0, 0, 0))(params, X[:, 0], Y[:, 0], X[:, 1], Y[:, 1])
    metagrad = grad(
        lambda p: vmap(task_loss, in_dims=(None, 0, 0, 0, 0))(p, X[:, 0], Y[:, 0], X[:, 1], Y[:, 1]).mean()
    )(params)

    # per sample gradients
    x, y = X[0, 0], Y[0, 0]
    ps = vmap(grad(loss_fn), in_dims=(None, 0, 0))(params, x.unsqueeze(1), y.unsqueeze(1))
    clipped = {}
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in ps.values()]).norm(dim=0)
    factor = (0.5 / (norms + 1e-6)).clamp(max=1.0)
    for k, g in ps.items():
        clipped[k] = torch.einsum("n,n...->...", factor, g).numpy()

    # NTK
    def f(p, x):
        return functional_call(net, p, (x.unsqueeze(0),)).squeeze(0)

    def ntk(x1, x2):
        j1 = vmap(jacrev(f), (None, 0))(params, x1)
        j2 = vmap(jacrev(f), (None, 0))(params, x2)
        return sum(
            torch.einsum("Naf,Mbf->NMab", a.flatten(2), b.flatten(2))
            for a, b in zip(j1.values(), j2.values())
        )

    K = ntk(x, X[1, 0])
    jf = vmap(jacfwd(f), (None, 0))(params, x)
    # ensembles
    nets = []
    for s in range(3):
        m = nn.Linear(1, 2).double()
        m.weight.data.fill_(s + 1.0)
        m.bias.data.zero_()
        nets.append(m)
    p_, b_ = stack_module_state(nets)
    base = nn.Linear(1, 2, dtype=torch.float64)
    ens = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(p_, b_, x)
    return {
        "losses": losses,
        "fo": first_order,
        "metas": metas.numpy(),
        "mg": {k: v.numpy() for k, v in metagrad.items()},
        "clipped": clipped,
        "norms": norms.tolist(),
        "K": K.squeeze().numpy(),
        "jf": {k: v.numpy() for k, v in jf.items()},
        "ens": ens.detach().numpy(),
        "req": ens.requires_grad,
        "shape": str(ens.shape),
        "sz": f"{tuple(K.shape)} {K.dtype}",
    }
