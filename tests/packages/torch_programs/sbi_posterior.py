"""Neural posterior estimation of a simulator's parameters from simulations.

packages: sbi
tolerance: 2e-2
"""

import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

torch.manual_seed(0)
prior = BoxUniform(low=-2 * torch.ones(2), high=2 * torch.ones(2))
theta = prior.sample((120,))
x = theta + 1.0 + 0.1 * torch.randn_like(theta)
inference = NPE(prior=prior, density_estimator="maf", show_progress_bars=False)
inference.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=40)
posterior = inference.build_posterior()
at = torch.tensor([0.8, 0.6])
print(posterior.log_prob(torch.zeros(3, 2) - 0.2, x=at, norm_posterior=False).tolist())
print(posterior.sample((4,), x=at, show_progress_bars=False).shape)
