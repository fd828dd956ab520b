"""Signatures of paths, logarithms of them, and derivatives.

packages: signax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import signax

path = jnp.cumsum(jax.random.normal(jax.random.PRNGKey(0), (10, 2)), 0)
print(signax.signature(path, depth=3).tolist())
print(signax.logsignature(path, depth=3).tolist())
batch = jnp.stack([path, -path])
print(signax.signature(batch, depth=2, stream=True)[:, -1].tolist())
print(jax.grad(lambda p: signax.signature(p, depth=3).sum())(path)[0].tolist())
