"""A Laplace approximation of a fitted network: marginal likelihood and predictive variance.

packages: laplace-torch
tolerance: 2e-3
"""

import torch
from laplace import Laplace

torch.manual_seed(0)
x = torch.rand(50, 1) * 6
y = torch.sin(x) + 0.1 * torch.randn(50, 1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=25)
model = torch.nn.Sequential(torch.nn.Linear(1, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    for batch_x, batch_y in data:
        optimizer.zero_grad()
        (model(batch_x) - batch_y).square().mean().backward()
        optimizer.step()

for subset, structure in (("all", "kron"), ("last_layer", "full"), ("all", "diag")):
    approximation = Laplace(model, "regression", subset_of_weights=subset, hessian_structure=structure)
    approximation.fit(data)
    print(subset, structure, approximation.log_marginal_likelihood().item())
    mean, variance = approximation(torch.tensor([[0.5], [3.0], [7.0]]))
    print(mean.flatten().tolist(), variance.flatten().tolist())
