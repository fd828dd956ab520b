"""Returns and losses of reinforcement learning.

packages: rlax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import rlax

rewards, discounts = jnp.array([1.0, 0.0, 2.0]), jnp.array([0.9, 0.9, 0.0])
values = jnp.array([0.5, 0.2, 0.7, 0.1])
print(rlax.lambda_returns(rewards, discounts, values[1:], 0.9).tolist())
print(rlax.n_step_bootstrapped_returns(rewards, discounts, values[1:], 2).tolist())
print(
    float(rlax.q_learning(values, 1, 0.5, 0.9, values[::-1])),
    float(rlax.policy_gradient_loss(jnp.ones((3, 2)), jnp.array([0, 1, 0]), rewards, jnp.ones(3))),
)
print(rlax.vtrace(values[:-1], values[1:], rewards, discounts, jnp.array([1.0, 0.8, 1.2])).tolist())
print(jax.grad(lambda v: rlax.td_lambda(v[:-1], rewards, discounts, v[1:], 0.9).sum())(values).tolist())
print(
    rlax.epsilon_greedy(0.1).probs(values).tolist(),
    rlax.transform_to_2hot(jnp.array(0.3), -1.0, 1.0, 5).tolist(),
)
