"""Distributions of distrax: samples, densities, entropies and divergences.

packages: distrax
tolerance: 1e-3
"""

import distrax
import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)
for d in (
    distrax.Normal(0.5, 2.0),
    distrax.Categorical(logits=jnp.array([0.1, 0.5, -0.3])),
    distrax.Bernoulli(probs=0.3),
    distrax.Laplace(0.0, 1.0),
    distrax.Gumbel(0.0, 1.0),
    distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.array([1.0, 2.0])),
):
    x, logp = d.sample_and_log_prob(seed=key, sample_shape=(3,))
    print(d.name, x.tolist(), logp.tolist(), float(d.entropy()))
print(float(distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0))))
print(jax.grad(lambda m: distrax.Normal(m, 1.0).log_prob(0.3))(0.1).tolist())
