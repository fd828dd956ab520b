"""Learning to learn (Finn et al., 2017): inner steps that are differentiated through, in three ways of writing them."""

import copy
from functools import partial

import torch
from given import initialize, norms, numbers, uniform
from torch import nn
from torch.func import functional_call, grad, vmap


class Sine(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, width), nn.Softplus(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 1)

    def forward(self, x, scale=None):
        y = self.head(self.body(x))
        return y if scale is None else y * scale


def tasks(seed, count, shots):
    amplitude, phase = uniform(seed, count, 1, 1) * 4 + 0.1, uniform(seed + 1, count, 1, 1) * torch.pi
    x = uniform(seed + 2, count, 2 * shots, 1) * 10 - 5
    return torch.chunk(x, 2, dim=1) + torch.chunk(amplitude * torch.sin(x + phase), 2, dim=1)


def mse(params, net, x, y):
    return nn.functional.mse_loss(functional_call(net, params, (x,)), y)


class MAML(nn.Module):
    """Wraps a module whose parameters it adapts: clones are modules whose parameters have a history."""

    def __init__(self, module, lr, first_order=False):
        super().__init__()
        self.module, self.lr, self.first_order = module, lr, first_order

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def clone(self):
        return type(self)(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        params = list(self.module.parameters())
        grads = torch.autograd.grad(loss, params, create_graph=not self.first_order)
        update_module(self.module, iter([-self.lr * g for g in grads]))


def clone_module(module):
    twin = module.__new__(type(module))
    twin.__dict__ = module.__dict__.copy()
    twin._parameters = {k: None if p is None else p.clone() for k, p in module._parameters.items()}
    twin._buffers = {k: b.clone() for k, b in module._buffers.items()}
    twin._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return twin


def update_module(module, steps):
    for key, p in module._parameters.items():
        if p is not None:
            module._parameters[key] = p + next(steps)
    for child in module._modules.values():
        update_module(child, steps)


def by_clones(net, batch, lr, steps, first_order):
    maml, total = MAML(net, lr, first_order), 0.0
    for xs, xq, ys, yq in zip(*batch):
        learner = maml.clone()
        for _ in range(steps):
            learner.adapt(nn.functional.mse_loss(learner(xs), ys))
        total = total + nn.functional.mse_loss(learner(xq), yq)
    return total / len(batch[0])


def by_functional_call(net, batch, lr, steps):
    total = []
    for xs, xq, ys, yq in zip(*batch):
        fast = dict(net.named_parameters())
        for _ in range(steps):
            loss = mse(fast, net, xs, ys)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {name: w.sub(g, alpha=lr) for (name, w), g in zip(fast.items(), grads)}
        total.append(mse(fast, net, xq, yq))
    return torch.stack(total).mean()


def by_vmap(net, batch, lr, steps):
    params = {k: v for k, v in net.named_parameters()}

    def task(xs, xq, ys, yq):
        fast = params
        for _ in range(steps):
            g = grad(mse)(fast, net, xs, ys)
            fast = {k: fast[k] - lr * g[k] for k in fast}
        return mse(fast, net, xq, yq)

    return vmap(task)(*batch).mean()


def run(folder):
    net = initialize(Sine(), seed=2)
    ways = {
        "clones": partial(by_clones, first_order=False),
        "first order": partial(by_clones, first_order=True),
        "functional_call": by_functional_call,
        "vmap": by_vmap,
    }
    results = {}
    for name, way in ways.items():
        twin = copy.deepcopy(net)
        optimizer = torch.optim.AdamW(
            [{"params": twin.body.parameters()}, {"params": twin.head.parameters(), "lr": 5e-3}], lr=1e-2
        )
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6, eta_min=1e-4)
        losses = []
        for i in range(4):
            loss = way(twin, tasks(10 * i, 4, 5), 0.05, 2)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            total = nn.utils.clip_grad_norm_(twin.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            losses += [loss.item(), total.item()]
        results[name] = [losses, norms(twin.parameters()), scheduler.get_last_lr()]
    hessian = torch.func.hessian(
        lambda b: mse({**dict(net.named_parameters()), "head.bias": b}, net, *data())
    )
    results["hessian"] = hessian(net.head.bias.detach()).tolist()
    results["leaves"] = [p.is_leaf for p in clone_module(net).parameters()]
    return results


def data():
    return numbers(5, 6, 1), numbers(6, 6, 1)
