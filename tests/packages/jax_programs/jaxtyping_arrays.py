"""Annotations of shapes and dtypes of arrays, checked at run time.

packages: jaxtyping
tolerance: 1e-6
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

x = jnp.ones((2, 3))
print(
    isinstance(x, Float[Array, "2 3"]), isinstance(x, Float[Array, "a a"]), isinstance(x, Int[Array, "..."])
)
print(
    isinstance({"a": x}, PyTree[Float[Array, "..."]]),
    jax.jit(lambda x: jnp.where(isinstance(x, Float[Array, "2 3"]), x, 0))(x).sum().item(),
)
