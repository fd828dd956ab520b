"""Batch normalization, convolutions and dropout of haiku, with state and keys.

packages: dm-haiku
tolerance: 1e-4
"""

import haiku as hk
import jax


def net(x, is_training):
    x = hk.Conv2D(4, 3)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    x = hk.MaxPool(2, 2, "SAME")(jax.nn.relu(x))
    x = hk.dropout(hk.next_rng_key(), 0.5, x)
    return hk.Linear(3)(hk.Flatten()(x))


f = hk.transform_with_state(net)
image = jax.random.normal(jax.random.PRNGKey(1), (2, 6, 6, 3))
params, state = f.init(jax.random.PRNGKey(0), image, True)
out, state = f.apply(params, state, jax.random.PRNGKey(2), image, True)
print(out.tolist())
print([leaf.reshape(-1).tolist() for leaf in jax.tree.leaves(state)])
print(jax.jit(f.apply, static_argnums=4)(params, state, jax.random.PRNGKey(2), image, False)[0].tolist())
