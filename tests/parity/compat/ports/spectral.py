"""Complex-valued network and FFT layer, real loss; spectral PDE step."""

import math

import numpy as np
import torch
import torch.nn as nn


class ComplexLinear(nn.Module):
    def __init__(self, i, o, rng):
        super().__init__()
        w = (rng.standard_normal((o, i)) + 1j * rng.standard_normal((o, i))) / math.sqrt(2 * i)
        self.weight = nn.Parameter(torch.from_numpy(w))
        self.bias = nn.Parameter(torch.zeros(o, dtype=torch.cdouble))

    def forward(self, z):
        return z @ self.weight.T + self.bias


def modrelu(z, b):
    return torch.relu(z.abs() + b) * torch.exp(1j * z.angle())


class SpectralConv(nn.Module):
    def __init__(self, modes, rng):
        super().__init__()
        self.modes = modes
        self.w = nn.Parameter(
            torch.view_as_real(
                torch.from_numpy(rng.standard_normal((3, 3, modes)) + 1j * rng.standard_normal((3, 3, modes)))
            ).clone()
            * 0.2
        )

    def forward(self, x):
        X = torch.fft.rfft(x, norm="ortho")
        out = torch.zeros(x.shape[0], 3, X.shape[-1], dtype=X.dtype)
        out[..., : self.modes] = torch.einsum(
            "bim,iom->bom", X[..., : self.modes], torch.view_as_complex(self.w)
        )
        return torch.fft.irfft(out, n=x.size(-1), norm="ortho")


def main():
    rng = np.random.default_rng(14)
    l1, l2 = ComplexLinear(4, 6, rng), ComplexLinear(6, 2, rng)
    b = nn.Parameter(torch.full((6,), -0.1, dtype=torch.double))
    z = torch.from_numpy(rng.standard_normal((10, 4)) + 1j * rng.standard_normal((10, 4)))
    target = z[:, :2] * z[:, 2:].conj()
    opt = torch.optim.Adam([*l1.parameters(), *l2.parameters(), b], lr=0.02)
    losses = []
    for _ in range(8):
        opt.zero_grad()
        e = l2(modrelu(l1(z), b)) - target
        loss = (e * e.conj()).real.mean() + 0.01 * e.imag.abs().mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    out = {
        "losses": losses,
        "w": l1.weight.detach().numpy(),
        "g": l1.weight.grad.resolve_conj().numpy(),
        "b": b.grad.numpy(),
        "text": str(e[0]),
    }
    conv = SpectralConv(5, rng)
    lift = nn.Conv1d(1, 3, 1).double()
    for p in lift.parameters():
        nn.init.constant_(p, 0.3)
    u = torch.from_numpy(rng.standard_normal((4, 1, 16)))
    opt = torch.optim.SGD([*conv.parameters(), *lift.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        v = torch.nn.functional.gelu(conv(lift(u)) + lift(u)).mean(1)
        loss = (v - u.roll(2, -1).squeeze(1)).abs().pow(1.5).mean()
        loss.backward()
        opt.step()
    out["fno"] = conv.w.detach().numpy()
    out["fl"] = loss.item()
    # spectral heat equation, gradient of the final state with respect to the initial one and diffusivity
    u0 = torch.sin(torch.arange(16, dtype=torch.double) * 2 * math.pi / 16).requires_grad_()
    nu = torch.tensor(0.1, dtype=torch.double, requires_grad=True)
    k = torch.fft.fftfreq(16, d=1 / 16, dtype=torch.double)
    U = torch.fft.fft(u0)
    for _ in range(5):
        U = U * torch.exp(-nu * k**2 * 0.05)
        u = torch.fft.ifft(U).real
        U = torch.fft.fft(u - 0.01 * u**3)
    final = torch.fft.ifft(U)
    (final.real**2).sum().backward()
    out["heat"], out["nu"] = u0.grad.numpy(), nu.grad.item()
    w0 = torch.tensor(1 + 2j, requires_grad=True)
    (w0.abs() ** 2 + (w0 * (2 - 1j)).imag).backward()
    out["wirt"] = w0.grad.item()
    out["s"] = str(w0.grad)
    ok = torch.autograd.gradcheck(lambda z: modrelu(z, 0.1).abs().sum(), (z[:2].clone().requires_grad_(),))
    out["ok"] = ok
    out["lin"] = torch.linalg.eigvals(l1.weight.detach()[:4]).abs().sort().values.numpy()
    return out
