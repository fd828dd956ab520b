"""Attention over edges of kinds, pooling of graphs, sampling of neighbours, random walks and transforms.

packages: torch_geometric
tolerance: 1e-3
"""

import torch
import torch_geometric.transforms as T
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import (
    ChebConv,
    EdgeConv,
    HeteroConv,
    NNConv,
    PNAConv,
    RGCNConv,
    SAGEConv,
    SAGPooling,
    TopKPooling,
    TransformerConv,
)
from torch_geometric.utils import add_self_loops, coalesce, k_hop_subgraph, scatter, softmax, to_dense_adj

torch.manual_seed(0)
edges = coalesce(torch.randint(12, (2, 40)))
x, weights = torch.randn(12, 6), torch.rand(edges.size(1), 2)
data = T.Compose([T.NormalizeFeatures(), T.AddLaplacianEigenvectorPE(2, is_undirected=True)])(
    Data(x=x.abs(), edge_index=edges)
)
print(data.x.sum().item(), data.laplacian_eigenvector_pe.abs().sum().item())
print(
    to_dense_adj(edges).sum().item(), k_hop_subgraph(0, 2, edges)[0].tolist(), add_self_loops(edges)[0].shape
)
degrees = torch.bincount(edges[1], minlength=12).bincount()
mlp = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.ReLU(), torch.nn.Linear(8, 5))
layers = {
    "transformer": (TransformerConv(6, 4, heads=2, edge_dim=2), (edges, weights)),
    "edge": (EdgeConv(mlp, aggr="max"), (edges,)),
    "cheb": (ChebConv(6, 4, K=3), (edges,)),
    "nn": (NNConv(6, 4, torch.nn.Linear(2, 24)), (edges, weights)),
    "pna": (
        PNAConv(6, 4, ["mean", "min", "max", "std"], ["identity", "amplification"], deg=degrees),
        (edges,),
    ),
    "rgcn": (RGCNConv(6, 4, num_relations=3), (edges, torch.arange(edges.size(1)) % 3)),
}
for name, (layer, given) in layers.items():
    inputs = x.clone().requires_grad_()
    y = layer(inputs, *given)
    y.square().mean().backward()
    print(name, y.norm().item(), inputs.grad.norm().item())
for pool in (TopKPooling(6, ratio=0.5), SAGPooling(6, ratio=0.5)):
    pooled, kept, *_ = pool(x, edges)
    print(type(pool).__name__, pooled.norm().item(), kept.shape)
print(
    softmax(weights[:, 0], edges[1], num_nodes=12).sum().item(),
    scatter(x, torch.arange(12) // 3, reduce="max").sum().item(),
)
hetero = HeteroData()
hetero["a"].x, hetero["b"].x = torch.randn(5, 3), torch.randn(4, 3)
hetero["a", "to", "b"].edge_index = torch.stack([torch.randint(5, (9,)), torch.randint(4, (9,))])
hetero["b", "to", "a"].edge_index = hetero["a", "to", "b"].edge_index.flip(0)
conv = HeteroConv({kind: SAGEConv((3, 3), 4) for kind in hetero.edge_types})
print({name: y.norm().item() for name, y in conv(hetero.x_dict, hetero.edge_index_dict).items()})
