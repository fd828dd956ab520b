"""Elliptical slice sampling, and tempered sequential Monte Carlo.

packages: blackjax
tolerance: 5e-3
"""

import blackjax
import blackjax.smc.resampling as resampling
import jax
import jax.numpy as jnp
from blackjax.smc import extend_params

prior = lambda x: -0.5 * jnp.sum(x**2)
likelihood = lambda x: -0.5 * jnp.sum((x - 1.0) ** 2 / 0.1)
sampler = blackjax.elliptical_slice(lambda x: likelihood(x), mean=jnp.zeros(2), cov=jnp.eye(2))
state = sampler.init(jnp.zeros(2))
for key in jax.random.split(jax.random.key(0), 4):
    state, _ = jax.jit(sampler.step)(key, state)
    print(state.position.tolist())
tempered = blackjax.tempered_smc(
    prior,
    likelihood,
    blackjax.hmc.build_kernel(),
    blackjax.hmc.init,
    extend_params({"step_size": 0.1, "inverse_mass_matrix": jnp.eye(2), "num_integration_steps": 5}),
    resampling.systematic,
    num_mcmc_steps=2,
)
state = tempered.init(jax.random.normal(jax.random.key(2), (20, 2)))
for i, key in enumerate(jax.random.split(jax.random.key(3), 3)):
    state, info = tempered.step(key, state, (i + 1) / 3)
print(state.particles.mean(0).tolist())
