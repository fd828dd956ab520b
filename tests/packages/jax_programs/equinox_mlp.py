"""An equinox network trained through filtered transformations.

packages: equinox, optax
tolerance: 1e-4
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

model = eqx.nn.MLP(in_size=2, out_size=1, width_size=8, depth=2, key=jax.random.PRNGKey(0))
x = jax.random.normal(jax.random.PRNGKey(1), (16, 2))
y = jnp.sin(x[:, :1]) + x[:, 1:]


@eqx.filter_value_and_grad
def loss_fn(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state, x, y):
    loss, grads = loss_fn(model, x, y)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, loss


for _ in range(5):
    model, state, loss = step(model, state, x, y)
    print(float(loss))
print(model.layers[0])
