"""Environments of reinforcement learning: many episodes at once, in a loop that is compiled.

packages: gymnax
tolerance: 1e-3
"""

import gymnax
import jax

for name in ("CartPole-v1", "Pendulum-v1", "Catch-bsuite", "Breakout-MinAtar"):
    env, params = gymnax.make(name)

    def episode(key):
        key, start = jax.random.split(key)
        _, state = env.reset(start, params)

        def step(carry, key):
            state = carry
            action = env.action_space(params).sample(key)
            observation, state, reward, terminated, truncated, _ = env.step(key, state, action, params)
            return state, (observation.sum(), reward, terminated | truncated)

        return jax.lax.scan(step, state, jax.random.split(key, 20))[1]

    observations, rewards, done = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.PRNGKey(0), 3))
    print(name, observations.sum(1).tolist(), rewards.sum(1).tolist(), done.sum().item())
