"""A transformed network of haiku, its parameters and a gradient.

packages: dm-haiku
tolerance: 1e-4
"""

import haiku as hk
import jax
import jax.numpy as jnp


def net(x):
    h = jax.nn.relu(hk.Linear(8)(x))
    h = hk.LayerNorm(-1, True, True)(h)
    return hk.nets.MLP([6, 2])(h)


f = hk.without_apply_rng(hk.transform(net))
x = jax.random.normal(jax.random.PRNGKey(1), (3, 4))
params = f.init(jax.random.PRNGKey(0), x)
print([leaf.shape for leaf in jax.tree.leaves(params)])
print(f.apply(params, x).tolist())
grads = jax.jit(jax.grad(lambda p: jnp.sum(f.apply(p, x) ** 2)))(params)
print(grads["linear"]["w"].tolist())
print(hk.data_structures.tree_size(params))
