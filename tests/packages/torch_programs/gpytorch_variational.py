"""A sparse variational Gaussian process over learnt inducing points, in minibatches.

packages: gpytorch
tolerance: 2e-3
"""

import gpytorch
import torch
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy

torch.manual_seed(0)
x = torch.rand(60, 2)
y = torch.sin(x[:, 0] * 6) + x[:, 1]


class Model(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        distribution = CholeskyVariationalDistribution(inducing.size(0))
        super().__init__(VariationalStrategy(self, inducing, distribution, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.LinearMean(2)
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=2)
        )

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


model, likelihood = Model(x[:10].clone()), gpytorch.likelihoods.GaussianLikelihood()
mll = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=60)
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=20, shuffle=True)
for _ in range(3):
    for batch_x, batch_y in data:
        optimizer.zero_grad()
        loss = -mll(model(batch_x), batch_y)
        loss.backward()
        optimizer.step()
    print(loss.item())
model.eval()
with torch.no_grad():
    print(model(x[:4]).mean.tolist(), model(x[:4]).variance.tolist())
