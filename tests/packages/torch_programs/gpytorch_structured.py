"""Gaussian processes of several tasks, over a grid, with a learnt feature extractor, and derivatives.

packages: gpytorch
tolerance: 2e-3
"""

import gpytorch
import torch
from gpytorch.kernels import (
    GridInterpolationKernel,
    MultitaskKernel,
    PeriodicKernel,
    RBFKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)
from gpytorch.likelihoods import GaussianLikelihood, MultitaskGaussianLikelihood
from gpytorch.means import ConstantMean, MultitaskMean

torch.manual_seed(0)
x = torch.linspace(0, 1, 30)
y = torch.stack([torch.sin(6 * x), torch.cos(6 * x)], -1) + 0.05 * torch.randn(30, 2)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, mean, kernel, joint):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel, self.joint = mean, kernel, joint

    def forward(self, x):
        return self.joint(self.mean(x), self.kernel(x))


plain, several = gpytorch.distributions.MultivariateNormal, gpytorch.distributions.MultitaskMultivariateNormal
mixture = SpectralMixtureKernel(num_mixtures=2)
mixture.initialize_from_data(x, y[:, 0])
cases = {
    "tasks": (y, MultitaskGaussianLikelihood(num_tasks=2), MultitaskMean(ConstantMean(), 2), MultitaskKernel(RBFKernel(), 2, rank=1), several),
    "grid": (y[:, 0], GaussianLikelihood(), ConstantMean(), GridInterpolationKernel(ScaleKernel(RBFKernel()), grid_size=20, num_dims=1), plain),
    "mixture": (y[:, 0], GaussianLikelihood(), ConstantMean(), mixture, plain),
    "periodic": (y[:, 0], GaussianLikelihood(), ConstantMean(), ScaleKernel(PeriodicKernel() * RBFKernel()), plain),
}  # fmt: skip
for name, (targets, likelihood, mean, kernel, joint) in cases.items():
    model = Model(x, targets, likelihood, mean, kernel, joint)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model.train(), likelihood.train()
    for _ in range(4):
        optimizer.zero_grad()
        loss = -mll(model(x), targets)
        loss.backward()
        optimizer.step()
    model.eval(), likelihood.eval()
    with torch.no_grad():
        predicted = likelihood(model(torch.tensor([0.15, 0.55])))
    print(name, loss.item(), predicted.mean.flatten().tolist(), predicted.variance.flatten().tolist())
