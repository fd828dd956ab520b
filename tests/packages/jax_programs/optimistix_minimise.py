"""Minima by BFGS, nonlinear conjugate gradients, Nelder-Mead and an optimizer of optax.

packages: optimistix, optax
tolerance: 1e-2
"""

import jax.numpy as jnp
import optax
import optimistix as optx


def f(y, args):
    return jnp.sum((y - jnp.arange(2.0)) ** 2 * jnp.array([1.0, 3.0])) + 0.1 * jnp.prod(y)


start = jnp.array([-1.0, 1.5])
for solver in (
    optx.BFGS(1e-5, 1e-5),
    optx.NonlinearCG(1e-5, 1e-5),
    optx.NelderMead(1e-5, 1e-5),
    optx.OptaxMinimiser(optax.adam(0.1), 1e-5, 1e-5),
):
    print(optx.minimise(f, solver, start, max_steps=1000).value.tolist())
