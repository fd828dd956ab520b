"""Nonlinear least squares by Levenberg-Marquardt, Gauss-Newton and dogleg steps.

packages: optimistix
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import optimistix as optx


def residuals(y, args):
    return jnp.array([10 * (y[1] - y[0] ** 2), args - y[0]])


start = jnp.array([-1.0, 1.5])
for solver in (optx.LevenbergMarquardt(1e-6, 1e-6), optx.GaussNewton(1e-6, 1e-6), optx.Dogleg(1e-6, 1e-6)):
    print(optx.least_squares(residuals, solver, start, args=1.0).value.tolist())
print(
    jax.jacfwd(
        lambda a: optx.least_squares(residuals, optx.LevenbergMarquardt(1e-6, 1e-6), start, args=a).value
    )(1.0).tolist()
)
