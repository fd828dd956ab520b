"""A linen network with dropout and batch normalization, trained by a TrainState.

packages: flax, optax
tolerance: 1e-4
"""

import jax
import optax
from flax import linen as nn
from flax.training import train_state


class Net(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Dense(self.width)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.relu(x)
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return nn.Dense(2)(x)


x = jax.random.normal(jax.random.PRNGKey(1), (16, 4))
labels = (x.sum(1) > 0).astype(int)
variables = Net(8).init(jax.random.PRNGKey(0), x, train=False)
print([leaf.shape for leaf in jax.tree.leaves(variables)])


class State(train_state.TrainState):
    batch_stats: dict


state = State.create(
    apply_fn=Net(8).apply,
    params=variables["params"],
    tx=optax.sgd(0.1, 0.9),
    batch_stats=variables["batch_stats"],
)


@jax.jit
def step(state, key):
    def loss(params):
        out, changed = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            x,
            train=True,
            mutable=["batch_stats"],
            rngs={"dropout": key},
        )
        return optax.softmax_cross_entropy_with_integer_labels(out, labels).mean(), changed

    (value, changed), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=changed["batch_stats"]), value


for key in jax.random.split(jax.random.PRNGKey(2), 5):
    state, value = step(state, key)
    print(float(value))
print(state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, x, train=False)[:2].tolist())
