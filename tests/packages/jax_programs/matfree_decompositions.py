"""Traces, determinants and decompositions of matrices that are only multiplied with.

packages: matfree
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
from matfree import decomp, funm, stochtrace

a = jax.random.normal(jax.random.PRNGKey(1), (8, 8))
a = a @ a.T + jnp.eye(8)
matvec = lambda v: a @ v
sampler = stochtrace.sampler_normal(jnp.ones(8), num=64)
estimate = stochtrace.estimator_monte_carlo(stochtrace.monte_carlo_trace(), sampler=sampler)
print(estimate(matvec, jax.random.PRNGKey(2)))
tridiagonal = decomp.tridiag_sym(5)
logdet = stochtrace.estimator_monte_carlo(funm.monte_carlo_funm_sym_logdet(tridiagonal), sampler=sampler)
print(logdet(matvec, jax.random.PRNGKey(3)))
print(jax.grad(lambda s: logdet(lambda v: s * (a @ v), jax.random.PRNGKey(3)))(1.3))
result = decomp.hessenberg(4, reortho="full")(matvec, jnp.ones(8))
print(result.J_small.tolist())
