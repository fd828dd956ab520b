"""Policies as distributions, and the losses of actors, critics and distributional values.

packages: rlax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import rlax

logits = jax.random.normal(jax.random.PRNGKey(0), (4, 3))
actions, advantages = jnp.array([0, 2, 1, 1]), jnp.array([0.5, -1.0, 2.0, 0.1])
print(rlax.softmax().sample(jax.random.PRNGKey(1), logits).tolist(), rlax.softmax().entropy(logits).tolist())
print(rlax.softmax(0.5).logprob(actions, logits).tolist(), rlax.greedy().probs(logits[0]).tolist())


def loss(logits):
    ratios = jnp.exp(rlax.softmax().logprob(actions, logits))
    return rlax.clipped_surrogate_pg_loss(ratios, advantages, 0.2) + rlax.entropy_loss(logits, jnp.ones(4))


print(float(loss(logits)), jax.jit(jax.grad(loss))(logits).tolist())
atoms = jnp.linspace(-1.0, 1.0, 5)
projected = rlax.categorical_l2_project(atoms * 0.9 + 0.1, jax.nn.softmax(jnp.arange(5.0)), atoms)
print(projected.tolist(), float(rlax.huber_loss(jnp.array(1.7))), float(rlax.l2_loss(jnp.array(1.7))))
