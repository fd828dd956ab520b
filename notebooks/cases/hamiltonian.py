"""A mass on a spring learned from noisy slopes: by a network of the slopes, and by a network of the energy.

The task and the second network are those of Greydanus, Dzamba and Yosinski, "Hamiltonian neural networks" (2019).
"""

from itertools import pairwise

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

NOISE = 0.1


def data(trajectories=25, points=30, seed=0):
    """Positions and momenta on circles of random radius, and their slopes; both with noise."""
    rng = np.random.default_rng(seed)
    radii = np.sqrt(rng.uniform(0.2, 1, trajectories))
    phase = rng.uniform(0, 2 * np.pi, trajectories)[:, None] + np.linspace(0, 3, points)
    places = radii[:, None, None] * np.stack([np.cos(phase), -np.sin(phase)], axis=-1)
    places = places + NOISE * rng.normal(size=places.shape)
    slopes = np.stack([places[..., 1], -places[..., 0]], axis=-1) + NOISE * rng.normal(size=places.shape)
    return places.reshape(-1, 2), slopes.reshape(-1, 2)


def init(outputs, width=64, seed=0):
    """A network of two hidden layers: a list of weights and biases."""
    rng = np.random.default_rng(seed)
    sizes = (2, width, width, outputs)
    return [(rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]


def network(params, z):
    for weights, bias in params[:-1]:
        z = fnp.tanh(z @ weights + bias)
    return z @ params[-1][0] + params[-1][1]


def slope(params, z):
    """dz/dt as a network of z."""
    return network(params, z)


def hamiltonian_slope(params, z):
    """dz/dt = (∂H/∂p, −∂H/∂q), where the energy H is a network of z = (q, p)."""
    dq, dp = fx.grad(lambda z: network(params, z)[0])(z)
    return fnp.stack([dp, -dq])


def train(field, params, places, slopes, steps=1000):
    """The parameters after steps of Adam on the mean squared error of the slopes, and the losses."""
    optimizer = fx.optim.adam(3e-3)

    def loss(params):
        return fnp.mean((fx.vmap(field, in_axes=(None, 0))(params, places) - slopes) ** 2)

    def step(state, _):
        params, state = state
        value, gradient = fx.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state, params)
        return (fx.optim.apply_updates(params, updates), state), value

    run = fx.jit(lambda state: fx.lax.scan(step, state, length=steps))
    (params, _), losses = run((params, optimizer.init(params)))
    return params, losses


def flow(field, params, start, times, tolerance=1e-8):
    """The states at times, from one state."""
    return fx.scipy.integrate.odeint(
        lambda z, t: field(params, z), start, times, rtol=tolerance, atol=tolerance
    )


def misfit(params, start, times, target, tolerance=1e-8):
    """The mean squared distance of a neural differential equation's states from others."""
    return fnp.mean((flow(slope, params, start, times, tolerance) - target) ** 2)


def adjoint_gradient(params, start, times, target, tolerance=1e-8):
    """The gradient of `misfit` by the adjoint equation, which is solved backward with the state: nothing of the way
    there is kept (Chen et al. 2018)."""
    states = flow(slope, params, start, times, tolerance)
    flat, unravel = fx.tree.ravel_pytree(params)

    def backward(all_of_it, t):
        z, a, _ = all_of_it
        value, pull = fx.vjp(lambda w, z: slope(unravel(w), z), flat, z)
        by_params, by_z = pull(a)
        return -value, by_z, by_params  # time runs backward

    def interval(carry, given):
        a, total = carry
        state, residual, span = given
        a = a + 2 * residual / target.size
        ends = fx.scipy.integrate.odeint(
            backward, (state, a, total), fnp.stack([0.0 * span, span]), rtol=tolerance, atol=tolerance
        )
        return (ends[1][-1], ends[2][-1]), None

    given = (states[:0:-1], (states - target)[:0:-1], np.diff(times)[::-1])
    (_, total), _ = fx.lax.scan(interval, (fnp.zeros(2), fnp.zeros(flat.size)), given)
    return unravel(total)
