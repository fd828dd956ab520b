"""Minimization of functions of JAX with bounds and parameters in a tree.

packages: optimagic
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import numpy as np
import optimagic as om


def loss(params):
    return (
        (params["a"] - 1.0) ** 2
        + jnp.sum((params["b"] - jnp.array([0.5, 2.0])) ** 2)
        + params["a"] * params["b"][0]
    )


start = {"a": 0.0, "b": jnp.zeros(2)}
for algorithm in ("scipy_lbfgsb", "scipy_slsqp"):
    result = om.minimize(
        fun=loss,
        params=start,
        algorithm=algorithm,
        jac=jax.grad(loss),
        bounds=om.Bounds(upper={"a": np.inf, "b": jnp.array([np.inf, 1.0])}),
    )
    print(float(result.fun), float(result.params["a"]), np.asarray(result.params["b"]).tolist())
