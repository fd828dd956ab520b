"""Tensor trains: compression, arithmetic and completion by gradient steps.

packages: tntorch
tolerance: 1e-3
"""

import tntorch as tn
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
X, Y, Z = torch.meshgrid(*[torch.arange(8.0)] * 3, indexing="ij")
full = torch.sqrt(torch.sqrt(X) * (Y + Z) + Y * Z**2) * (X + torch.sin(Y) * torch.cos(Z))
t = tn.Tensor(full, ranks_tt=3)
print(t.ranks_tt.tolist(), tn.relative_error(full, t).item(), tn.mean(t).item(), tn.norm(t * t + 1).item())
print(tn.dot(t, t).item(), t[1:4, :, 2].torch().sum().item())
