"""A generator against a critic (Goodfellow et al., 2014; Gulrajani et al., 2017): penalties on gradients, spectral
norms, averaged weights."""

import copy
import weakref

import torch
import torch.nn as nn
import torch.optim as optim
from given import norms, numbers, uniform
from torch.autograd import Variable, grad
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Ring(IterableDataset):
    """Points on a circle with noise."""

    def __init__(self, count, noise=0.05):
        super().__init__()
        self.count, self.noise = count, noise

    def __iter__(self):
        assert get_worker_info() is None
        angle = uniform(0, self.count) * 2 * torch.pi
        points = torch.stack([angle.cos(), angle.sin()], dim=1) + self.noise * numbers(1, self.count, 2)
        yield from points.unbind(0)


class PixelNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-8)


class EqualLinear(nn.Linear):
    """Weights are scaled when they are used."""

    def __init__(self, in_features, out_features, gain=2**0.5):
        super().__init__(in_features, out_features)
        self.scale = gain / in_features**0.5

    def forward(self, input):
        return F.linear(input, self.weight * self.scale, self.bias)


def weights_init(m, counter=[0]):  # noqa: B006 (as programs are)
    classname = m.__class__.__name__
    if classname.find("Linear") != -1 and isinstance(m.weight, nn.Parameter):
        counter[0] += 1
        m.weight.data.copy_(numbers(counter[0], *m.weight.shape))
        m.bias.data.fill_(0)
    elif classname.find("BatchNorm") != -1:
        nn.init.constant_(m.weight, 1.0)


def build_generator(z=3, width=12):
    return nn.Sequential(
        PixelNorm(),
        EqualLinear(z, width),
        nn.BatchNorm1d(width),
        nn.LeakyReLU(0.2, True),
        EqualLinear(width, 2, 1.0),
    )


class Critic(nn.Module):
    def __init__(self, width=12, spectral=False):
        super().__init__()
        wrap = spectral_norm if spectral else (lambda m: m)
        self.main = nn.Sequential(
            wrap(nn.Linear(2, width)), nn.SiLU(), nn.Dropout(p=0.0), wrap(nn.Linear(width, width)), nn.Mish()
        )
        self.score = nn.Linear(width, 1)
        self.features = {}
        self.main[1].register_forward_hook(self.keep("silu"))

    def keep(self, name):
        owner = weakref.ref(self)

        def hook(module, args, output):
            owner().features[name] = output.detach()

        return hook

    def forward(self, x):
        return self.score(self.main(x)).view(-1)


def gradient_penalty(critic, real, fake, share):
    mixed = Variable(share * real + (1 - share) * fake, requires_grad=True)
    (found,) = grad(critic(mixed).sum(), mixed, create_graph=True, retain_graph=True, only_inputs=True)
    return ((found.norm(2, dim=1) - 1) ** 2).mean()


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad_(flag)


def losses_of(kind, real, fake):
    """The critic's loss, and the generator's on the same scores."""
    if kind == "wasserstein":
        return fake.mean() - real.mean(), -fake.mean()
    if kind == "hinge":
        return F.relu(1 - real).mean() + F.relu(1 + fake).mean(), -fake.mean()
    ones, bce = torch.ones_like(real), nn.BCEWithLogitsLoss()
    return bce(real, ones) + bce(fake, torch.zeros_like(fake)), bce(fake, ones)


def train(kind):
    G, D = build_generator().double(), Critic().double()
    G.apply(lambda m: weights_init(m, [m.in_features] if hasattr(m, "in_features") else [0]))
    D.apply(lambda m: weights_init(m, [m.in_features + m.out_features] if hasattr(m, "in_features") else [0]))
    average = AveragedModel(G, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    optD = optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9), amsgrad=True)
    optG = optim.Adam([{"params": list(G.parameters()), "lr": 1e-3}], betas=(0.5, 0.9))
    decay = optim.lr_scheduler.SequentialLR(
        optD,
        [optim.lr_scheduler.LinearLR(optD, 0.5, total_iters=2), optim.lr_scheduler.ExponentialLR(optD, 0.9)],
        milestones=[2],
    )
    found = []
    for step, real in enumerate(DataLoader(Ring(48), batch_size=8)):
        requires_grad(D, True)
        z = numbers(20 + step, 8, 3)
        with torch.no_grad():
            fake = G(z)
        loss_d, _ = losses_of(kind, D(real), D(fake))
        penalty = gradient_penalty(D, real, fake, uniform(40 + step, 8, 1))
        D.zero_grad()
        (loss_d + 10.0 * penalty).backward()
        optD.step()
        requires_grad(D, False)
        fake = G(z)
        _, loss_g = losses_of(kind, D(real), D(fake))
        G.zero_grad()
        loss_g.backward()
        optG.step()
        decay.step()
        average.update_parameters(G)
        found.append([loss_d.item(), penalty.item(), loss_g.item(), *decay.get_last_lr()])
    average.eval()
    with torch.no_grad():
        samples = average(numbers(99, 4, 3))
    return {
        "losses": found,
        "samples": samples.tolist(),
        "norms": norms([*G.parameters(), *D.parameters()]),
        "averaged": average.n_averaged.item(),
        "features": D.features["silu"].sum().item(),
        "names": list(average.state_dict()),
        "grads": [p.grad is None for p in D.parameters()],
    }


def normalized():
    """Spectral norms, whose vectors are made at random: only what they tend to is the same."""
    D = Critic(spectral=True).double()
    layer = D.main[0]
    with torch.no_grad():
        layer.parametrizations.weight.original.copy_(numbers(3, 12, 2))
    D.train()
    for _ in range(60):
        weight = layer.weight
    twin = copy.deepcopy(D)
    return [torch.linalg.matrix_norm(weight, 2).item(), torch.equal(twin.main[0].bias, layer.bias), str(D)]


def run(folder):
    results = {kind: train(kind) for kind in ("wasserstein", "hinge", "logistic")}
    results["normalized"] = normalized()
    return results
