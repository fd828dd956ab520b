"""First- and second-order solvers of jaxopt, and projections.

packages: jaxopt
tolerance: 1e-2
"""

import jax
import jax.numpy as jnp
import jaxopt
from jaxopt import projection, prox

A = jax.random.normal(jax.random.PRNGKey(0), (10, 3))
b = A @ jnp.array([1.0, -1.0, 0.5])


def loss(w, l2=0.1):
    return jnp.mean((A @ w - b) ** 2) + l2 * jnp.sum(w**2)


for solver in (
    jaxopt.GradientDescent(loss, maxiter=200),
    jaxopt.LBFGS(loss),
    jaxopt.BFGS(loss),
    jaxopt.NonlinearCG(loss),
):
    print(type(solver).__name__, solver.run(jnp.zeros(3)).params.tolist())
lasso = jaxopt.ProximalGradient(lambda w: jnp.mean((A @ w - b) ** 2), prox.prox_lasso)
print(lasso.run(jnp.zeros(3), 0.1).params.tolist())
print(
    projection.projection_simplex(jnp.array([0.3, 2.0, -1.0])).tolist(),
    projection.projection_l2_ball(jnp.array([3.0, 4.0]), 1.0).tolist(),
)
