"""Steppers of partial differential equations by Fourier series.

packages: exponax
tolerance: 1e-3
"""

import exponax as ex
import jax
import jax.numpy as jnp

u = ex.ic.RandomTruncatedFourierSeries(1, cutoff=4)(32, key=jax.random.PRNGKey(0))
for stepper in (
    ex.stepper.Advection(1, 1.0, 32, 0.05, velocity=0.7),
    ex.stepper.Burgers(1, 1.0, 32, 0.05, diffusivity=0.05),
    ex.stepper.KuramotoSivashinsky(1, 20.0, 32, 0.1),
    ex.stepper.KortewegDeVries(1, 20.0, 32, 0.05),
):
    path = ex.rollout(stepper, 8)(u)
    print(type(stepper).__name__, path[-1, 0, :4].tolist(), jnp.mean(path**2).item())
gradient = jax.grad(lambda u: jnp.sum(ex.repeat(ex.stepper.Burgers(1, 1.0, 32, 0.05), 4)(u) ** 2))(u)
print(jnp.linalg.norm(gradient).item(), ex.derivative(u, 1.0)[0, :3].tolist())
