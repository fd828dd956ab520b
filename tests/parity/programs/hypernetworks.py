"""Networks whose weights other networks give (Ha et al., 2017), with parametrizations and weights in one vector."""

import math
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
from given import initialize, norms, numbers
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.nn.utils.parametrizations import orthogonal, weight_norm


class Slot(NamedTuple):
    name: str
    shape: torch.Size
    start: int
    stop: int


class TargetMixin:
    """What a network knows of the vector in which its weights come."""

    def slots(self):
        start = 0
        for name, p in self.named_parameters():
            yield Slot(name, p.shape, start, start + p.numel())
            start += p.numel()

    def call_with(self, vector, *args):
        weights = {s.name: vector[s.start : s.stop].view(s.shape) for s in self.slots()}
        return torch.func.functional_call(self, weights, args)


class Implicit(nn.Sequential, TargetMixin):
    """A field of numbers over the plane, in sines."""

    def __init__(self, width=6):
        super().__init__(nn.Linear(2, width), Sine(3.0), nn.Linear(width, 1))


class Sine(nn.Module):
    __constants__ = ("frequency",)

    def __init__(self, frequency):
        super().__init__()
        self.frequency = frequency

    def forward(self, x):
        return torch.sin(self.frequency * x)

    def extra_repr(self):
        return f"frequency={self.frequency}"


class Hypernetwork(nn.Module):
    def __init__(self, target, codes, size=5):
        super().__init__()
        count = sum(math.prod(s.shape) for s in target.slots())
        self.codes = nn.Embedding(codes, size, max_norm=None)
        self.trunk = nn.ModuleList([nn.Linear(size, 8), nn.LayerNorm(8), nn.GELU(approximate="tanh")])
        self.heads = nn.ModuleDict({"scale": nn.Linear(8, count), "shift": nn.Linear(8, count, bias=False)})
        self.register_parameter("base", nn.Parameter(torch.zeros(count)))
        object.__setattr__(self, "target", target)  # not a submodule

    def weights(self, index):
        h = self.codes(index)
        for layer in self.trunk:
            h = layer(h)
        return torch.addcmul(
            self.heads["shift"](h), self.base.expand(len(index), -1), 1 + self.heads["scale"](h)
        )

    def forward(self, index, x):
        vectors = self.weights(index)
        return torch.vmap(self.target.call_with, in_dims=(0, None))(vectors, x)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


def parametrized():
    layer = nn.Linear(3, 3).double()
    with torch.no_grad():
        layer.weight.copy_(numbers(8, 3, 3))
        layer.bias.copy_(numbers(9, 3))
    parametrize.register_parametrization(layer, "weight", Symmetric())
    norm = weight_norm(nn.Linear(3, 2).double(), dim=0)
    with torch.no_grad():
        norm.parametrizations.weight.original1.copy_(numbers(10, 2, 3))
        norm.parametrizations.weight.original0.fill_(2.0)
        norm.bias.zero_()
    net = nn.Sequential(layer, nn.Tanh(), norm)
    net(numbers(11, 4, 3)).square().sum().backward()
    rotation = orthogonal(nn.Linear(3, 3, bias=False).double())
    found = rotation.weight
    names = sorted(net.state_dict())
    grads = norms(p.grad for p in net.parameters())
    with parametrize.cached():
        same = layer.weight is layer.weight
    parametrize.remove_parametrizations(layer, "weight")
    return {
        "names": names,
        "grads": grads,
        "same": same,
        "symmetric": torch.equal(layer.weight, layer.weight.T),
        "orthogonal": torch.allclose(found @ found.mT, torch.eye(3, dtype=torch.float64)),
        "parametrized": [parametrize.is_parametrized(m) for m in (layer, norm, rotation)],
        "text": str(net),
    }


def run(folder):
    target = Implicit().double()
    net = initialize(Hypernetwork(target, codes=3), seed=5)
    axis = torch.linspace(-1, 1, 4, dtype=torch.float64)
    x = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1).flatten(0, 1)
    wanted = torch.stack([x.prod(-1), x.sum(-1), (x**2).sum(-1).sqrt()])
    index = torch.arange(3)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-2, alpha=0.9, momentum=0.5, centered=True)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 3))
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(net(index, x).squeeze(-1), wanted, beta=0.5)
        penalty = 1e-3 * parameters_to_vector(net.heads.parameters()).pow(2).sum()
        (loss + penalty).backward()
        optimizer.step()
        warmup.step()
        losses.append([loss.item(), penalty.item(), optimizer.param_groups[0]["lr"]])
    vector_to_parameters(net.weights(index[:1]).detach()[0], target.parameters())
    together = torch.allclose(target(x), net(index[:1], x)[0])
    return {
        "losses": losses,
        "together": together,
        "weights": norms(target.parameters()),
        "names": [n for n, _ in net.named_parameters()],
        "modules": [type(m).__name__ for m in net.modules()],
        "text": f"{net}\n{target}",
        "parametrized": parametrized(),
    }
