"""Kernels of tinygp: sums, products, periodic and rational ones, a metric, and one of one's own.

packages: tinygp
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import tinygp

x = jnp.linspace(0, 2, 5)
k = tinygp.kernels
for kernel in (
    k.Matern52(0.7),
    k.ExpSineSquared(scale=1.0, gamma=0.5),
    k.RationalQuadratic(alpha=1.5),
    k.Cosine(1.3),
):
    print((1.5 * kernel + k.Constant(0.2))(x, x)[0].tolist())


class Brownian(k.Kernel):
    def evaluate(self, X1, X2):
        return jnp.minimum(X1, X2)


print((Brownian() * k.Exp(0.5))(x[1:], x[1:]).tolist())
points = jax.random.normal(jax.random.PRNGKey(0), (4, 2))
metric = tinygp.transforms.Linear(jnp.array([0.5, 2.0]), k.ExpSquared())
print(metric(points, points)[1].tolist())
print(
    jax.grad(lambda s: tinygp.transforms.Linear(s, k.ExpSquared())(points, points).sum())(
        jnp.ones(2)
    ).tolist()
)
