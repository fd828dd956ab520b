"""WGAN-GP on 2-d points; spectral normalisation by hand; EMA of the generator."""

import copy

import numpy as np
import torch
from torch import autograd, nn


class SpectralLinear(nn.Module):
    def __init__(self, n_in, n_out, rng):
        super().__init__()
        self.weight = nn.Parameter(torch.from_numpy(rng.standard_normal((n_out, n_in)) / n_in**0.5))
        self.bias = nn.Parameter(torch.zeros(n_out, dtype=torch.float64))
        self.register_buffer(
            "u", nn.functional.normalize(torch.from_numpy(rng.standard_normal(n_out)), dim=0)
        )

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                v = nn.functional.normalize(self.weight.t() @ self.u, dim=0, eps=1e-12)
                self.u.copy_(nn.functional.normalize(self.weight @ v, dim=0, eps=1e-12))
        else:
            v = nn.functional.normalize(self.weight.t() @ self.u, dim=0)
        u = self.u.clone()
        sigma = torch.dot(u, torch.mv(self.weight, v))
        return nn.functional.linear(x, self.weight / sigma, self.bias)


def gradient_penalty(critic, real, fake, alpha):
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(inter)
    (g,) = autograd.grad(
        outputs=score,
        inputs=inter,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def main():
    rng = np.random.default_rng(4)
    G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)).double()
    D = nn.Sequential(
        SpectralLinear(2, 16, rng),
        nn.Softplus(),
        SpectralLinear(16, 16, rng),
        nn.Tanh(),
        SpectralLinear(16, 1, rng),
    )
    for p in G.parameters():
        nn.init.zeros_(p)
        p.data += torch.from_numpy(rng.standard_normal(tuple(p.shape)) * 0.4)
    ema = copy.deepcopy(G)
    for p in ema.parameters():
        p.requires_grad_(False)
    og = torch.optim.Adam(G.parameters(), lr=1e-2, betas=(0.5, 0.9))
    od = torch.optim.Adam(D.parameters(), lr=1e-2, betas=(0.5, 0.9))
    dl, gl, gps = [], [], []
    for _ in range(8):
        for _ in range(3):
            theta = rng.uniform(0, 2 * np.pi, 32)
            real = torch.from_numpy(np.stack([np.cos(theta), np.sin(theta)], 1))
            fake = G(torch.from_numpy(rng.standard_normal((32, 2)))).detach()
            gp = gradient_penalty(D, real, fake, torch.from_numpy(rng.random((32, 1))))
            loss = D(fake).mean() - D(real).mean() + 10 * gp
            od.zero_grad()
            loss.backward()
            od.step()
        for p in D.parameters():
            p.requires_grad = False
        og.zero_grad()
        gloss = -D(G(torch.from_numpy(rng.standard_normal((32, 2))))).mean()
        gloss.backward()
        og.step()
        for p in D.parameters():
            p.requires_grad = True
        with torch.no_grad():
            for e, p in zip(ema.parameters(), G.parameters()):
                e.mul_(0.9).add_(p, alpha=0.1)
        dl.append(loss.item())
        gl.append(gloss.item())
        gps.append(gp.item())
    D.eval()
    z = torch.from_numpy(rng.standard_normal((5, 2)))
    return {
        "d": dl,
        "g": gl,
        "gp": gps,
        "u": D[0].u.numpy(),
        "ema": ema(z).numpy(),
        "G": G(z).detach().numpy(),
        "D": D(G(z)).squeeze(1).tolist(),
        "rg": [p.requires_grad for p in ema.parameters()],
        "repr": str(D),
    }
