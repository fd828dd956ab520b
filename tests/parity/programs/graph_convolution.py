"""Graph convolutions (Kipf & Welling, 2017) with a sparse adjacency, and the same by messages along edges."""

import math

import torch
import torch.nn.functional as F
from given import initialize, integers, norms, numbers
from torch import Tensor
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter


def ring_with_chords(n, chords):
    """The edges of an undirected graph, as two rows of places."""
    nodes = torch.arange(n)
    edges = torch.stack([nodes, torch.roll(nodes, -1)])
    extra = integers(0, n, 2, chords)
    edges = torch.cat([edges, extra[:, extra[0] != extra[1]]], dim=1)
    edges = torch.cat([edges, edges.flip(0), nodes.expand(2, -1)], dim=1)
    return torch.unique(edges, dim=1)


def normalize(edges, n):
    """D^-1/2 A D^-1/2 as a sparse Tensor."""
    ones = torch.ones(edges.size(1), dtype=torch.float64)
    degree = torch.zeros(n, dtype=torch.float64).index_add_(0, edges[0], ones)
    scale = degree.pow(-0.5)
    scale.masked_fill_(scale == float("inf"), 0)
    row, col = edges
    return torch.sparse_coo_tensor(edges, scale[row] * ones * scale[col], torch.Size([n, n])).coalesce()


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-bound, bound)
        if self.bias is not None:
            self.bias.data.uniform_(-bound, bound)

    def forward(self, input: Tensor, adj: Tensor) -> Tensor:
        output = torch.spmm(adj, torch.mm(input, self.weight))
        return output if self.bias is None else output + self.bias

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.in_features} -> {self.out_features})"


class Messages(Module):
    """The same layer, by gathering along edges and adding at nodes; with attention if asked for."""

    def __init__(self, layer: GraphConvolution, attention: bool = False):
        super().__init__()
        self.layer = layer
        self.att: Parameter | None = Parameter(torch.zeros(2, layer.out_features)) if attention else None

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        (row, col), weight = adj.indices(), adj.values()
        h = x @ self.layer.weight
        if self.att is not None:
            score = F.leaky_relu((h[row] * self.att[0] + h[col] * self.att[1]).sum(-1), 0.2)
            weight = scatter_softmax(score, row, x.size(0))
        out = h.new_zeros(x.size(0), h.size(1)).index_add(
            0, row, h.index_select(0, col) * weight.unsqueeze(-1)
        )
        return out if self.layer.bias is None else out + self.layer.bias


def scatter_softmax(score, index, n):
    top = torch.full((n,), -torch.inf, dtype=score.dtype).scatter_reduce(0, index, score, "amax")
    e = torch.exp(score - top[index].detach())
    total = torch.zeros(n, dtype=score.dtype).scatter_add(0, index, e)
    return e / total.gather(0, index)


class GCN(Module):
    def __init__(self, features, hidden, classes, dropout):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(features, hidden), GraphConvolution(hidden, classes)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    return (preds.eq(labels).double().sum() / len(labels)).item()


def run(folder):
    n = 14
    edges = ring_with_chords(n, 8)
    adj = normalize(edges, n)
    features = torch.eye(n, dtype=torch.float64) + 0.1 * numbers(1, n, n)
    labels = (torch.arange(n) * 3 // n).long()
    train = torch.zeros(n, dtype=torch.bool)
    train[::2] = True
    model = initialize(GCN(n, 6, 3, dropout=0.0), seed=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    history = []
    for _ in range(10):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss = F.nll_loss(output[train], labels[train], weight=torch.tensor([1.0, 2.0, 0.5]).double())
        loss.backward()
        optimizer.step()
        history.append([loss.item(), accuracy(output[~train], labels[~train])])
    model.eval()
    messages = Messages(model.gc1)
    x = features.clone().requires_grad_()
    dense = adj.to_dense()
    same = [
        torch.allclose(f(x, adj), dense @ x @ model.gc1.weight + model.gc1.bias)
        for f in (model.gc1, messages)
    ]
    attentive = Messages(model.gc1, attention=True).double()
    with torch.no_grad():
        attentive.att.copy_(numbers(2, 2, 6))
    attentive(x, adj).square().sum().backward()
    values = adj.values().clone().requires_grad_()
    again = torch.sparse_coo_tensor(adj.indices(), values, adj.shape)
    torch.sparse.mm(again, features).square().sum().backward()
    return {
        "edges": edges.tolist(),
        "history": history,
        "same": same,
        "attention": norms([x.grad, attentive.att.grad]),
        "values": values.grad.tolist(),
        "sparse": [
            adj.is_sparse,
            adj._nnz(),
            list(adj.size()),
            adj.layout == torch.sparse_coo,
            str(adj.layout),
        ],
        "symmetric": torch.equal(adj.t().to_dense(), dense),
        "degrees": torch.sparse.sum(adj, dim=1).to_dense().tolist(),
        "parameters": norms(model.parameters()),
        "text": repr(model),
    }
