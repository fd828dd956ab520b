"""Hamiltonian Monte Carlo for eight schools, a hierarchical model (Gelman et al., Bayesian Data Analysis)."""

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])  # of coaching on a test's result, by school
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])  # their standard errors
SCALE = 5.0  # of the mean effect, so that all coordinates are of the order of 1


def parameters(z):
    """The mean effect μ, the deviation τ between schools, and the schools' effects θ, of ten coordinates."""
    mu, tau = SCALE * z[0], fnp.exp(z[1])
    return mu, tau, mu + tau * z[2:]


def log_density(z):
    """The logarithm of the posterior density of the coordinates, but for a constant; μ and τ have flat priors."""
    _, _, theta = parameters(z)
    return -fnp.sum(((EFFECTS - theta) / ERRORS) ** 2) / 2 - fnp.sum(z[2:] ** 2) / 2 + z[1]


def hamiltonian_step(key, z, size, log_density, count):
    """One proposal by `count` leapfrog steps: the next state, and the chance that the proposal is accepted."""
    for_momentum, for_size, for_choice = fx.random.split(key, 3)
    momentum = fx.random.normal(for_momentum, z.shape)
    size = size * fx.random.uniform(
        for_size, minval=0.7, maxval=1.3
    )  # so that paths do not close on themselves
    gradient = fx.grad(log_density)

    def leap(_, state):
        z, p = state
        p = p + size / 2 * gradient(z)
        z = z + size * p
        return z, p + size / 2 * gradient(z)

    new, end = fx.lax.fori_loop(0, count, leap, (z, momentum))
    energy = lambda z, p: p @ p / 2 - log_density(z)  # noqa: E731
    chance = fnp.exp(fnp.minimum(0, energy(z, momentum) - energy(new, end)))
    accepted = fx.random.uniform(for_choice) < chance
    return fnp.where(accepted, new, z), chance


def chain(key, start, log_density=log_density, warm_up=500, draws=2000, count=12, target=0.8):
    """States of a chain, and the chances of acceptance. The step size is found while it warms up, by dual averaging
    (Hoffman and Gelman 2014)."""

    def adapt(state, key):
        z, error, log_size, average, t = state
        z, chance = hamiltonian_step(key, z, fnp.exp(log_size), log_density, count)
        t = t + 1
        error = error + (target - chance - error) / (t + 10)
        log_size = np.log(1.0) - fnp.sqrt(t) / 0.05 * error
        average = average + t**-0.75 * (log_size - average)
        return (z, error, log_size, average, t), None

    def draw(state, key):
        z, size = state
        z, chance = hamiltonian_step(key, z, size, log_density, count)
        return (z, size), (z, chance)

    first, second = fx.random.split(key)
    state = (start, 0.0, np.log(0.1), np.log(0.1), 0.0)
    (z, _, _, average, _), _ = fx.lax.scan(adapt, state, fx.random.split(first, warm_up))
    _, (states, chances) = fx.lax.scan(draw, (z, fnp.exp(average)), fx.random.split(second, draws))
    return states, chances


@fx.jit
def four_chains(key):
    """Four chains from different starts: states (4, draws, 10), and chances of acceptance."""
    for_start, for_chains = fx.random.split(key)
    starts = fx.random.normal(for_start, (4, 10))
    return fx.vmap(chain)(fx.random.split(for_chains, 4), starts)


# -- convergence, as in Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021)
def split_chains(x):
    """Chains (m, n) as twice as many of half the length."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, half : 2 * half]])


def r_hat(x):
    """The potential scale reduction of split chains: near 1 where they agree."""
    x = split_chains(x)
    within = x.var(axis=1, ddof=1).mean()
    between = x.mean(axis=1).var(ddof=1)
    return np.sqrt((x.shape[1] - 1) / x.shape[1] + between / within)


def effective_size(x):
    """How many independent draws tell as much about the mean, from autocorrelations (Geyer's initial monotone
    sequence)."""
    x = split_chains(x)
    m, n = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:, :n] / n
    within = covariance[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + x.mean(axis=1).var(ddof=1)
    correlation = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: np.argmax(pairs < 0) or len(pairs)]
    time = 2 * np.minimum.accumulate(positive).sum() - 1
    return m * n / max(time, 1 / np.log10(m * n))
