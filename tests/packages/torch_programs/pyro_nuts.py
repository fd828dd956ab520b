"""The No-U-Turn sampler on a small hierarchy.

packages: pyro-ppl
tolerance: 5e-2
"""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS

pyro.set_rng_seed(1)
y = torch.tensor([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
sigma = torch.tensor([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(sigma, y):
    mu = pyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = pyro.sample("tau", dist.HalfCauchy(5.0))
    with pyro.plate("schools", 8):
        eta = pyro.sample("eta", dist.Normal(0.0, 1.0))
        pyro.sample("obs", dist.Normal(mu + tau * eta, sigma), obs=y)


mcmc = MCMC(NUTS(schools, max_tree_depth=3), num_samples=6, warmup_steps=4, disable_progbar=True)
mcmc.run(sigma, y)
samples = mcmc.get_samples()
print(samples["mu"].tolist(), samples["eta"].shape)
