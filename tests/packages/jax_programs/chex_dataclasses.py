"""Dataclasses of chex as trees under transformations: mapped, scanned, frozen, and nested.

packages: chex
tolerance: 1e-5
"""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass(frozen=True)
class State:
    position: chex.Array
    velocity: chex.Array


@chex.dataclass
class System:
    state: State
    time: chex.Numeric = 0.0


def step(system, force):
    s = system.state
    velocity = s.velocity + 0.1 * (force - s.position)
    state = s.replace(position=s.position + 0.1 * velocity, velocity=velocity)
    return system.replace(state=state, time=system.time + 0.1), state.position


start = System(state=State(position=jnp.ones(2), velocity=jnp.zeros(2)), time=jnp.array(0.0))
end, path = jax.lax.scan(step, start, jnp.linspace(0.0, 1.0, 6))
print(float(end.time), end.state.position.tolist(), path[:, 0].tolist())
batch = jax.vmap(lambda p: step(start.replace(state=start.state.replace(position=p)), 0.5)[0])(jnp.eye(2))
print(batch.state.velocity.tolist(), batch.time.tolist())
g = jax.jit(jax.grad(lambda s: jnp.sum(step(s, 0.2)[1] ** 2)))(start)
print(g.state.position.tolist(), float(g.time), list(g.keys()), jax.tree.structure(g).num_leaves)
try:
    start.state.position = 3
except Exception as error:
    print(type(error).__name__)
flat, _ = jax.tree_util.tree_flatten_with_path(start)
print([jax.tree_util.keystr(path) for path, _ in flat])
