"""Exact regression by a Gaussian process: the kernel's parameters by Adam, then predictions.

packages: gpytorch
tolerance: 1e-3
"""

import gpytorch
import torch

torch.manual_seed(0)
train_x = torch.linspace(0, 1, 40)
train_y = torch.sin(train_x * 6.28) + 0.2 * torch.randn(40)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(train_x, train_y, likelihood)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
model.train(), likelihood.train()
for _ in range(8):
    optimizer.zero_grad()
    loss = -mll(model(train_x), train_y)
    loss.backward()
    print(loss.item(), model.covar_module.base_kernel.lengthscale.item(), likelihood.noise.item())
    optimizer.step()

model.eval(), likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    predicted = likelihood(model(torch.linspace(0, 1, 7)))
    lower, upper = predicted.confidence_region()
    print(predicted.mean.tolist(), lower.tolist(), upper.tolist())
