"""Programs as they are written in plain NumPy, with loops that write into arrays: differentiated, mapped and staged."""

import numpy as np
import pytest

from tests.numpy.test_in_place import agree

RNG = np.random.default_rng(11)


def lorenz(state):
    """Steps of Runge and Kutta, written into a trajectory."""

    def slope(y):
        return np.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])

    path = np.zeros((6, 3), like=state) if not isinstance(state, np.ndarray) else np.zeros((6, 3))
    path[0] = state
    h = 0.01
    for i in range(5):
        k1 = slope(path[i])
        k2 = slope(path[i] + h / 2 * k1)
        k3 = slope(path[i] + h / 2 * k2)
        k4 = slope(path[i] + h * k3)
        path[i + 1] = path[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


def pendulum(state):
    """The half steps of a symplectic integrator, each in place."""
    q, p = state.copy()[:2], state.copy()[2:]
    for _ in range(4):
        p -= 0.05 * np.sin(q)
        q += 0.1 * p
        p -= 0.05 * np.sin(q)
    return np.concatenate([q, p])


def eliminate(system):
    """Gauss elimination with the pivots on the diagonal, and back substitution."""
    a = system.copy()
    n = len(a)
    for k in range(n):
        a[k] /= a[k, k]
        for i in range(k + 1, n):
            a[i] -= a[i, k] * a[k]
    x = np.zeros_like(a[:, -1])
    for k in reversed(range(n)):
        x[k] = a[k, -1] - a[k, k + 1 : -1] @ x[k + 1 :]
    return x


def factor(a):
    """The factor of Cholesky, entry by entry."""
    low = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i + 1):
            rest = a[i, j] - low[i, :j] @ low[j, :j]
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low


def diffuse(u):
    """Explicit steps of the heat equation between fixed ends."""
    u = u.copy()
    for _ in range(5):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0], u[-1] = 1.0, u[-2]
    return u


def advect(u):
    """A wave in two dimensions, with ghost cells."""
    padded = np.zeros_like(u, shape=(u.shape[0] + 2, u.shape[1] + 2))
    for _ in range(3):
        padded[1:-1, 1:-1] = u
        padded[0], padded[-1] = padded[-2].copy(), padded[1].copy()
        padded[:, 0], padded[:, -1] = padded[:, -2], padded[:, 1]
        u = u - 0.1 * (padded[1:-1, 1:-1] - padded[:-2, 1:-1]) * u
    return u


def blur(image):
    """A filter by hand, whose results are collected pixel by pixel."""
    weights = np.array([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
    out = np.empty_like(image[2:, 2:])
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(weights * image[i : i + 3, j : j + 3])
    out[out > 1.2] = 1.2
    return out


def kalman(measured):
    """A filter of two states whose estimates go into preallocated arrays."""
    step, look = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    means = np.zeros_like(measured, shape=(len(measured), 2))
    spreads = np.zeros_like(measured, shape=(len(measured), 2, 2))
    mean, spread = np.zeros(2), np.eye(2)
    for t in range(len(measured)):
        mean, spread = step @ mean, step @ spread @ step.T + 0.01 * np.eye(2)
        residual = measured[t] - look @ mean
        gain = spread @ look.T @ np.linalg.inv(look @ spread @ look.T + 0.1 * measured[0] ** 2)
        mean = mean + gain @ residual
        spread = (np.eye(2) - gain @ look) @ spread
        means[t], spreads[t] = mean, spread
    return np.concatenate([means.ravel(), spreads.ravel()])


def orthogonalize(a):
    """Gram and Schmidt, column by column."""
    q = a.copy()
    for k in range(q.shape[1]):
        column = q[:, k]
        for j in range(k):
            column -= (q[:, j] @ column) * q[:, j]
        column /= np.sqrt(column @ column)
    return q


def count(x):
    """A histogram with weights, by np.add.at."""
    sums = np.zeros_like(x, shape=3)
    np.add.at(sums, [0, 1, 2, 0, 1, 0], x)
    np.maximum.at(sums, [0, 0, 1], x[:3] * 3)
    return sums / sums.sum()


def paths(w):
    """The shortest paths of Floyd and Warshall."""
    d = w.copy()
    np.fill_diagonal(d, 0.0)
    for k in range(len(d)):
        np.minimum(d, d[:, k : k + 1] + d[k], out=d)
    return d


def rotate(angles):
    """Matrices made of numbers: np.array of traced values, nested."""
    total = np.eye(2)
    for i in range(3):
        c, s = np.cos(angles[i]), np.sin(angles[i])
        total = np.array([[c, -s], [s, c]]) @ total
    return total @ np.array([angles[0], 1.0])


def sweep(x):
    """Jacobi's method for a tridiagonal system, with np.r_ and a swap of buffers."""
    new, old = np.zeros_like(x), x.copy()
    for _ in range(3):
        new[:] = (x + np.r_[0.0, old[:-1]] + np.r_[old[1:], 0.0]) / 4
        new, old = old, new
    return old


PROGRAMS = {
    lorenz: np.array([1.0, 2.0, 3.0]),
    pendulum: RNG.uniform(-1, 1, 4),
    eliminate: np.concatenate([RNG.uniform(0, 1, (3, 3)) + 3 * np.eye(3), RNG.uniform(0, 1, (3, 1))], 1),
    factor: (lambda a: a @ a.T + np.eye(3))(RNG.uniform(0, 1, (3, 3))),
    diffuse: RNG.uniform(0, 1, 6),
    advect: RNG.uniform(0, 1, (3, 3)),
    blur: RNG.uniform(0.5, 2.0, (4, 5)),
    kalman: RNG.uniform(0.5, 1.0, 3),
    orthogonalize: RNG.uniform(0, 1, (3, 2)),
    count: RNG.uniform(0.5, 1.0, 6),
    paths: RNG.uniform(0.5, 5.0, (4, 4)),
    rotate: RNG.uniform(0, 1, 3),
    sweep: RNG.uniform(0, 1, 5),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    agree(program, PROGRAMS[program])
