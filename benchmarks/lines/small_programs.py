"""Programs of many operations on a few numbers, jitted: dynamics, geometry, filters, circuits, small solves."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import functional
from ..line import Contenders, line

Program = Callable[..., Any]


def jitted(program: Program, *arguments: Any) -> Contenders:
    return functional(program, *arguments, by="fxgrad:jit jax:jit")


def normals(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape)


@line(tolerance=1e-9)
def pendulum(quick: bool) -> Contenders:
    """jitted Jacobian of a double pendulum, 4 numbers"""

    def program(lib: Any) -> Program:
        sin, cos = lib.np.sin, lib.np.cos

        def field(y: Any) -> Any:
            a, b, v, w = y[0], y[1], y[2], y[3]
            d = a - b
            common = 3 - cos(2 * d)
            first = -29.43 * sin(a) - 9.81 * sin(a - 2 * b) - 2 * sin(d) * (w**2 + v**2 * cos(d))
            second = 2 * sin(d) * (2 * v**2 + 19.62 * cos(a) + w**2 * cos(d))
            return lib.np.stack([v, w, first / common, second / common])

        return lib.jacfwd(field)

    return jitted(program, np.array([0.1, 0.2, 0.3, 0.4]))


@line(tolerance=1e-9)
def kinematics(quick: bool) -> Contenders:
    """jitted Jacobian of six rotations 4×4, multiplied"""

    def program(lib: Any) -> Program:
        np = lib.np

        def rotation(angle: Any, axis: int) -> Any:
            c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
            rows = [[c, -s, o, i], [s, c, o, o], [o, o, i, o], [o, o, o, i]]
            if axis:
                rows = [[i, o, o, i], [o, c, -s, o], [o, s, c, o], [o, o, o, i]]
            return np.stack([np.stack(row) for row in rows])

        def place(angles: Any) -> Any:
            found = np.eye(4)
            for k in range(6):
                found = found @ rotation(angles[k], k % 2)
            return found[:3, 3]

        return lib.jacrev(place)

    return jitted(program, np.linspace(0.1, 0.6, 6))


@line(tolerance=1e-9)
def small_solve(quick: bool) -> Contenders:
    """jitted gradient of a solved system of order 4"""
    return jitted(
        lambda lib: lib.grad(lambda a, b: lib.np.sum(lib.np.linalg.solve(a, b) ** 2)),
        normals(4, 4) + 4 * np.eye(4),
        normals(4),
    )


@line(tolerance=1e-9)
def rosenbrock(quick: bool) -> Contenders:
    """jitted gradient of Rosenbrock's function, 10 numbers"""

    def program(lib: Any) -> Program:
        return lib.grad(lambda v: lib.np.sum(100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2))

    return jitted(program, normals(10))


@line(tolerance=1e-9)
def small_network(quick: bool) -> Contenders:
    """jitted gradient of an MLP 4→16→1, batch 32"""

    def program(lib: Any) -> Program:
        def loss(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
            return lib.np.mean((lib.np.tanh(x @ w + b) @ v - y) ** 2)

        return lib.grad(loss, argnums=(0, 1, 2))

    return jitted(program, normals(4, 16), normals(16), normals(16, 1), normals(32, 4), normals(32, 1))


@line(tolerance=1e-9)
def kalman_step(quick: bool) -> Contenders:
    """jitted step of a Kalman filter, 4 states, 2 observations"""

    def program(lib: Any) -> Program:
        def step(mean: Any, spread: Any, y: Any, a: Any, h: Any, q: Any, r: Any) -> Any:
            mean, spread = a @ mean, a @ spread @ a.T + q
            innovation = h @ spread @ h.T + r
            gain = lib.np.linalg.solve(innovation, h @ spread).T
            return mean + gain @ (y - h @ mean), spread - gain @ innovation @ gain.T

        return step

    motion = np.eye(4) + 0.1 * normals(4, 4)
    return jitted(
        program, normals(4), np.eye(4), normals(2), motion, normals(2, 4), 0.1 * np.eye(4), np.eye(2)
    )


@line(tolerance=1e-9)
def quaternions(quick: bool) -> Contenders:
    """jitted gradient of eight rotations by quaternions"""

    def program(lib: Any) -> Program:
        np = lib.np

        def rotate(q: Any, v: Any) -> Any:
            w, u = q[0], q[1:]
            return v + 2 * w * np.cross(u, v) + 2 * np.cross(u, np.cross(u, v))

        def energy(qs: Any, v: Any) -> Any:
            for k in range(8):
                v = rotate(qs[k] / np.sqrt(np.sum(qs[k] ** 2)), v)
            return np.sum(v**2 * np.arange(3.0))

        return lib.grad(energy)

    return jitted(program, normals(8, 4), normals(3))


@line(tolerance=1e-9)
def qubits(quick: bool) -> Contenders:
    """jitted gradient of a circuit of 10 qubits, 4 layers"""
    count, layers = (4, 1) if quick else (10, 4)

    def program(lib: Any) -> Program:
        np = lib.np

        def probability(angles: Any) -> Any:
            start = np.concatenate([np.ones(1), np.zeros(2**count - 1)])
            state = np.reshape(start, (2,) * count)
            for layer in range(layers):
                for k in range(count):
                    c, s = np.cos(angles[layer, k]), np.sin(angles[layer, k])
                    gate = np.stack([np.stack([c, -s]), np.stack([s, c])])
                    state = np.moveaxis(np.tensordot(gate, state, axes=([1], [k])), 0, k)
            return np.sum(state[0] ** 2)

        return lib.grad(probability)

    return jitted(program, normals(layers, count))


STAGES = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
DIFFERENCE = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]


@line(tolerance=1e-9)
def dormand_prince(quick: bool) -> Contenders:
    """jitted step of Dormand and Prince's method, Lorenz's system"""

    def program(lib: Any) -> Program:
        def field(y: Any) -> Any:
            x, z = y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]
            return lib.np.stack([10 * (y[1] - y[0]), x, z])

        def combine(weights: list[float], slopes: list[Any]) -> Any:
            return sum(w * s for w, s in zip(weights, slopes) if w)

        def step(y: Any, h: Any) -> Any:
            slopes = [field(y)]
            for weights in STAGES:
                slopes.append(field(y + h * combine(weights, slopes)))
            return y + h * combine(STAGES[-1], slopes), h * combine(DIFFERENCE, slopes)

        return step

    return jitted(program, np.array([1.0, 2.0, 3.0]), np.array(0.01))


@line(tolerance=1e-8)
def small_gaussian_process(quick: bool) -> Contenders:
    """jitted value and gradient of a GP marginal likelihood, n = 20"""
    from .gaussian_process import data, marginal_likelihood

    return jitted(marginal_likelihood, *data(quick=True))
