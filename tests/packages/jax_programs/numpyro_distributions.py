"""Distributions of numpyro: samples, densities, transforms and predictions.

packages: numpyro
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.handlers import condition, seed, trace
from numpyro.infer import Predictive
from numpyro.infer.util import log_density

key = jax.random.PRNGKey(0)
for d in (
    dist.Normal(0, 1),
    dist.Gamma(2.0, 3.0),
    dist.Beta(2.0, 1.0),
    dist.StudentT(3.0),
    dist.Poisson(3.0),
    dist.Dirichlet(jnp.ones(3)),
    dist.LKJCholesky(2),
    dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
):
    x = d.sample(key, (2,))
    print(type(d).__name__, x.tolist(), d.log_prob(x).tolist())
stretched = dist.TransformedDistribution(
    dist.Normal(0, 1), [dist.transforms.ExpTransform(), dist.transforms.AffineTransform(1.0, 2.0)]
)
print(stretched.log_prob(jnp.array([1.5, 4.0])).tolist())
mixture = dist.MixtureSameFamily(
    dist.Categorical(jnp.array([0.3, 0.7])), dist.Normal(jnp.array([-1.0, 1.0]), 0.5)
)
print(float(mixture.log_prob(0.2)), mixture.sample(key, (3,)).tolist())


def model():
    z = numpyro.sample("z", dist.Normal(0, 1))
    return numpyro.sample("x", dist.Normal(z, 0.5))


print({name: float(site["value"]) for name, site in trace(seed(model, 1)).get_trace().items()})
print(float(log_density(condition(model, {"z": 0.1, "x": 0.3}), (), {}, {})[0]))
print(Predictive(model, num_samples=3)(key)["x"].tolist())
