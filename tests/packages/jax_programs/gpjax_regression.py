"""A Gaussian process: its marginal likelihood, a fit of the kernel, and predictions.

packages: gpjax
tolerance: 1e-3
"""

import gpjax as gpx
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
x = jnp.linspace(-1, 1, 12)[:, None]
data = gpx.Dataset(X=x, y=jnp.sin(4 * x) + 0.05 * jnp.cos(30 * x))
prior = gpx.gps.Prior(
    kernel=gpx.kernels.RBF() + gpx.kernels.Matern32(), mean_function=gpx.mean_functions.Constant()
)
posterior = prior * gpx.likelihoods.Gaussian()
objective = lambda model, data: -gpx.objectives.conjugate_mll(model, data)
print(objective(posterior, data))
fitted, history = gpx.fit_scipy(
    model=posterior, objective=objective, train_data=data, max_iters=20, verbose=False
)
print(objective(fitted, data) < objective(posterior, data))
latent = posterior.predict(jnp.array([[0.1], [0.45]]), train_data=data)
print(posterior.likelihood(latent).mean.tolist(), latent.variance.tolist())
