"""Roots and fixed points, and their derivatives by the implicit function theorem.

packages: optimistix
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import optimistix as optx


def root(a, solver):
    return optx.root_find(lambda y, a: y - a * jnp.cos(y), solver, jnp.array(0.5), args=a).value


for solver in (optx.Newton(1e-6, 1e-6), optx.Chord(1e-6, 1e-6), optx.Bisection(1e-6, 1e-6)):
    options = {"lower": 0.0, "upper": 1.5} if isinstance(solver, optx.Bisection) else None
    found = optx.root_find(lambda y, a: y - a * jnp.cos(y), solver, jnp.array(0.5), args=1.0, options=options)
    print(float(found.value))
print(
    float(jax.grad(root)(1.0, optx.Newton(1e-6, 1e-6))),
    jax.vmap(lambda a: root(a, optx.Newton(1e-6, 1e-6)))(jnp.array([0.5, 2.0])).tolist(),
)
print(
    float(
        optx.fixed_point(lambda y, a: jnp.cos(y), optx.FixedPointIteration(1e-5, 1e-5), jnp.array(1.0)).value
    )
)
