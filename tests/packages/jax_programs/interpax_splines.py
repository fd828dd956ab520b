"""Interpolation in one and two dimensions, and derivatives of it.

packages: interpax
tolerance: 1e-4
"""

import interpax
import jax
import jax.numpy as jnp

x, q = jnp.linspace(0, 3, 9), jnp.array([0.3, 1.45, 2.8])
f = jnp.sin(x)
for method in ("nearest", "linear", "cubic", "cubic2", "catmull-rom", "monotonic", "akima"):
    print(
        method,
        interpax.interp1d(q, x, f, method=method).tolist(),
        interpax.interp1d(q, x, f, method=method, derivative=1).tolist(),
    )
print(jax.grad(lambda f: interpax.interp1d(q, x, f, method="cubic").sum())(f).tolist())
grid = jnp.sin(x)[:, None] * jnp.cos(x)
print(interpax.interp2d(q, q[::-1], x, x, grid, method="cubic").tolist())
spline = interpax.PchipInterpolator(x, f)
print(spline(q).tolist(), spline.derivative()(q).tolist(), spline.integrate(0.0, 2.0).item())
print(interpax.fft_interp1d(jnp.cos(2 * jnp.pi * jnp.arange(8) / 8), 12).tolist())
