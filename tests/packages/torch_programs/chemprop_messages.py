"""Molecules as graphs: message passing over bonds, and a step of training.

packages: chemprop
tolerance: 1e-3
"""

import torch
from chemprop import data, models, nn

torch.manual_seed(0)
molecules = [
    data.MoleculeDatapoint.from_smi(s, [y]) for s, y in (("CCO", 0.5), ("c1ccccc1O", 1.5), ("CC(=O)N", -0.3))
]
batch = next(iter(data.build_dataloader(data.MoleculeDataset(molecules), batch_size=3, shuffle=False)))
for passing in (nn.BondMessagePassing(d_h=12, depth=3), nn.AtomMessagePassing(d_h=12, depth=2)):
    model = models.MPNN(
        passing, nn.NormAggregation(), nn.RegressionFFN(input_dim=12, hidden_dim=8), batch_norm=True
    )
    print(model.fingerprint(batch.bmg).norm(dim=1).tolist())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model.criterion(
            model(batch.bmg),
            batch.Y,
            torch.ones_like(batch.Y, dtype=bool),
            batch.w,
            batch.lt_mask,
            batch.gt_mask,
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), passing.W_i.weight.grad.norm().item())
