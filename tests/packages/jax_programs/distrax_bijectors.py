"""Bijectors: chains, inverses, and a flow of coupling layers.

packages: distrax
tolerance: 1e-3
"""

import distrax
import jax
import jax.numpy as jnp

chain = distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)])
y, logdet = chain.forward_and_log_det(jnp.array([0.1, -0.2]))
print(y.tolist(), logdet.tolist(), chain.inverse(y).tolist())
mask = jnp.array([True, False])
coupling = distrax.MaskedCoupling(
    mask,
    lambda x: jnp.flip(jnp.sin(x), -1),
    lambda params: distrax.ScalarAffine(params, jnp.ones_like(params)),
)
flow = distrax.Transformed(distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)), coupling)
x = flow.sample(seed=jax.random.PRNGKey(0), sample_shape=(3,))
print(x.tolist(), flow.log_prob(x).tolist())
spline = distrax.RationalQuadraticSpline(jnp.arange(10.0) / 10, -2.0, 2.0)
print(spline.forward(jnp.array([-0.7, 0.3])).tolist(), jax.grad(lambda x: spline.forward(x))(0.3).tolist())
