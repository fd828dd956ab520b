"""Adam with clipped gradients and a schedule on a least-squares problem.

packages: optax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import optax

x = jax.random.normal(jax.random.PRNGKey(0), (32, 3))
y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.3


def loss(params):
    return jnp.mean(optax.l2_loss(x @ params["w"] + params["b"], y))


schedule = optax.warmup_cosine_decay_schedule(0.0, 0.3, 5, 40)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-3))
params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
state = optimizer.init(params)


@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


for i in range(40):
    params, state, value = step(params, state)
    if i % 10 == 9:
        print(float(value))
print(params["w"].tolist(), float(params["b"]), float(optax.global_norm(params)))
