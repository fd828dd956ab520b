"""Programs that decide by values: as plain Python, un-jitted and by `jit(control="follow")`, and rewritten with `lax`.

`PROGRAMS` has them by name: each takes a library, and gives the function of the arguments.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..libraries import functional
from ..line import Contenders, line
from .small_programs import DIFFERENCE, STAGES, Program, normals


class Decider(NamedTuple):
    """A program as Python and by `lax`; `arguments`, and `more` that take other ways; how well results agree."""

    title: str
    python: Callable[[Any], Program]
    lax: Callable[[Any], Program]
    arguments: tuple[Any, ...]
    more: tuple[tuple[Any, ...], ...]
    tolerance: float = 1e-9


COMPILED = ("newton", "bisection", "gauss_seidel", "particles", "pivoted")  # by Numba, as they are


def put(array: Any, place: Any, row: Any) -> Any:
    """An array with another row, for libraries in which arrays are values."""
    return array.at[place].set(row)


# -- an ordinary differential equation by adaptive steps ---------------------------------------------------------
def combine(weights: list[float], slopes: list[Any]) -> Any:
    return sum([w * s for w, s in zip(weights, slopes) if w])


def trial(lib: Any) -> Program:
    """A step of Dormand and Prince's method for van der Pol's equation: the next value, and the size of its error."""
    np = lib.np

    def slope(y: Any, mu: Any) -> Any:
        return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    def advance(y: Any, h: Any, mu: Any) -> tuple[Any, Any]:
        slopes = [slope(y, mu)]
        for weights in STAGES:
            slopes.append(slope(y + h * combine(weights, slopes), mu))
        new, error = y + h * combine(STAGES[-1], slopes), h * combine(DIFFERENCE, slopes)
        return new, ((error / (1e-6 + 1e-6 * abs(y))) ** 2).mean() ** 0.5

    return advance


def adaptive(lib: Any) -> Program:
    advance = trial(lib)

    def solve(y: Any, mu: Any) -> Any:
        t, h = 0.0, 0.01
        while t < 5.0:
            if t + h > 5.0:
                h = 5.0 - t
            new, size = advance(y, h, mu)
            if size <= 1.0:
                t, y = t + h, new
            if size > 1e-8:
                h = h * min(max(0.9 * size**-0.2, 0.2), 10.0)
            else:
                h = h * 10.0
        return y

    return solve


def adaptive_lax(lib: Any) -> Program:
    np, advance = lib.np, trial(lib)

    def solve(y: Any, mu: Any) -> Any:
        def body(state: Any) -> Any:
            t, y, h = state
            h = np.where(t + h > 5.0, 5.0 - t, h)
            new, size = advance(y, h, mu)
            is_good = size <= 1.0
            factor = np.clip(0.9 * np.maximum(size, 1e-8) ** -0.2, 0.2, 10.0)
            return np.where(is_good, t + h, t), np.where(is_good, new, y), h * factor

        start = (np.zeros(()), y, np.full((), 0.01))
        return lib.lax.while_loop(lambda state: state[0] < 5.0, body, start)[1]

    return solve


# -- Newton's method with a line search --------------------------------------------------------------------------
def newton(lib: Any) -> Program:
    """The minimum of a sum of Huber's smooth losses, from zero."""
    np = lib.np

    def loss(a: Any, b: Any, x: Any) -> Any:
        return np.sqrt(1 + (a @ x - b) ** 2).sum()

    def minimize(a: Any, b: Any) -> Any:
        x = 0.0 * a[0]
        while True:
            r = a @ x - b
            s = np.sqrt(1 + r * r)
            g = a.T @ (r / s)
            if (g * g).sum() < 1e-18:
                return x
            d = -np.linalg.solve(a.T @ ((1 / s**3)[:, None] * a), g)
            value, slope, step = s.sum(), (g * d).sum(), 1.0
            while loss(a, b, x + step * d) > value + 0.1 * step * slope and step > 1e-6:
                step = step / 2
            x = x + step * d

    return minimize


def newton_lax(lib: Any) -> Program:
    np, lax = lib.np, lib.lax

    def loss(a: Any, b: Any, x: Any) -> Any:
        return np.sqrt(1 + (a @ x - b) ** 2).sum()

    def gradient(a: Any, b: Any, x: Any) -> Any:
        r = a @ x - b
        return a.T @ (r / np.sqrt(1 + r * r))

    def minimize(a: Any, b: Any) -> Any:
        def body(state: Any) -> Any:
            x, g = state
            s = np.sqrt(1 + (a @ x - b) ** 2)
            d = -np.linalg.solve(a.T @ ((1 / s**3)[:, None] * a), g)
            value, slope = s.sum(), (g * d).sum()

            def is_long(step: Any) -> Any:
                return (loss(a, b, x + step * d) > value + 0.1 * step * slope) & (step > 1e-6)

            x = x + lax.while_loop(is_long, lambda step: step / 2, np.ones(())) * d
            return x, gradient(a, b, x)

        x = 0.0 * a[0]
        return lax.while_loop(lambda s: (s[1] * s[1]).sum() >= 1e-18, body, (x, gradient(a, b, x)))[0]

    return minimize


# -- a Markov chain by Hamiltonian dynamics ------------------------------------------------------------------------
def leap(lib: Any, q: Any, p: Any, h: float, repeat: Callable[..., Any]) -> Any:
    """Ten steps in the potential log cosh."""
    force = lambda q: -lib.np.tanh(q)  # noqa: E731
    p = p + 0.5 * h * force(q)

    def body(_: Any, state: Any) -> Any:
        q, p = state
        q = q + h * p
        return q, p + h * force(q)

    q, p = repeat(0, 9, body, (q, p))
    q = q + h * p
    return q, p + 0.5 * h * force(q)


def in_python(start: int, end: int, body: Callable[..., Any], state: Any) -> Any:
    for i in range(start, end):
        state = body(i, state)
    return state


def hamiltonian(lib: Any) -> Program:
    np = lib.np

    def energy(q: Any, p: Any) -> Any:
        return np.log(np.cosh(q)).sum() + 0.5 * (p * p).sum()

    def sample(q: Any, momenta: Any, draws: Any) -> Any:
        accepted, total = 0, 0.0 * q
        for i in range(momenta.shape[0]):
            p = momenta[i]
            new, end = leap(lib, q, p, 0.9, in_python)
            if draws[i] < np.exp(energy(q, p) - energy(new, end)):
                q = new
                accepted += 1
            total = total + q
        return total / momenta.shape[0], 1.0 * accepted

    return sample


def hamiltonian_lax(lib: Any) -> Program:
    np = lib.np

    def energy(q: Any, p: Any) -> Any:
        return np.log(np.cosh(q)).sum() + 0.5 * (p * p).sum()

    def sample(q: Any, momenta: Any, draws: Any) -> Any:
        def body(state: Any, given: Any) -> Any:
            q, accepted, total = state
            p, draw = given
            new, end = leap(lib, q, p, 0.9, lib.lax.fori_loop)
            is_accepted = draw < np.exp(energy(q, p) - energy(new, end))
            q = np.where(is_accepted, new, q)
            return (q, accepted + 1.0 * is_accepted, total + q), None

        (_, accepted, total), _ = lib.lax.scan(body, (q, np.zeros(()), 0.0 * q), (momenta, draws))
        return total / momenta.shape[0], accepted

    return sample


# -- bisection ---------------------------------------------------------------------------------------------------
def bisection(lib: Any) -> Program:
    """Kepler's equation: the anomaly x - e·sin(x) = mean."""
    np = lib.np

    def solve(mean: Any, e: Any) -> Any:
        low, high = 0.0 * mean, 0.0 * mean + 7.0
        while high - low > 1e-12:
            middle = 0.5 * (low + high)
            if middle - e * np.sin(middle) > mean:
                high = middle
            else:
                low = middle
        # One step of Newton's method at the end has the derivative in what was given.
        return low - (low - e * np.sin(low) - mean) / (1 - e * np.cos(low))

    return solve


def bisection_lax(lib: Any) -> Program:
    np = lib.np

    def solve(mean: Any, e: Any) -> Any:
        def body(state: Any) -> Any:
            low, high = state
            middle = 0.5 * (low + high)
            is_above = middle - e * np.sin(middle) > mean
            return np.where(is_above, low, middle), np.where(is_above, middle, high)

        start = (0.0 * mean, 0.0 * mean + 7.0)
        low = lib.lax.while_loop(lambda s: s[1] - s[0] > 1e-12, body, start)[0]
        return low - (low - e * np.sin(low) - mean) / (1 - e * np.cos(low))

    return solve


# -- Gauss and Seidel's iteration --------------------------------------------------------------------------------
def gauss_seidel(lib: Any) -> Program:
    np = lib.np

    def solve(a: Any, b: Any) -> Any:
        x, change = 0.0 * b, 1.0
        while change > 1e-10:
            before, x = x, x + 0.0
            for i in range(8):
                x[i] = x[i] + (b[i] - a[i] @ x) / a[i, i]
            change = np.abs(x - before).max()
        return x

    return solve


def gauss_seidel_lax(lib: Any) -> Program:
    np = lib.np

    def solve(a: Any, b: Any) -> Any:
        def sweep(state: Any) -> Any:
            before = state[0]
            x = lib.lax.fori_loop(0, 8, lambda i, x: put(x, i, x[i] + (b[i] - a[i] @ x) / a[i, i]), before)
            return x, abs(x - before).max()

        return lib.lax.while_loop(lambda state: state[1] > 1e-10, sweep, (0.0 * b, np.ones(())))[0]

    return solve


# -- quadrature by halves ----------------------------------------------------------------------------------------
def simpson(lib: Any) -> Program:
    """∫ exp(-k·x²) from -1 to 1 by Simpson's rule, on halves where it is not exact enough."""
    np = lib.np

    def integrate(k: Any) -> Any:
        def f(x: float) -> Any:
            return np.exp(-k * x * x)

        def halve(a: float, b: float, left: Any, middle: Any, right: Any, whole: Any, error: float) -> Any:
            c, h = 0.5 * (a + b), (b - a) / 12
            early, late = f(0.5 * (a + c)), f(0.5 * (c + b))
            one, other = h * (left + 4 * early + middle), h * (middle + 4 * late + right)
            if abs(one + other - whole) < 15 * error:
                return one + other + (one + other - whole) / 15
            one = halve(a, c, left, early, middle, one, error / 2)
            other = halve(c, b, middle, late, right, other, error / 2)
            return one + other

        left, middle, right = f(-1.0), f(0.0), f(1.0)
        return halve(-1.0, 1.0, left, middle, right, (left + 4 * middle + right) / 3, 1e-5)

    return integrate


def simpson_lax(lib: Any) -> Program:
    np = lib.np

    def integrate(k: Any) -> Any:
        def f(x: Any) -> Any:
            return np.exp(-k * x * x)

        def part(a: Any, b: Any) -> Any:
            return (b - a) / 6 * (f(a) + 4 * f(0.5 * (a + b)) + f(b))

        def body(state: Any) -> Any:
            count, stack, total = state
            a, b, error = stack[count - 1, 0], stack[count - 1, 1], stack[count - 1, 2]
            c, whole = 0.5 * (a + b), part(a, b)
            parts = part(a, c) + part(c, b)
            is_good = abs(parts - whole) < 15 * error
            halves = put(
                put(stack, count - 1, np.stack([c, b, error / 2])), count, np.stack([a, c, error / 2])
            )
            total = np.where(is_good, total + parts + (parts - whole) / 15, total)
            return np.where(is_good, count - 1, count + 1), np.where(is_good, stack, halves), total

        stack = put(np.zeros((32, 3)), 0, np.asarray([-1.0, 1.0, 1e-5]))
        return lib.lax.while_loop(lambda s: s[0] > 0, body, (np.asarray(1), stack, 0.0 * k))[2]

    return integrate


# -- a particle filter -------------------------------------------------------------------------------------------
def particles(lib: Any) -> Program:
    """The means that a filter finds; it draws particles anew when few of them have weight."""
    np = lib.np

    def track(observed: Any, noise: Any, grid: Any) -> Any:
        x, w, count, mean = noise[0], 0.0 * noise[0] + 1 / noise.shape[1], 0, 0.0
        for t in range(observed.shape[0]):
            x = 0.9 * x + noise[t]
            w = w * np.exp(-2.0 * (observed[t] - x) ** 2)
            w = w / w.sum()
            mean = mean + (w * x).sum() ** 2
            if 1 / (w * w).sum() < 0.5 * noise.shape[1]:
                x = x[np.searchsorted(w.cumsum(0), grid)]
                w = 0.0 * w + 1 / noise.shape[1]
                count += 1
        return mean, 1.0 * count

    return track


def particles_lax(lib: Any) -> Program:
    np = lib.np

    def track(observed: Any, noise: Any, grid: Any) -> Any:
        size = noise.shape[1]

        def draw(state: Any) -> Any:
            x, w, count = state
            return x[np.searchsorted(w.cumsum(0), grid)], 0.0 * w + 1 / size, count + 1.0

        def body(state: Any, given: Any) -> Any:
            x, w, count, mean = state
            seen, noise = given
            x = 0.9 * x + noise
            w = w * np.exp(-2.0 * (seen - x) ** 2)
            w = w / w.sum()
            mean = mean + (w * x).sum() ** 2
            is_poor = 1 / (w * w).sum() < 0.5 * size
            x, w, count = lib.lax.cond(is_poor, draw, lambda s: s, (x, w, count))
            return (x, w, count, mean), None

        start = (noise[0], 0.0 * noise[0] + 1 / size, np.zeros(()), np.zeros(()))
        (_, _, count, mean), _ = lib.lax.scan(body, start, (observed, noise))
        return mean, count

    return track


# -- elimination with pivots -------------------------------------------------------------------------------------
def pivoted(lib: Any) -> Program:
    """LU factors of a matrix of order 6 in one array, and the sign of the permutation."""

    def factor(a: Any) -> Any:
        a, sign = a + 0.0, 1.0
        for k in range(5):
            p = k
            for i in range(k + 1, 6):
                if abs(a[i, k]) > abs(a[p, k]):
                    p = i
            if p != k:
                top = a[k] + 0.0
                a[k] = a[p]
                a[p] = top
                sign = -sign
            for i in range(k + 1, 6):
                a[i, k] = a[i, k] / a[k, k]
                a[i, k + 1 :] = a[i, k + 1 :] - a[i, k] * a[k, k + 1 :]
        return a, sign

    return factor


def pivoted_lax(lib: Any) -> Program:
    np = lib.np

    def factor(a: Any) -> Any:
        columns = np.arange(6)

        def body(k: Any, state: Any) -> Any:
            a, sign = state
            p = np.argmax(np.where(columns >= k, abs(a[:, k]), -1.0))
            top, low = a[k], a[p]
            a = put(put(a, k, low), p, top)
            factors = np.where(columns > k, a[:, k] / a[k, k], 0.0)
            a = a - factors[:, None] * np.where(columns >= k, a[k], 0.0)
            a = a + factors[:, None] * (columns == k)
            return a, np.where(p != k, -sign, sign)

        return lib.lax.fori_loop(0, 5, body, (a, np.ones(())))

    return factor


def data(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def diagonal(seed: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    return data(seed).standard_normal((8, 8)) + scale * np.eye(8), data(seed + 9).standard_normal(8)


def chain(seed: int) -> tuple[np.ndarray, ...]:
    return (
        data(seed).standard_normal(4),
        data(seed + 1).standard_normal((50, 4)),
        data(seed + 2).uniform(size=50),
    )


def series(seed: int) -> tuple[np.ndarray, ...]:
    random = data(seed)
    return random.standard_normal(40), 0.5 * random.standard_normal((40, 32)), (np.arange(32) + 0.5) / 32


def numbers(*values: float) -> tuple[np.ndarray, ...]:
    return tuple([np.array(v) for v in values])


PROGRAMS = {
    "adaptive": Decider(
        "Dormand-Prince solver of van der Pol's equation, adaptive steps by Python's `while` and `if`",
        adaptive,
        adaptive_lax,
        (np.array([2.0, 0.0]), np.array(5.0)),
        ((np.array([2.0, 0.0]), np.array(8.0)), (np.array([0.5, 1.0]), np.array(0.5))),
        tolerance=1e-6,
    ),
    "newton": Decider(
        "Newton's method with a line search by Python's `while`, 3 unknowns",
        newton,
        newton_lax,
        (normals(12, 3), 10 * normals(12)),
        ((normals(12, 3), 3 * normals(12)), (normals(12, 3) - 1, 30 * normals(12))),
        tolerance=1e-8,
    ),
    "hamiltonian": Decider(
        "Hamiltonian Monte Carlo, 50 draws accepted by Python's `if`",
        hamiltonian,
        hamiltonian_lax,
        chain(0),
        (chain(1), chain(2)),
    ),
    "bisection": Decider(
        "bisection of Kepler's equation by Python's `while` and `if`",
        bisection,
        bisection_lax,
        numbers(0.7, 0.3),
        (numbers(2.0, 0.9), numbers(0.1, 0.5)),
    ),
    "gauss_seidel": Decider(
        "Gauss and Seidel's iteration in place until it converges, order 8",
        gauss_seidel,
        gauss_seidel_lax,
        diagonal(0, 10.0),
        (diagonal(1, 30.0), diagonal(2, 12.0)),
        tolerance=1e-8,
    ),
    "simpson": Decider(
        "Simpson's rule by a recursion in Python where it is not exact enough",
        simpson,
        simpson_lax,
        numbers(4.0),
        (numbers(1.0), numbers(20.0), numbers(0.1)),
    ),
    "particles": Decider(
        "particle filter, 40 times of 32 particles, drawn anew by Python's `if`",
        particles,
        particles_lax,
        series(0),
        (series(1), series(2)),
        tolerance=1e-8,
    ),
    "pivoted": Decider(
        "LU factors of order 6 with pivots found by Python's `if`",
        pivoted,
        pivoted_lax,
        (normals(6, 6),),
        ((normals(6, 6).T,), (np.eye(6)[::-1] + 0.1,)),
    ),
}


def enter(name: str, program: Decider) -> None:
    """Enter the line of a program: Python's form in each library that can run it, and the one by `lax`."""
    numba = " numba:jit" * (name in COMPILED)

    def contenders(quick: bool) -> Contenders:
        return {
            **functional(program.python, *program.arguments, by="fxgrad fxgrad:follow torch.func" + numba),
            **functional(program.lax, *program.arguments, by="fxgrad:jit jax:jit"),
        }

    contenders.__name__, contenders.__doc__ = f"follow_{name}", program.title
    line(tolerance=program.tolerance)(contenders)


for name, program in PROGRAMS.items():
    enter(name, program)
