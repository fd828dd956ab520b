"""Rotations and rigid motions: exponentials, actions and derivatives on manifolds.

packages: jaxlie
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import jaxlie

R = jaxlie.SO3.exp(jnp.array([0.1, -0.2, 0.3]))
T = jaxlie.SE3.from_rotation_and_translation(R, jnp.array([1.0, 2.0, 3.0]))
print(R.as_matrix().tolist(), R.wxyz.tolist(), (R @ R.inverse()).log().tolist())
print(T.apply(jnp.ones(3)).tolist(), T.log().tolist(), T.adjoint().shape)
print(jaxlie.manifold.grad(lambda T: jnp.sum(T.apply(jnp.ones(3)) ** 2))(T).tolist())
print(
    jaxlie.SO2.from_radians(0.4).as_matrix().tolist(),
    jax.vmap(lambda w: jaxlie.SO3.exp(w).wxyz)(jnp.eye(3)).tolist(),
)
