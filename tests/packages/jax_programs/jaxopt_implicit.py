"""Derivatives of solutions by implicit differentiation.

packages: jaxopt
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import jaxopt

A = jax.random.normal(jax.random.PRNGKey(0), (10, 3))
b = A @ jnp.array([1.0, -1.0, 0.5])


def loss(w, l2):
    return jnp.mean((A @ w - b) ** 2) + l2 * jnp.sum(w**2)


def ridge(l2):
    return jaxopt.LBFGS(loss, tol=1e-5).run(jnp.zeros(3), l2).params


print(ridge(0.1).tolist(), jax.jacrev(ridge)(0.1).tolist())


@jaxopt.implicit_diff.custom_root(jax.grad(loss))
def exact(init, l2):
    return jnp.linalg.solve(A.T @ A / 10 + l2 * jnp.eye(3), A.T @ b / 10)


print(jax.jacobian(exact, argnums=1)(None, 0.1).tolist())
root = jaxopt.Bisection(lambda x, a: x**3 - a, lower=0.0, upper=3.0)
print(float(root.run(a=2.0).params), float(jax.grad(lambda a: root.run(a=a).params)(2.0)))
