"""Attention, convolutions, embeddings and a scanned recurrent cell of linen.

packages: flax
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

tokens = jnp.array([[1, 2, 3, 4, 0], [3, 1, 0, 0, 2]])


class Block(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(6, 8)(tokens)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(
            nn.LayerNorm()(x), mask=nn.make_causal_mask(tokens)
        )
        x = nn.gelu(nn.Dense(8)(nn.RMSNorm()(x)))
        x = nn.Conv(4, kernel_size=(3,))(x)
        return nn.RNN(nn.GRUCell(5))(x)


model = Block()
params = model.init(jax.random.PRNGKey(0), tokens)
y, pull = jax.vjp(lambda p: model.apply(p, tokens), params)
print(y.shape, y[0, -1].tolist())
print(
    {
        name: float(jnp.sum(jnp.abs(leaf)))
        for name, leaf in pull(jnp.ones_like(y))[0]["params"]["Conv_0"].items()
    }
)
image = jax.random.normal(jax.random.PRNGKey(1), (1, 8, 8, 3))
net = nn.Sequential(
    [nn.Conv(4, (3, 3), strides=2), nn.relu, lambda x: nn.avg_pool(x, (2, 2), (2, 2)), nn.GroupNorm(2)]
)
print(net.init_with_output(jax.random.PRNGKey(0), image)[0].reshape(-1)[:5].tolist())
