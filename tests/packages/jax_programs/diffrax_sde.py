"""A stochastic differential equation over a Brownian tree, and a batch of its paths.

packages: diffrax
tolerance: 1e-3
"""

import diffrax
import jax
import jax.numpy as jnp


def solve(key):
    noise = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=key)
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.1 * y, noise)
    )
    saveat = diffrax.SaveAt(ts=jnp.linspace(0, 1, 3))
    return diffrax.diffeqsolve(terms, diffrax.EulerHeun(), 0.0, 1.0, 0.05, 1.0, saveat=saveat).ys


print(solve(jax.random.PRNGKey(0)).tolist())
print(jax.vmap(solve)(jax.random.split(jax.random.PRNGKey(1), 3)).tolist())
