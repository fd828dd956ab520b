"""Hand-written LSTM/GRU cells, in-place time buffer, truncated BPTT."""

import math

import numpy as np
import torch
from torch import nn


class LSTMCell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.w = nn.Parameter(torch.empty(4 * n_hidden, n_in))
        self.u = nn.Parameter(torch.empty(4 * n_hidden, n_hidden))
        self.b = nn.Parameter(torch.zeros(4 * n_hidden))

    def forward(self, x, state):
        h, c = state
        gates = x @ self.w.t() + h @ self.u.t() + self.b
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * g.tanh()
        return o.sigmoid() * c.tanh(), c


class GRUCell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.x2h = nn.Linear(n_in, 3 * n_hidden)
        self.h2h = nn.Linear(n_hidden, 3 * n_hidden, bias=False)

    def forward(self, x, h):
        xr, xz, xn = self.x2h(x).chunk(3, -1)
        hr, hz, hn = self.h2h(h).chunk(3, -1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        return torch.lerp(n, h, z)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.out = LSTMCell(3, 8), GRUCell(8, 6), nn.Linear(6, 3)

    def forward(self, x, state):
        T, B, _ = x.shape
        h, c, g = state
        ys = x.new_zeros(T, B, 6)
        for t in range(T):
            h, c = self.lstm(x[t], (h, c))
            g = self.gru(h, g)
            ys[t] = g
        return self.out(ys), (h, c, g)


def main():
    rng = np.random.default_rng(1)
    torch.set_default_dtype(torch.float64)
    try:
        model = Model()
        with torch.no_grad():
            for _, p in sorted(model.named_parameters()):
                p.copy_(torch.from_numpy(rng.normal(size=tuple(p.size())) / math.sqrt(p.size(-1))))
        series = torch.from_numpy(
            np.sin(np.arange(61)[:, None, None] * np.array([0.3, 0.5, 0.7]) + rng.uniform(size=(1, 5, 1)))
        )
        opt = torch.optim.RMSprop(model.parameters(), lr=0.01, alpha=0.9, momentum=0.5, centered=True)
        losses, norms = [], []
        for _ in range(3):
            state = tuple(torch.zeros(5, n) for n in (8, 8, 6))
            for start in range(0, 60, 15):
                x, y = series[start : start + 15], series[start + 1 : start + 16]
                for s in state:
                    s.detach_()
                pred, state = model(x, state)
                loss = nn.functional.mse_loss(pred, y)
                opt.zero_grad(set_to_none=True)
                loss.backward()
                norms.append(nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.25).item())
                opt.step()
                losses.append(loss.item())
        with torch.no_grad():
            x, generated = series[:1], []
            st = tuple(torch.zeros(5, n) for n in (8, 8, 6))
            for _ in range(10):
                x, st = model(x, st)
                generated.append(x)
            generated = torch.cat(generated)
        return {
            "losses": losses,
            "norms": norms,
            "gen": generated.numpy(),
            "state": [s.detach().numpy() for s in state],
            "text": str(generated[0]),
            "sd": {k: v.numpy() for k, v in model.state_dict().items()},
        }
    finally:
        torch.set_default_dtype(torch.float32)
