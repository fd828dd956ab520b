"""Channels pruned with all layers that depend on them.

packages: torch-pruning
tolerance: 1e-4
"""

import torch
import torch_pruning as tp

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
    torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 4),
)  # fmt: skip
x = torch.randn(2, 3, 8, 8)
pruner = tp.pruner.MagnitudePruner(
    model, x, importance=tp.importance.MagnitudeImportance(p=2), pruning_ratio=0.5, ignored_layers=[model[6]]
)
before = tp.utils.count_ops_and_params(model, x)
pruner.step()
print(before, tp.utils.count_ops_and_params(model, x), [tuple(p.shape) for p in model.parameters()])
print(model.eval()(x).flatten().tolist())
