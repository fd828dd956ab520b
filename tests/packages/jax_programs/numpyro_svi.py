"""Stochastic variational inference of a regression with an automatic guide.

packages: numpyro
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

x = jnp.linspace(-1, 1, 20)
y = 1.5 * x - 0.3 + 0.1 * jax.random.normal(jax.random.PRNGKey(0), (20,))


def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    sigma = numpyro.sample("sigma", dist.LogNormal(0, 1))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(w * x + b, sigma), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
state = svi.init(jax.random.PRNGKey(1), x, y)
for i in range(30):
    state, loss = svi.update(state, x, y)
    if i % 10 == 9:
        print(float(loss))
print({name: float(value) for name, value in guide.median(svi.get_params(state)).items()})
