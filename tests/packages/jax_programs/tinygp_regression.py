"""A Gaussian process of tinygp: marginal likelihood, its gradient, and predictions.

packages: tinygp
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels

x = jnp.linspace(0, 5, 12)
y = jnp.sin(x)


def build(params):
    kernel = jnp.exp(params["amp"]) * kernels.ExpSquared(jnp.exp(params["scale"])) + 0.1 * kernels.Matern32(
        2.0
    )
    return GaussianProcess(kernel, x, diag=0.05)


params = {"amp": jnp.array(0.1), "scale": jnp.array(0.2)}
value, grads = jax.jit(jax.value_and_grad(lambda p: -build(p).log_probability(y)))(params)
print(float(value), {name: float(g) for name, g in grads.items()})
conditioned = build(params).condition(y, jnp.array([0.3, 2.2]))
print(conditioned.gp.loc.tolist(), conditioned.gp.variance.tolist(), float(conditioned.log_probability))
print(build(params).sample(jax.random.PRNGKey(0)).shape)
