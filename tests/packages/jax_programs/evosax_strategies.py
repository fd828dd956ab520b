"""Evolution strategies: a few generations.

packages: evosax
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES

f = lambda x: jnp.sum((x - jnp.array([1.0, -1.0, 0.5])) ** 2)
key = jax.random.key(0)
strategy = CMA_ES(population_size=8, solution=jnp.zeros(3))
params = strategy.default_params
state = strategy.init(key, jnp.zeros(3), params)
for step in jax.random.split(key, 5):
    ask, tell = jax.random.split(step)
    population, state = strategy.ask(ask, state, params)
    state, metrics = strategy.tell(tell, population, jax.vmap(f)(population), state, params)
print(strategy.get_mean(state).tolist(), float(metrics["best_fitness"]))
