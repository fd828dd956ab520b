"""Bayesian optimization: a fitted Gaussian process, expected improvement and its optimum.

packages: botorch
tolerance: 5e-3
"""

import torch
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
x = torch.rand(12, 2, dtype=torch.float64) * 2
y = 1 - (x - 0.5).norm(dim=-1, keepdim=True) + 0.1 * torch.sin(8 * x[:, :1])
model = SingleTaskGP(x, y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
mll = ExactMarginalLogLikelihood(model.likelihood, model)
fit_gpytorch_mll(mll)
at = torch.rand(3, 2, dtype=torch.float64)
posterior = model.posterior(at)
print(posterior.mean.flatten().tolist(), posterior.variance.flatten().tolist())

bounds = torch.stack([torch.zeros(2), torch.full((2,), 2.0)]).double()
candidate, value = optimize_acqf(
    LogExpectedImprovement(model, best_f=y.max()), bounds=bounds, q=1, num_restarts=3, raw_samples=16
)
print(candidate.tolist(), value.item())
sampler = SobolQMCNormalSampler(torch.Size([64]), seed=1)
acquisition = qExpectedImprovement(model, best_f=y.max(), sampler=sampler)
print(acquisition(at.unsqueeze(0)).tolist())
