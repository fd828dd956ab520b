"""Graph convolution, attention, max aggregation and pooling over a batch of graphs.

packages: torch_geometric
tolerance: 1e-3
"""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_max_pool, global_mean_pool
from torch_geometric.utils import degree, to_undirected

torch.manual_seed(0)
graphs = []
for n in (5, 7, 6):
    edges = to_undirected(torch.randint(n, (2, 9)))
    graphs.append(Data(x=torch.randn(n, 4), edge_index=edges, y=torch.randint(2, (1,))))
batch = Batch.from_data_list(graphs)
print(batch.num_nodes, batch.num_edges, degree(batch.edge_index[0]).tolist())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            [GCNConv(4, 8), GATConv(8, 8, heads=2, concat=False), SAGEConv(8, 8, aggr="max"), GINConv(torch.nn.Linear(8, 8))]
        )  # fmt: skip
        self.last = torch.nn.Linear(16, 2)

    def forward(self, data):
        x = data.x
        for conv in self.convs:
            x = conv(x, data.edge_index).relu()
        return self.last(torch.cat([global_mean_pool(x, data.batch), global_max_pool(x, data.batch)], -1))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
    loss.backward()
    optimizer.step()
    print(loss.item())
