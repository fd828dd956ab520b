"""The No-U-Turn sampler of blackjax with window adaptation.

packages: blackjax
tolerance: 0.05
"""

import blackjax
import jax
import jax.numpy as jnp


def logdensity(x):
    return -0.5 * jnp.sum((x - jnp.array([1.0, -1.0])) ** 2 / jnp.array([1.0, 4.0]))


key = jax.random.key(0)
warmup = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = warmup.run(key, jnp.zeros(2), num_steps=30)
print(state.position.tolist(), float(parameters["step_size"]))
kernel = jax.jit(blackjax.nuts(logdensity, **parameters).step)
for step in jax.random.split(key, 5):
    state, info = kernel(step, state)
    print(state.position.tolist(), int(info.num_integration_steps))
