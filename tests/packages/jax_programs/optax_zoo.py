"""A few steps of many optimizers, from the same start.

packages: optax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import optax


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def run(optimizer):
    x = jnp.array([-0.5, 0.7, 0.2])
    state = optimizer.init(x)
    for _ in range(8):
        updates, state = optimizer.update(jax.grad(rosenbrock)(x), state, x)
        x = optax.apply_updates(x, updates)
    return x.tolist()


for name in (
    "adabelief",
    "adagrad",
    "adamax",
    "amsgrad",
    "lamb",
    "lion",
    "nadam",
    "noisy_sgd",
    "novograd",
    "radam",
    "rmsprop",
    "sgd",
    "yogi",
):
    options = {"key": 0} if name == "noisy_sgd" else {}
    print(name, run(getattr(optax, name)(1e-3, **options)))
print("momentum", run(optax.sgd(1e-3, momentum=0.9, nesterov=True)))
print("masked", run(optax.masked(optax.adam(1e-2), True)))
