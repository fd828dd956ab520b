"""Monte Carlo tree search with a learned model's signature.

packages: mctx
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import mctx


def recurrent(params, key, action, embedding):
    reward = jnp.where(action == embedding % 3, 1.0, 0.0)
    out = mctx.RecurrentFnOutput(
        reward=reward,
        discount=jnp.full_like(reward, 0.9),
        prior_logits=jnp.zeros((action.shape[0], 3)),
        value=jnp.zeros_like(reward),
    )
    return out, embedding + action + 1


root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.array([0, 1]))
out = mctx.gumbel_muzero_policy(
    params=None,
    rng_key=jax.random.PRNGKey(0),
    root=root,
    recurrent_fn=recurrent,
    num_simulations=12,
    max_depth=4,
)
print(out.action.tolist(), out.action_weights.tolist())
out = mctx.muzero_policy(
    params=None, rng_key=jax.random.PRNGKey(1), root=root, recurrent_fn=recurrent, num_simulations=8
)
print(out.action.tolist(), out.search_tree.summary().visit_counts.tolist())
