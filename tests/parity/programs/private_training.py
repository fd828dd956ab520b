"""Differentially private gradient descent (Abadi et al., 2016): gradients of single samples, by hooks, by functional
transforms and one by one; clipped, summed, with noise."""

import copy
import functools
from types import MethodType

import numpy as np
import torch
import torch.nn as nn
from given import initialize, integers, norms, numbers
from torch import optim
from torch.func import functional_call, grad, vmap
from torch.utils.data import DataLoader, TensorDataset

SAMPLERS = {}


def register_sampler(*kinds):
    def register(function):
        for kind in kinds:
            SAMPLERS[kind] = function
        return function

    return register


@register_sampler(nn.Linear)
def linear(layer, x, g):
    found = {layer.weight: torch.einsum("n...i,n...j->nij", g, x)}
    if layer.bias is not None:
        found[layer.bias] = torch.einsum("n...k->nk", g)
    return found


@register_sampler(nn.Conv2d)
def convolution(layer, x, g):
    rows = nn.functional.unfold(x, layer.kernel_size, padding=layer.padding, stride=layer.stride)
    found = {layer.weight: torch.einsum("noq,npq->nop", g.flatten(2), rows).view(-1, *layer.weight.shape)}
    if layer.bias is not None:
        found[layer.bias] = g.sum((2, 3))
    return found


@register_sampler(nn.GroupNorm)
def group_norm(layer, x, g):
    normal = nn.functional.group_norm(x, layer.num_groups, eps=layer.eps)
    return {layer.weight: (normal * g).flatten(2).sum(-1), layer.bias: g.flatten(2).sum(-1)}


@register_sampler(nn.Embedding)
def embedding(layer, x, g):
    rows = torch.zeros(len(x), *layer.weight.shape, dtype=g.dtype)
    places = x.reshape(len(x), -1).unsqueeze(-1).expand(-1, -1, layer.embedding_dim)
    return {layer.weight: rows.scatter_add_(1, places, g.reshape(len(x), -1, layer.embedding_dim))}


class GradSampleModule(nn.Module):
    """Keeps `grad_sample` on every parameter of a module."""

    def __init__(self, m, loss_reduction="mean"):
        super().__init__()
        unknown = [type(c).__name__ for c in self.leaves(m) if type(c) not in SAMPLERS]
        if unknown:
            raise NotImplementedError(f"no gradients of single samples for {unknown}")
        self._module, self.loss_reduction, self.handles = m, loss_reduction, []
        for layer in self.leaves(m):
            self.handles.append(layer.register_forward_hook(self.capture_activations))
            self.handles.append(layer.register_full_backward_hook(self.capture_backprops))
        for p in m.parameters():
            p.grad_sample = None

    @staticmethod
    def leaves(m):
        return [c for c in m.modules() if any(True for _ in c.parameters(recurse=False))]

    def capture_activations(self, module, inputs, output):
        if module.training and torch.is_grad_enabled():
            module.__dict__.setdefault("activations", []).append(inputs[0].detach())

    def capture_backprops(self, module, grad_input, grad_output):
        x, g = module.activations.pop(), grad_output[0].detach()
        if self.loss_reduction == "mean":
            g = g * len(g)
        for p, value in SAMPLERS[type(module)](module, x, g).items():
            p.grad_sample = value if p.grad_sample is None else p.grad_sample + value

    def forward(self, *args, **kwargs):
        return self._module(*args, **kwargs)

    def __getattr__(self, item):
        try:
            return super().__getattr__(item)
        except AttributeError as e:
            submodules = dict(super().__getattr__("_module").named_modules())
            if item and item in submodules:
                return submodules[item]
            raise e

    def to_standard_module(self):
        while self.handles:
            self.handles.pop().remove()
        for p in self._module.parameters():
            del p.grad_sample
        return self._module


def make_private(optimizer, max_norm, noise, seed=0):
    """Have an optimizer clip the gradients of single samples, and add noise."""
    generator = np.random.default_rng(seed)
    original = optimizer.step

    def step(self, closure=None):
        params = [p for group in self.param_groups for p in group["params"]]
        each = torch.stack([p.grad_sample.flatten(1).norm(2, dim=-1) for p in params], 1).norm(2, dim=1)
        factor = (max_norm / (each + 1e-6)).clamp(max=1.0)
        for p in params:
            summed = torch.einsum("i,i...", factor, p.grad_sample)
            drawn = torch.as_tensor(generator.standard_normal(tuple(p.shape)), dtype=p.dtype)
            p.grad = (summed + noise * max_norm * drawn) / len(factor)
            p.grad_sample = None
        self.clipped = factor.lt(1).sum().item()
        return original(closure)

    optimizer.step = MethodType(step, optimizer)
    return optimizer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, 4)
        self.embedding = nn.Embedding(5, 4)
        self.fc = nn.Linear(4, 3)

    def forward(self, x, kind):
        h = torch.tanh(self.norm(self.conv(x))).mean((2, 3))
        return self.fc(h + self.embedding(kind))


def loss_of(net, params, x, kind, y):
    return nn.functional.cross_entropy(functional_call(net, params, (x[None], kind[None])), y[None])


def by_func(net, x, kind, y):
    params = {k: v.detach() for k, v in net.named_parameters()}
    each = vmap(grad(functools.partial(loss_of, net)), in_dims=(None, 0, 0, 0), randomness="different")
    return each(params, x, kind, y)


def one_by_one(net, x, kind, y):
    found = []
    for sample in zip(x, kind, y):
        params = dict(net.named_parameters())
        found.append(torch.autograd.grad(loss_of(net, params, *sample), list(params.values())))
    return dict(zip(params, map(torch.stack, zip(*found))))


def run(folder):
    x, kind, y = numbers(0, 12, 1, 6, 6), integers(1, 5, 12), integers(2, 3, 12)
    net = initialize(Net(), seed=9)
    bare = copy.deepcopy(net)
    wrapped = GradSampleModule(net)
    nn.CrossEntropyLoss()(wrapped(x, kind), y).backward()
    hooked = {n: p.grad_sample for n, p in net.named_parameters()}
    transformed, single = by_func(bare, x, kind, y), one_by_one(bare, x, kind, y)
    same = [
        torch.allclose(hooked[n], transformed[n]) and torch.allclose(hooked[n], single[n]) for n in hooked
    ]
    for p in net.parameters():
        p.grad_sample = None
    optimizer = make_private(optim.SGD(net.parameters(), lr=0.5, momentum=0.5, nesterov=True), 0.5, 0.3)
    loader = DataLoader(TensorDataset(x, kind, y), batch_size=5, num_workers=0)
    losses, clipped = [], []
    for _ in range(3):
        for batch in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(wrapped(*batch[:2]), batch[2], reduction="mean")
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            clipped.append(optimizer.clipped)
    text, shape = repr(wrapped), list(wrapped.fc.weight.shape)
    bare = wrapped.to_standard_module()
    try:
        GradSampleModule(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
        error = ""
    except NotImplementedError as e:
        error = str(e)
    return {
        "same": same,
        "samples": norms(hooked.values()),
        "losses": losses,
        "clipped": clipped,
        "parameters": norms(bare.parameters()),
        "left": [hasattr(p, "grad_sample") for p in bare.parameters()],
        "text": text,
        "shape": shape,
        "error": error,
        "names": list(wrapped.state_dict()),
    }
