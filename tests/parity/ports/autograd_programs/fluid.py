"""A fluid in a box, with smoke that is to be blown into a shape."""

import autograd.numpy as np
from autograd import value_and_grad


def around(x):
    """The sum of the four neighbours."""
    return sum(np.roll(x, by, axis=axis) for by in (1, -1) for axis in (0, 1))


def slope(x, axis):
    return (np.roll(x, -1, axis=axis) - np.roll(x, 1, axis=axis)) / 2


def project(vx, vy):
    """Make the velocities free of divergence, nearly."""
    p, h = np.zeros(vx.shape), 1.0 / vx.shape[0]
    for _ in range(5):
        p = (around(p) - h * (slope(vx, 0) + slope(vy, 1))) / 4.0
    return vx - slope(p, 0) / h, vy - slope(p, 1) / h


def advect(f, vx, vy):
    """Move a field along the velocities, by interpolation where each cell came from."""
    rows, cols = f.shape
    ys, xs = np.meshgrid(np.arange(rows), np.arange(cols))
    xs, ys = (xs - vx).ravel(), (ys - vy).ravel()
    left, top = np.floor(xs).astype(int), np.floor(ys).astype(int)
    right_part, low_part = xs - left, ys - top
    left, top = np.mod(left, rows), np.mod(top, cols)
    right, low = np.mod(left + 1, rows), np.mod(top + 1, cols)
    at_left = (1 - low_part) * f[left, top] + low_part * f[left, low]
    at_right = (1 - low_part) * f[right, top] + low_part * f[right, low]
    return np.reshape((1 - right_part) * at_left + right_part * at_right, (rows, cols))


def simulate(vx, vy, smoke, steps):
    for _ in range(steps):
        vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
        smoke = advect(smoke, vx, vy)
    return smoke


def main():
    rs, n = np.random.RandomState(0), 8
    target, start = np.tri(n), np.tri(n)[::-1] * 0.5

    def objective(params):
        vx, vy = np.reshape(params, (2, n, n))
        return np.mean((target - simulate(vx, vy, start, 3)) ** 2)

    return value_and_grad(objective)(0.1 * rs.randn(2 * n * n))
