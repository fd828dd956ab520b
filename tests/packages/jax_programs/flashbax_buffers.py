"""Buffers of experience: added to and sampled from, uniformly and by priority.

packages: flashbax
tolerance: 1e-4
"""

import flashbax as fbx
import jax
import jax.numpy as jnp

step = {"obs": jnp.zeros(2), "reward": jnp.array(0.0)}
flat = fbx.make_flat_buffer(max_length=16, min_length=2, sample_batch_size=4, add_batch_size=2)
trajectory = fbx.make_trajectory_buffer(
    max_length_time_axis=16, min_length_time_axis=4, sample_batch_size=3, add_batch_size=2, sample_sequence_length=3, period=1,
)  # fmt: skip
prioritised = fbx.make_prioritised_flat_buffer(
    max_length=16, min_length=2, sample_batch_size=4, add_batch_size=2
)
for name, buffer in (("flat", flat), ("trajectory", trajectory), ("prioritised", prioritised)):
    state = buffer.init(step)
    add = jax.jit(buffer.add)
    for t in range(6):
        batch = {"obs": jnp.full((2, 2), t) + jnp.arange(2.0)[:, None], "reward": jnp.array([t, -t], float)}
        state = add(state, jax.tree.map(lambda x: x[:, None], batch) if name == "trajectory" else batch)
    sample = jax.jit(buffer.sample)(state, jax.random.PRNGKey(1))
    print(
        name, bool(buffer.can_sample(state)), [leaf.tolist() for leaf in jax.tree.leaves(sample.experience)]
    )
    if name == "prioritised":
        state = buffer.set_priorities(state, sample.indices, jnp.array([1.0, 5.0, 0.1, 2.0]))
        print(buffer.sample(state, jax.random.PRNGKey(2)).probabilities.tolist())
