"""A stiff chemical reaction by an implicit method, and a dense solution.

packages: diffrax
tolerance: 1e-3
"""

import diffrax
import jax.numpy as jnp


def robertson(t, y, args):
    k1, k2, k3 = args
    f0 = -k1 * y[0] + k3 * y[1] * y[2]
    f1 = k1 * y[0] - k2 * y[1] ** 2 - k3 * y[1] * y[2]
    return jnp.stack([f0, f1, k2 * y[1] ** 2])


controller = diffrax.PIDController(rtol=1e-4, atol=1e-6)
sol = diffrax.diffeqsolve(
    diffrax.ODETerm(robertson),
    diffrax.Kvaerno5(),
    0.0,
    10.0,
    2e-4,
    jnp.array([1.0, 0.0, 0.0]),
    args=(0.04, 3e7, 1e4),
    stepsize_controller=controller,
    max_steps=4096,
)
print(sol.ys.tolist())
spring = diffrax.ODETerm(lambda t, y, args: jnp.array([y[1], -y[0]]))
sol = diffrax.diffeqsolve(
    spring, diffrax.Heun(), 0.0, 3.0, 0.05, jnp.array([1.0, 0.0]), saveat=diffrax.SaveAt(dense=True)
)
print(sol.evaluate(1.234).tolist(), sol.derivative(2.0).tolist())
