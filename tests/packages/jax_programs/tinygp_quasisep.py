"""Quasiseparable kernels, whose likelihood takes linear time, and means that are functions.

packages: tinygp
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess
from tinygp.kernels import quasisep

t = jnp.linspace(0, 4, 15)
y = jnp.cos(2 * t) + 0.3 * t


def likelihood(theta):
    kernel = quasisep.SHO(omega=jnp.exp(theta[0]), quality=1.2, sigma=1.1) + quasisep.Matern32(
        jnp.exp(theta[1])
    )
    return GaussianProcess(kernel, t, diag=0.1, mean=lambda t: theta[2] * t).log_probability(y)


theta = jnp.array([0.5, 0.1, 0.2])
print(float(likelihood(theta)), float(jax.jit(likelihood)(theta)))
print(jax.grad(likelihood)(theta).tolist())
gp = GaussianProcess(quasisep.Matern52(scale=0.8), t, diag=0.1)
print(gp.condition(y).gp.loc.tolist())
