"""Losses and miners for embeddings.

packages: pytorch-metric-learning
tolerance: 1e-4
"""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers

torch.manual_seed(0)
net = torch.nn.Linear(8, 4)
x, labels = torch.randn(24, 8), torch.randint(4, (24,))
miner = miners.MultiSimilarityMiner()
candidates = [
    losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0)),
    losses.NTXentLoss(), losses.ContrastiveLoss(), losses.CircleLoss(), losses.MultiSimilarityLoss(), losses.SupConLoss(),
    losses.ArcFaceLoss(4, 4), losses.ProxyAnchorLoss(4, 4), losses.LiftedStructureLoss(), losses.NPairsLoss(),
]  # fmt: skip
for loss in candidates:
    net.zero_grad()
    embedded = net(x)
    value = loss(embedded, labels, miner(embedded, labels))
    value.backward()
    print(type(loss).__name__, value.item(), net.weight.grad.norm().item())
