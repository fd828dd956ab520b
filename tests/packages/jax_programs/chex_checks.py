"""Assertions, dataclasses and variants of chex.

packages: chex
tolerance: 1e-5
"""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class Point:
    x: chex.Array
    y: chex.Array


p = Point(x=jnp.arange(3.0), y=jnp.ones(2))
print(jax.tree.map(lambda leaf: (leaf * 2).tolist(), p))
chex.assert_shape(p.x, (3,))
chex.assert_rank([p.x, p.y], 1)
chex.assert_tree_all_finite(p)
chex.assert_trees_all_close(p, p.replace(y=p.y + 1e-9))
chex.assert_equal_shape([p.x, p.x])
chex.assert_type(p.x, jnp.float32)
try:
    chex.assert_shape(p.x, (2,))
except AssertionError:
    print("refused")


@jax.jit
@chex.assert_max_traces(n=1)
def f(x):
    return x * 2


print(f(p.x).tolist(), f(p.x).tolist())
print(chex.assert_scalar_positive(1.0), jax.grad(lambda p: jnp.sum(p.x**2) + jnp.sum(p.y))(p).x.tolist())
