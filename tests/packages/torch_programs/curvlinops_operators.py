"""Curvature matrices as SciPy's linear operators.

packages: curvlinops-for-pytorch
tolerance: 1e-3
"""

import numpy as np
import torch
from curvlinops import EFLinearOperator, GGNLinearOperator, HessianLinearOperator

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
loss = torch.nn.CrossEntropyLoss()
data = [(torch.randn(10, 5), torch.randint(3, (10,))) for _ in range(2)]
params = dict(model.named_parameters())
v = torch.randn(sum(p.numel() for p in params.values()))
for kind in (HessianLinearOperator, GGNLinearOperator, EFLinearOperator):
    try:
        operator = kind(model, loss, params, data)
    except Exception:
        operator = kind(model, loss, list(params.values()), data)
    product = operator @ v
    print(kind.__name__, operator.shape, float(np.linalg.norm(product.numpy())), float(product[:3].sum()))
