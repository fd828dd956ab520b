"""Q-learning over a batch, Retrace, and transformed values.

packages: rlax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import rlax

q = jax.random.normal(jax.random.PRNGKey(0), (6, 3))
a, r, g = jnp.array([0, 1, 2, 0, 1]), jnp.arange(5.0) / 5, jnp.full(5, 0.9)
errors = jax.vmap(rlax.double_q_learning)(q[:-1], a, r, g, q[1:], q[1:])
print(errors.tolist(), jax.vmap(rlax.sarsa)(q[:-1], a, r, g, q[1:], a).tolist())
print(jax.jit(jax.grad(lambda q: jnp.sum(rlax.q_lambda(q[:-1], a, r, g, q[1:], 0.8) ** 2)))(q).tolist())
print(rlax.vtrace_td_error_and_advantage(q[:-1, 0], q[1:, 0], r, g, jnp.full(5, 0.9)).errors.tolist())
pair = rlax.SIGNED_HYPERBOLIC_PAIR
print(pair.apply(q[0]).tolist(), pair.apply_inv(pair.apply(q[0])).tolist())
print(rlax.discounted_returns(r, g, q[1:, 0]).tolist())
