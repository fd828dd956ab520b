"""Quadratic programs, nonlinear least squares and losses of jaxopt.

packages: jaxopt
tolerance: 1e-2
"""

import jax
import jax.numpy as jnp
import jaxopt

Q = jnp.array([[2.0, 0.5], [0.5, 1.0]])
c = jnp.array([1.0, 1.0])
solution = (
    jaxopt.EqualityConstrainedQP().run(params_obj=(Q, c), params_eq=(jnp.ones((1, 2)), jnp.ones(1))).params
)
print(solution.primal.tolist(), solution.dual_eq.tolist())
residuals = lambda x: jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])
for solver in (jaxopt.GaussNewton(residuals), jaxopt.LevenbergMarquardt(residuals)):
    print(solver.run(jnp.array([-1.0, 1.5])).params.tolist())
box = jaxopt.ProjectedGradient(lambda x: jnp.sum((x - 2.0) ** 2), jaxopt.projection.projection_box)
print(box.run(jnp.zeros(3), hyperparams_proj=(0.0, jnp.array([1.0, 3.0, 1.5]))).params.tolist())
logits = jax.random.normal(jax.random.PRNGKey(1), (4, 3))
print(jax.vmap(jaxopt.loss.multiclass_logistic_loss)(jnp.array([0, 1, 2, 1]), logits).tolist())
