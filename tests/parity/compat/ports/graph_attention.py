"""Messages along edges by scatter: convolution (Kipf & Welling, 2017), attention (Veličković et al., 2018)."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def count_edges(index, n, dtype):
    out = torch.zeros((n,), dtype=dtype)
    return out.scatter_add_(0, index, out.new_ones((index.size(0),)))


def softmax_over_edges(scores, index, n):
    places = index.unsqueeze(-1).expand_as(scores)
    greatest = torch.full((n, scores.size(1)), float("-inf"), dtype=scores.dtype)
    greatest = greatest.scatter_reduce(0, places, scores.detach(), "amax", include_self=True)
    weights = (scores - greatest[index]).exp()
    total = torch.zeros(n, scores.size(1), dtype=scores.dtype).scatter_add(0, places, weights)
    return weights / (total[index] + 1e-16)


class Convolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.empty(outputs))
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x, edges):
        n = x.size(0)
        row, col = torch.cat([edges, torch.arange(n).unsqueeze(0).repeat(2, 1)], dim=1)
        scale = count_edges(col, n, x.dtype).pow(-0.5)
        scale[scale == float("inf")] = 0
        x = self.linear(x)
        return (
            torch.zeros_like(x).index_add_(0, col, (scale[row] * scale[col]).view(-1, 1) * x[row]) + self.bias
        )


class Attention(nn.Module):
    def __init__(self, inputs, outputs, heads=2):
        super().__init__()
        self.linear = nn.Linear(inputs, heads * outputs, bias=False)
        self.source, self.target = (nn.Parameter(torch.Tensor(1, heads, outputs)) for _ in range(2))
        nn.init.xavier_uniform_(self.source)
        nn.init.xavier_uniform_(self.target)

    def forward(self, x, edges):
        h = self.linear(x).unflatten(1, self.source.shape[1:])
        row, col = edges
        scores = (h * self.source).sum(-1)[row] + (h * self.target).sum(dim=-1)[col]
        weights = softmax_over_edges(F.leaky_relu(scores, 0.2), col, x.size(0))
        weights = F.dropout(weights, 0.1, self.training)
        places = col[:, None, None].expand(-1, *h.shape[1:])
        return torch.zeros_like(h).scatter_add_(0, places, h[row] * weights.unsqueeze(-1)).flatten(1)


class Neighbours(nn.Module):
    def __init__(self, inputs, outputs, reduce):
        super().__init__()
        self.reduce = reduce
        self.theirs, self.own = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        places = edges[1].view(-1, 1).expand(-1, x.size(1))
        seen = torch.zeros_like(x).scatter_reduce(
            0, places, x[edges[0]], reduce=self.reduce, include_self=False
        )
        return F.normalize(self.theirs(seen) + self.own(x), p=2.0, dim=-1)


class Network(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.first, self.second = Convolution(inputs, 8), Attention(8, 4)
        self.third, self.last = Neighbours(8, 8, "mean"), Neighbours(8, classes, "amax")

    def forward(self, x, edges):
        x = F.dropout(F.elu(self.first(x, edges)), p=0.2, training=self.training)
        x = torch.relu_(self.second(x, edges))
        return F.log_softmax(self.last(x + self.third(x, edges), edges), dim=1)


def make_graph(n, classes):
    y = torch.arange(n) % classes
    x = F.one_hot(y, 6).double() + 0.8 * torch.randn(n, 6, dtype=torch.double)
    source = torch.randint(n, (5 * n,))
    alike = (source + classes * torch.randint(0, n // classes, (5 * n,))) % n
    target = torch.where(torch.rand(5 * n) < 0.7, alike, torch.randint(n, (5 * n,)))
    return x, y, torch.unique(torch.stack([source, target]), dim=1)


def main():
    torch.manual_seed(12)
    x, y, edges = make_graph(40, 3)
    chosen = torch.zeros(40, dtype=torch.bool)
    chosen[torch.randperm(40)[:20]] = True
    model = Network(6, 3).double()
    groups = [
        {"params": model.first.parameters(), "weight_decay": 5e-4},
        {"params": [p for name, p in model.named_parameters() if not name.startswith("first")]},
    ]
    optimizer = torch.optim.Adam(groups, lr=0.01)
    losses, best, state, waited = [], 0.0, None, 0
    for _ in range(8):
        model.train()
        optimizer.zero_grad()
        loss = F.nll_loss(model(x, edges)[chosen], y[chosen])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            guesses = model(x, edges).max(dim=1)[1]
        right = int(guesses[~chosen].eq(y[~chosen]).sum()) / int((~chosen).sum())
        if right > best:
            best, state, waited = right, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
        if waited > 5:
            break
    model.load_state_dict(state)
    confusion = torch.zeros(3, 3, dtype=torch.int64)
    confusion.index_put_((y, guesses), torch.ones(40, dtype=torch.int64), accumulate=True)
    return {
        "edges": edges.tolist(),
        "losses": losses,
        "best": best,
        "state": {name: value.numpy() for name, value in model.state_dict().items()},
        "confusion": confusion.tolist(),
    }
