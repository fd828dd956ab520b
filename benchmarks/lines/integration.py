"""Differential equations, jitted: solvers with adaptive steps and their adjoints, and fields on grids and points."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..line import Contenders, line
from .small_programs import DIFFERENCE, STAGES, Program, jitted, normals

TIMES = np.linspace(0.0, 5.0, 11)
SOLVED = 1e-4  # of solutions of two methods of other orders, each to the tolerance of its own steps


def lotka_volterra(lib: Any) -> Program:
    def field(y: Any, t: Any, p: Any) -> Any:
        prey, hunters = y[0], y[1]
        return lib.np.stack([prey * (p[0] - p[1] * hunters), hunters * (p[2] * prey - p[3])])

    return field


def pendulum_field(lib: Any) -> Program:
    def field(y: Any, t: Any, p: Any) -> Any:
        return lib.np.stack([y[1], -p[0] * y[1] - p[1] * lib.np.sin(y[0]) + p[2] * lib.np.cos(p[3] * t)])

    return field


def network_field(lib: Any) -> Program:
    def field(y: Any, t: Any, layers: Any) -> Any:
        h = y
        for w, b in layers[:-1]:
            h = lib.np.tanh(h @ w + b)
        w, b = layers[-1]
        return h @ w + b

    return field


def robertson(lib: Any) -> Program:
    def field(y: Any, t: Any, p: Any) -> Any:
        slow, middle, fast = p[0] * y[0], p[1] * y[1] ** 2, p[2] * y[1] * y[2]
        return lib.np.stack([fast - slow, slow - fast - middle, middle])

    return field


NETWORK = [(normals(n, m) / n**0.5, np.zeros(m)) for n, m in ((2, 32), (32, 32), (32, 2))]
POPULATIONS = np.array([1.0, 0.5]), np.array([1.5, 1.0, 1.0, 3.0])
SWING = np.array([1.0, 0.0]), np.array([0.2, 9.81, 0.5, 2.0])
REACTION = np.array([1.0, 0.0, 0.0]), np.array([0.04, 3e3, 1e2])


def solution(field: Callable[[Any], Program], start: Any, parameters: Any, gradient: bool) -> Contenders:
    """The solution at eleven times, or the gradient of its sum of squares in the start and the parameters."""

    def program(lib: Any) -> Program:
        slope = field(lib)
        if not gradient:
            return lambda y, p: lib.odeint(slope, y, TIMES, p)
        return lib.grad(lambda y, p: lib.np.sum(lib.odeint(slope, y, TIMES, p) ** 2), argnums=(0, 1))

    return jitted(program, start, parameters)


@line(tolerance=SOLVED)
def odeint_populations(quick: bool) -> Contenders:
    """jitted odeint of Lotka and Volterra's equations"""
    return solution(lotka_volterra, *POPULATIONS, gradient=False)


@line(tolerance=SOLVED)
def odeint_populations_gradient(quick: bool) -> Contenders:
    """jitted gradient of an odeint of Lotka and Volterra's equations"""
    return solution(lotka_volterra, *POPULATIONS, gradient=True)


@line(tolerance=SOLVED)
def odeint_pendulum(quick: bool) -> Contenders:
    """jitted odeint of a driven pendulum"""
    return solution(pendulum_field, *SWING, gradient=False)


@line(tolerance=SOLVED)
def odeint_pendulum_gradient(quick: bool) -> Contenders:
    """jitted gradient of an odeint of a driven pendulum"""
    return solution(pendulum_field, *SWING, gradient=True)


@line(tolerance=SOLVED)
def odeint_network(quick: bool) -> Contenders:
    """jitted odeint of an MLP 2-32-32-2"""
    return solution(network_field, np.array([1.0, -0.5]), NETWORK, gradient=False)


@line(tolerance=SOLVED)
def odeint_network_gradient(quick: bool) -> Contenders:
    """jitted gradient of an odeint of an MLP 2-32-32-2"""
    return solution(network_field, np.array([1.0, -0.5]), NETWORK, gradient=True)


@line(tolerance=SOLVED)
def odeint_reaction(quick: bool) -> Contenders:
    """jitted odeint of Robertson's reaction, moderately stiff"""
    return solution(robertson, *REACTION, gradient=False)


@line(tolerance=1e-2)  # JAX's, integrated backwards, has three digits; ours are those of SciPy's differences
def odeint_reaction_gradient(quick: bool) -> Contenders:
    """jitted gradient of an odeint of Robertson's reaction, moderately stiff"""
    return solution(robertson, *REACTION, gradient=True)


# -- a solver of the user's own ------------------------------------------
def stepper(lib: Any, field: Program) -> Program:
    """A trial of a step by Dormand and Prince's method: (t, y, h, p) → the next of these."""
    np = lib.np

    def combine(weights: list[float], slopes: list[Any]) -> Any:
        return sum(w * s for w, s in zip(weights, slopes) if w)

    def advance(t: Any, y: Any, h: Any, end: Any, p: Any) -> tuple[Any, Any, Any]:
        h = np.minimum(h, end - t)
        slopes = [field(y, t, p)]
        for weights in STAGES:
            slopes.append(field(y + h * combine(weights, slopes), t + h * sum(weights), p))
        new, error = y + h * combine(STAGES[-1], slopes), h * combine(DIFFERENCE, slopes)
        size = np.sqrt(np.mean((error / (1e-8 + 1e-8 * np.maximum(abs(y), abs(new)))) ** 2))
        accepted = size <= 1
        factor = np.clip(0.9 * np.maximum(size, 1e-10) ** -0.2, 0.2, 10.0)
        return np.where(accepted, t + h, t), np.where(accepted, new, y), h * factor

    return advance


@line(tolerance=1e-6)
def adaptive_loop(quick: bool) -> Contenders:
    """jitted Dormand-Prince solver with adaptive steps by a while loop"""

    def program(lib: Any) -> Program:
        advance = stepper(lib, lotka_volterra(lib))

        def solve(y: Any, p: Any) -> Any:
            def body(state: Any) -> Any:
                return advance(*state, 5.0, p)

            start = (lib.np.zeros(()), y, lib.np.full((), 0.01))
            return lib.lax.while_loop(lambda state: state[0] < 5.0, body, start)[1]

        return solve

    return jitted(program, *POPULATIONS)


@line(tolerance=1e-6)
def adaptive_scan_gradient(quick: bool) -> Contenders:
    """jitted gradient of a Dormand-Prince solver with adaptive steps by a scan of branches"""

    def program(lib: Any) -> Program:
        advance = stepper(lib, lotka_volterra(lib))

        def solve(y: Any, p: Any) -> Any:
            def body(state: Any, _: Any) -> Any:
                step = lambda s: advance(*s, 5.0, p)  # noqa: E731
                new = lib.lax.cond(state[0] < 5.0, step, lambda s: s, state)
                return new, None

            start = (lib.np.zeros(()), y, lib.np.full((), 0.01))
            return lib.np.sum(lib.lax.scan(body, start, None, length=200)[0][1] ** 2)

        return lib.grad(solve, argnums=(0, 1))

    return jitted(program, *POPULATIONS)


@line(tolerance=1e-6)
def adjoint_loop(quick: bool) -> Contenders:
    """jitted adjoint of a field of an MLP 2-32-32-2, Dormand-Prince steps by a loop, written out"""

    def program(lib: Any) -> Program:
        field = network_field(lib)

        def advance(slope: Any, state: list[Any], h: float) -> list[Any]:
            slopes: list[Any] = []
            for weights in ([], *STAGES):
                given = [
                    y + h * sum(w * k[i] for w, k in zip(weights, slopes) if w) for i, y in enumerate(state)
                ]
                slopes.append(slope(given))
            last = zip(STAGES[-1], slopes)
            changes = [(w, k) for w, k in last if w]
            return [y + h * sum(w * k[i] for w, k in changes) for i, y in enumerate(state)]

        def solve(y: Any, layers: Any) -> Any:
            flat = [p for layer in layers for p in layer]

            def slope_of(y: Any, *flat: Any) -> Any:
                return field(y, 0.0, [(flat[i], flat[i + 1]) for i in (0, 2, 4)])

            (end,) = lib.lax.fori_loop(
                0, 20, lambda i, s: advance(lambda v: [slope_of(v[0], *flat)], s, 0.05), [y]
            )

            def adjoint(state: list[Any]) -> list[Any]:
                value, pull = lib.vjp(slope_of, state[0], *flat)
                return [value, *[-g for g in pull(state[1])]]

            start = [end, 2 * end, *[lib.np.zeros_like(p) for p in flat]]
            return lib.lax.fori_loop(0, 20, lambda i, s: advance(adjoint, s, -0.05), start)[1:]

        return solve

    return jitted(program, np.array([1.0, -0.5]), NETWORK)


# -- a recurrent network, a Gaussian process, fields ------------------------------------------
def lstm(hidden: int, steps: int, batch: int) -> Contenders:
    def program(lib: Any) -> Program:
        np = lib.np

        def loss(weights: Any, xs: Any) -> Any:
            inner, inward, bias = weights

            def step(state: Any, x: Any) -> Any:
                h, c = state
                z = h @ inner + x @ inward + bias
                i, f, g, o = (z[..., k * hidden : (k + 1) * hidden] for k in range(4))
                c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
                h = np.tanh(c) / (1 + np.exp(-o))
                return (h, c), h

            start = np.zeros((batch, hidden), xs.dtype)
            return np.mean(lib.lax.scan(step, (start, start), xs)[1] ** 2)

        return lib.value_and_grad(loss)

    weights = [
        w.astype("float32") / hidden**0.5 for w in (normals(hidden, 4 * hidden), normals(16, 4 * hidden))
    ]
    xs = normals(steps, batch, 16).astype("float32")
    return jitted(program, (*weights, np.zeros(4 * hidden, "float32")), xs)


@line(tolerance=1e-4)
def lstm_scan(quick: bool) -> Contenders:
    """jitted value and gradient of an LSTM by a scan of 100 steps, width 64, batch 16"""
    return lstm(64, 10 if quick else 100, 16)


@line(tolerance=1e-4)
def lstm_scan_small(quick: bool) -> Contenders:
    """jitted value and gradient of an LSTM by a scan of 50 steps, width 32, batch 1"""
    return lstm(32, 10 if quick else 50, 1)


@line(tolerance=1e-4)
def lstm_scan_large(quick: bool) -> Contenders:
    """jitted value and gradient of an LSTM by a scan of 50 steps, width 128, batch 32"""
    return lstm(128, 5 if quick else 50, 32)


def hessian(count: int) -> Contenders:
    from .gaussian_process import likelihood_of

    x = np.sort(np.random.default_rng(0).uniform(0, 10, count))
    return jitted(
        lambda lib: lib.hessian(likelihood_of(lib)),
        np.array([0.1, 0.2, -1.0]),
        (x[:, None] - x) ** 2,
        np.sin(x),
    )


@line(tolerance=1e-6)
def gaussian_process_hessian(quick: bool) -> Contenders:
    """jitted Hessian of a GP marginal likelihood, n = 50"""
    return hessian(50)


@line(tolerance=1e-6)
def gaussian_process_hessian_small(quick: bool) -> Contenders:
    """jitted Hessian of a GP marginal likelihood, n = 20"""
    return hessian(20)


@line(tolerance=1e-6)
def gaussian_process_hessian_large(quick: bool) -> Contenders:
    """jitted Hessian of a GP marginal likelihood, n = 100"""
    return hessian(100)


def residual(count: int) -> Contenders:
    def program(lib: Any) -> Program:
        np = lib.np

        def u(layers: Any, x: Any) -> Any:
            h = np.reshape(x, (1,))
            for w, b in layers[:-1]:
                h = np.tanh(h @ w + b)
            return (h @ layers[-1][0] + layers[-1][1])[0]

        def loss(layers: Any, xs: Any) -> Any:
            second = lib.vmap(lib.grad(lib.grad(u, 1), 1), (None, 0))(layers, xs)
            return np.mean((second + np.sin(xs)) ** 2) + u(layers, 0.0) ** 2 + u(layers, np.pi) ** 2

        return lib.value_and_grad(loss)

    layers = [(normals(n, m) / n**0.5, np.zeros(m)) for n, m in ((1, 32), (32, 32), (32, 1))]
    return jitted(program, layers, np.linspace(0.0, np.pi, count))


@line(tolerance=1e-7)
def physics_informed(quick: bool) -> Contenders:
    """jitted value and gradient of a PINN's loss, an MLP 1-32-32-1, 200 points"""
    return residual(200)


@line(tolerance=1e-7)
def physics_informed_large(quick: bool) -> Contenders:
    """jitted value and gradient of a PINN's loss, an MLP 1-32-32-1, 1000 points"""
    return residual(100 if quick else 1000)


def heat(points: int, steps: int, gradient: bool) -> Contenders:
    """Steps of the heat equation, in place where the library can."""

    def program(lib: Any) -> Program:
        np = lib.np

        def advance(u: Any, rate: Any) -> Any:
            change = rate * (u[2:] - 2 * u[1:-1] + u[:-2])
            if not lib.mutable:
                return u.at[1:-1].add(change)
            u = u.copy()
            u[1:-1] += change
            return u

        def end(u: Any, rate: Any) -> Any:
            return np.sum(lib.lax.fori_loop(0, steps, lambda i, u: advance(u, rate), u) ** 2)

        return lib.value_and_grad(end, argnums=(0, 1)) if gradient else end

    return jitted(program, np.sin(np.linspace(0, np.pi, points)), np.array(0.2))


@line(tolerance=1e-9)
def heat_in_place(quick: bool) -> Contenders:
    """jitted heat equation in place, 1000 points, 500 steps"""
    return heat(1000, 20 if quick else 500, gradient=False)


@line(tolerance=1e-9)
def heat_in_place_gradient(quick: bool) -> Contenders:
    """jitted gradient of the heat equation in place, 1000 points, 500 steps"""
    return heat(1000, 20 if quick else 500, gradient=True)
