"""The loops of equinox, which reverse-mode derivatives go through: checkpointed and bounded.

packages: equinox
tolerance: 1e-3
"""

import equinox.internal as eqxi
import jax
import jax.numpy as jnp


def f(x, n, kind):
    def body(c):
        i, x, buffer = c
        return i + 1, jnp.sin(x) * 1.5, buffer.at[i].set(x)

    out = eqxi.while_loop(
        lambda c: c[0] < n, body, (0, x, jnp.zeros(8)), max_steps=8, kind=kind, buffers=lambda c: c[2]
    )
    return out[1] + jnp.sum(out[2])


for kind in ("lax", "checkpointed", "bounded"):
    print(kind, float(f(jnp.float32(0.5), 5, kind)))
    if kind != "lax":
        print(
            float(jax.grad(f)(jnp.float32(0.5), 5, kind)),
            float(jax.jit(jax.grad(f), static_argnums=2)(jnp.float32(0.5), 5, kind)),
        )
        print(
            jax.vmap(lambda x, n: jax.grad(f)(x, n, kind))(jnp.array([0.5, 0.2]), jnp.array([3, 5])).tolist()
        )
print(eqxi.unvmap_any(jnp.array([True, False])), jax.vmap(eqxi.unvmap_any)(jnp.array([True, False])).tolist())
