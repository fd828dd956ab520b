"""A recurrent network of haiku unrolled over time, attention, and its gradients.

packages: dm-haiku
tolerance: 1e-4
"""

import haiku as hk
import jax
import jax.numpy as jnp


def net(xs):
    core = hk.DeepRNN([hk.LSTM(5), jax.nn.relu, hk.GRU(4)])
    out, state = hk.dynamic_unroll(core, xs, core.initial_state(xs.shape[1]))
    return hk.MultiHeadAttention(2, 3, w_init=hk.initializers.VarianceScaling())(out, out, out), state


f = hk.without_apply_rng(hk.transform(net))
xs = jax.random.normal(jax.random.PRNGKey(1), (6, 3, 4))
params = f.init(jax.random.PRNGKey(0), xs)
out, state = f.apply(params, xs)
print(out.shape, out[-1].tolist(), [float(jnp.sum(leaf)) for leaf in jax.tree.leaves(state)])
grads = jax.grad(lambda p: jnp.sum(f.apply(p, xs)[0] ** 2))(params)
print(
    {name: float(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g))) for name, g in sorted(grads.items())}
)
