"""Modules of equinox with state, attention and convolutions, surgery on a model, and a runtime check.

packages: equinox
tolerance: 1e-4
"""

import equinox as eqx
import jax
import jax.numpy as jnp

keys = jax.random.split(jax.random.PRNGKey(0), 5)
x = jax.random.normal(keys[4], (6, 4))


class Model(eqx.Module):
    norm: eqx.nn.BatchNorm
    cell: eqx.nn.GRUCell
    attention: eqx.nn.MultiheadAttention
    scale: float = eqx.field(static=True)

    def __call__(self, x, state):
        x, state = self.norm(x, state)
        h = self.cell(x, jnp.zeros(4))
        return self.attention(h[None], h[None], h[None])[0] * self.scale, state


def make(key):
    return Model(
        eqx.nn.BatchNorm(4, "batch", mode="ema"),
        eqx.nn.GRUCell(4, 4, key=keys[0]),
        eqx.nn.MultiheadAttention(2, 4, key=keys[1]),
        2.0,
    )


model, state = eqx.nn.make_with_state(make)(keys[3])
out, state = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
print(out.tolist())
model = eqx.tree_at(lambda m: m.cell.weight_ih, model, replace_fn=lambda w: w * 0)
frozen = eqx.nn.inference_mode(model)
print(jax.vmap(frozen, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)[0][0].tolist())
conv = eqx.nn.Conv2d(2, 3, 3, key=keys[2])
print(
    eqx.filter_jit(conv)(jnp.ones((2, 5, 5)))[:, 0, 0].tolist(),
    eqx.filter_eval_shape(conv, jnp.ones((2, 5, 5))).shape,
)


@eqx.filter_jit
def root(x):
    return jnp.sqrt(eqx.error_if(x, x < 0, "negative"))


print(float(root(jnp.array(4.0))))
try:
    root(jnp.array(-4.0))
except RuntimeError:
    print("refused")
