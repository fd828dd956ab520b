"""The No-U-Turn sampler on a small model.

packages: numpyro
tolerance: 0.05
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

y = jnp.array([0.3, -0.5, 1.2, 0.9])


def model(y):
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    numpyro.sample("y", dist.Normal(mu, tau + 0.5), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=20, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), y)
samples = mcmc.get_samples()
print({name: [float(v.mean()), float(v.std())] for name, v in samples.items()})
