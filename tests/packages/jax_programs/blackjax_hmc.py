"""Hamiltonian, Langevin and random-walk kernels of blackjax in a scan.

packages: blackjax
tolerance: 1e-3
"""

import blackjax
import jax
import jax.numpy as jnp


def logdensity(x):
    return -jnp.sum(x["a"] ** 2) - 0.5 * jnp.sum((x["b"] - 1) ** 2)


start = {"a": jnp.zeros(2), "b": jnp.ones(1)}
for algorithm in (
    blackjax.hmc(logdensity, 0.1, jnp.ones(3), 10),
    blackjax.mala(logdensity, 0.1),
    blackjax.additive_step_random_walk(logdensity, blackjax.mcmc.random_walk.normal(0.3)),
):
    step = lambda state, key: (algorithm.step(key, state)[0],) * 2
    _, states = jax.lax.scan(step, algorithm.init(start), jax.random.split(jax.random.key(1), 10))
    print(
        {name: values[-1].tolist() for name, values in states.position.items()},
        float(states.position["a"].mean()),
    )
