"""An ordinary differential equation with adaptive steps, and its derivative by a parameter.

packages: diffrax
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
from diffrax import Dopri5, ODETerm, PIDController, SaveAt, Tsit5, diffeqsolve

term = ODETerm(lambda t, y, args: -args * y)
sol = diffeqsolve(
    term,
    Dopri5(),
    t0=0,
    t1=3,
    dt0=0.1,
    y0=jnp.array([1.0, 2.0]),
    args=0.7,
    saveat=SaveAt(ts=jnp.linspace(0, 3, 4)),
    stepsize_controller=PIDController(rtol=1e-5, atol=1e-5),
)
print(sol.ts.tolist(), sol.ys.tolist(), int(sol.stats["num_steps"]))


def loss(a):
    return diffeqsolve(term, Tsit5(), 0, 1, 0.1, jnp.array([1.0]), args=a).ys[0, 0]


print(float(loss(0.5)), float(jax.grad(loss)(0.5)), float(jax.jit(jax.grad(loss))(0.5)))
