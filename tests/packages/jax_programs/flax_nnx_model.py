"""A network of nnx, with its state split from its graph, trained by nnx.Optimizer.

packages: flax, optax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.linear1 = nnx.Linear(3, 8, rngs=rngs)
        self.norm = nnx.LayerNorm(8, rngs=rngs)
        self.linear2 = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.linear2(nnx.relu(self.norm(self.linear1(x))))


model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.PRNGKey(1), (16, 3))
y = jnp.sin(x.sum(1, keepdims=True))


@nnx.jit
def step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


for _ in range(5):
    print(float(step(model, optimizer, x, y)))
graph, state = nnx.split(model)
print(nnx.merge(graph, state)(x[:2]).tolist())
