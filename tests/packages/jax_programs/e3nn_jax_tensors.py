"""Irreducible representations of rotations: spherical harmonics and tensor products.

packages: e3nn-jax
tolerance: 1e-4
"""

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp

x = e3nn.normal("0e + 1o", jax.random.PRNGKey(0))
y = e3nn.spherical_harmonics("1o + 2e", jnp.array([0.1, -0.4, 0.7]), normalize=True)
print(x.array.tolist(), y.array.tolist())
product = e3nn.tensor_product(x, y)
print(product.irreps, product.array.tolist())
print(e3nn.Irreps("2x0e + 1o").dim, e3nn.norm(y).array.tolist())
print(
    jax.grad(lambda v: e3nn.spherical_harmonics("2e", v, normalize=True).array.sum())(
        jnp.array([0.1, -0.4, 0.7])
    ).tolist()
)
