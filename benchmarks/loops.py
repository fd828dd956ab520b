"""Loops whose steps are small, and random draws, as research code has them, beside `jax.jit`.

Decides what of a loop must be machine code: where a step is a handful of numbers, every call of NumPy takes longer than
the arithmetic of a step. The aim: one and a half times JAX's time, in values and in derivatives.
"""

import measure  # isort: skip  (it sets the number of threads)

import argparse
import re
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

SECONDS = 0.5  # in which a program becomes warm
Program = Callable[[Any], tuple[Callable, tuple]]
PROGRAMS: dict[str, Program] = {}
DRAWS = frozenset[str]()  # programs whose numbers are those of the library's generator


def program(name: str, random: bool = False) -> Callable[[Program], Program]:
    """Enter a program: a function of a library that gives a function to be jitted, and its arguments."""

    def enter(make: Program) -> Program:
        global DRAWS
        PROGRAMS[name] = make
        DRAWS = DRAWS | {name} if random else DRAWS
        return make

    return enter


def normals(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape) / 4


# -- numbers ------------------------------------------
LONG, ROWS = 100_000, 10_000


@program("fori: logistic map, 1e5")
def logistic_map(x: Any) -> tuple:
    return lambda v: x.lax.fori_loop(0, LONG, lambda i, v: 3.2 * v * (1 - v), v), (np.float64(0.3),)


@program("fori: Newton's root, 1e5")
def newton_root(x: Any) -> tuple:
    return lambda a: x.lax.fori_loop(0, LONG, lambda i, v: v - (v * v - a) / (2 * v), a), (np.float64(2.0),)


@program("fori: sum of sines, 1e5")
def sum_of_sines(x: Any) -> tuple:
    return lambda s: x.lax.fori_loop(0, LONG, lambda i, t: t + x.np.sin(i * s), 0.0 * s), (np.float64(0.1),)


@program("fori: integers, 1e5")
def congruential(x: Any) -> tuple:
    def step(i, v):
        return (v * 1103515245 + 12345 + i) % 2147483648

    return lambda v: x.lax.fori_loop(0, LONG, step, v), (np.int64(7),)


@program("fori: where, 1e5")
def collatz_where(x: Any) -> tuple:
    def step(i, v):
        return x.np.where(v % 2 == 0, v // 2, 3 * v + 1)

    return lambda v: x.lax.fori_loop(0, LONG, step, v), (np.int64(27),)


@program("fori: cond, 1e5")
def collatz_cond(x: Any) -> tuple:
    def step(i, v):
        return x.lax.cond(v % 2 == 0, lambda v: v // 2, lambda v: 3 * v + 1, v)

    return lambda v: x.lax.fori_loop(0, LONG, step, v), (np.int64(27),)


@program("while: number, 1e5")
def while_number(x: Any) -> tuple:
    def run(v: Any) -> Any:
        return x.lax.while_loop(lambda s: s[1] < LONG, lambda s: (x.np.cos(s[0]), s[1] + 1), (v, np.int64(0)))

    return run, (np.float64(0.5),)


@program("while: traced bounds, 1e5")
def fori_traced(x: Any) -> tuple:
    return lambda n, v: x.lax.fori_loop(0, n, lambda i, v: 3.2 * v * (1 - v), v), (
        np.int64(LONG),
        np.float64(0.3),
    )


def fixed_point(size: int) -> Program:
    def make(x: Any) -> tuple:
        a, b = normals(size, size) / size**0.5, normals(size)

        def run(a: Any, b: Any) -> Any:
            state = (x.np.zeros_like(b), x.np.ones_like(b), 0)

            def go(s):
                return (x.np.max(x.np.abs(s[0] - s[1])) > 1e-30) & (s[2] < 1000)

            return x.lax.while_loop(go, lambda s: (x.np.tanh(a @ s[0] + b), s[0], s[2] + 1), state)[0]

        return run, (a, b)

    return make


program("while: fixed point of 10")(fixed_point(10))
program("while: fixed point of 100")(fixed_point(100))


@program("while: Newton, conjugate gradients")
def newton_cg(x: Any) -> tuple:
    a = normals(10, 10)
    a = a @ a.T + np.eye(10)

    def run(a: Any, b: Any) -> Any:
        def gradient(v: Any) -> Any:
            return a @ v + v**3 - b

        def conjugate_gradients(v: Any, g: Any) -> Any:
            def step(s: tuple) -> tuple:
                p, r, d, rr, k = s
                ad = a @ d + 3 * v**2 * d
                alpha = rr / (d @ ad)
                p, r = p + alpha * d, r - alpha * ad
                new = r @ r
                return p, r, r + new / rr * d, new, k + 1

            start = (x.np.zeros_like(g), g, g, g @ g, 0)
            return x.lax.while_loop(lambda s: (s[3] > 1e-20) & (s[4] < 20), step, start)[0]

        def step(s: tuple) -> tuple:
            v, k = s
            return v - conjugate_gradients(v, gradient(v)), k + 1

        def go(s):
            return (x.np.max(x.np.abs(gradient(s[0]))) > 1e-8) & (s[1] < 50)

        return x.lax.while_loop(go, step, (b, 0))[0]

    return run, (a, normals(10))


@program("while: Newton of 64 by vmap")
def batched_newton(x: Any) -> tuple:
    def root(a: Any) -> Any:
        def go(s):
            return (abs(s[0] * s[0] - a) > 1e-12) & (s[1] < 100)

        return x.lax.while_loop(go, lambda s: (s[0] - (s[0] * s[0] - a) / (2 * s[0]), s[1] + 1), (a, 0))[0]

    return x.vmap(root), (np.linspace(2.0, 1e6, 64),)


# -- rows ------------------------------------------
@program("scan: numbers, 1e5")
def scan_numbers(x: Any) -> tuple:
    def run(xs: Any) -> Any:
        def step(c, v):
            return (0.9 * c + x.np.tanh(v), c * v)

        return x.lax.scan(step, 0.0, xs)

    return run, (normals(LONG),)


def kalman(x: Any) -> tuple[Callable, tuple]:
    f, h = np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4)
    q, r = 0.01 * np.eye(4), 0.1 * np.eye(2)

    def run(ys: Any) -> Any:
        def step(state: tuple, y: Any) -> tuple:
            m, p = state
            m, p = f @ m, f @ p @ f.T + q
            s = h @ p @ h.T + r
            gain = x.np.linalg.solve(s, h @ p).T
            m = m + gain @ (y - h @ m)
            return (m, p - gain @ h @ p), m

        return x.lax.scan(step, (np.zeros(4), np.eye(4)), ys)

    return run, (normals(1000, 2),)


program("scan: Kalman filter, 1e3")(kalman)


@program("scan: matrices of 4 × 4, 1e4")
def matrices(x: Any) -> tuple:
    f, q = np.eye(4) * 0.9 + 0.1 * np.eye(4, k=1), 0.01 * np.eye(4)

    def run(us: Any) -> Any:
        def step(state: tuple, u: Any) -> tuple:
            m, p = state
            return (f @ m + u, f @ p @ f.T + q), x.np.trace(p)

        return x.lax.scan(step, (np.zeros(4), np.eye(4)), us)

    return run, (normals(ROWS, 4),)


def recurrent(x: Any) -> tuple[Callable, tuple]:
    def run(w: Any, u: Any, xs: Any) -> Any:
        def step(h: Any, v: Any) -> tuple:
            h = x.np.tanh(w @ h + u @ v)
            return h, x.np.sum(h * h)

        return x.np.sum(x.lax.scan(step, np.zeros(8), xs)[1])

    return run, (normals(8, 8), normals(8, 3), normals(1000, 3))


program("scan: recurrent network, 1e3")(recurrent)


def lstm(x: Any) -> tuple[Callable, tuple]:
    def sigmoid(v):
        return 1 / (1 + x.np.exp(-v))

    def run(w: Any, xs: Any) -> Any:
        def step(state: tuple, v: Any) -> tuple:
            h, c = state
            gates = w @ x.np.concatenate([h, v])
            i, f, g, o = x.np.split(gates, 4)
            c = sigmoid(f) * c + sigmoid(i) * x.np.tanh(g)
            h = sigmoid(o) * x.np.tanh(c)
            return (h, c), h

        return x.np.sum(x.lax.scan(step, (np.zeros(8), np.zeros(8)), xs)[1] ** 2)

    return run, (normals(32, 12), normals(300, 4))


program("scan: LSTM of 8, 300")(lstm)


def runge_kutta(x: Any) -> tuple[Callable, tuple]:
    def field(v: Any) -> Any:
        return x.np.stack([10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]])

    def run(v: Any) -> Any:
        def step(v: Any, _: None) -> tuple:
            h = 0.01
            k1 = field(v)
            k2 = field(v + h / 2 * k1)
            k3 = field(v + h / 2 * k2)
            k4 = field(v + h * k3)
            v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return v, v

        return x.lax.scan(step, v, None, length=1000)

    return run, (np.array([1.0, 1.0, 1.0]),)


program("scan: Lorenz by Runge-Kutta, 1e3")(runge_kutta)


@program("scan: forward algorithm, 1e3")
def forward_algorithm(x: Any) -> tuple:
    def run(start: Any, transition: Any, emission: Any, seen: Any) -> Any:
        def step(alpha: Any, o: Any) -> tuple:
            alpha = (alpha @ transition) * emission[:, o]
            total = x.np.sum(alpha)
            return alpha / total, x.np.log(total)

        return x.np.sum(x.lax.scan(step, start, seen)[1])

    t, e = np.abs(normals(6, 6)) + 0.1, np.abs(normals(6, 5)) + 0.1
    seen = np.random.default_rng(0).integers(0, 5, 1000)
    return run, (np.full(6, 1 / 6), t / t.sum(1, keepdims=True), e / e.sum(1, keepdims=True), seen)


@program("scan: Viterbi, 1e3")
def viterbi(x: Any) -> tuple:
    def run(transition: Any, scores: Any) -> Any:
        def step(best: Any, score: Any) -> tuple:
            every = best[:, None] + transition
            return x.np.max(every, axis=0) + score, x.np.argmax(every, axis=0)

        best, back = x.lax.scan(step, scores[0], scores[1:])
        last = x.np.argmax(best)
        return x.lax.scan(lambda s, row: (row[s], s), last, back, reverse=True)

    return run, (normals(6, 6), normals(1001, 6))


@program("fori: table in the carry, 1e4")
def table(x: Any) -> tuple:
    def run(v: Any) -> Any:
        def step(i: Any, v: Any) -> Any:
            k = i % 63 + 1
            return x.at(v, k, 0.5 * (v[k - 1] + v[k]))

        return x.lax.fori_loop(0, ROWS, step, v)

    return run, (normals(64),)


@program("fori: bubble of the largest, 1e3")
def sorted_beam(x: Any) -> tuple:
    def run(scores: Any) -> Any:
        def step(beam: Any, row: Any) -> tuple:
            every = x.np.sort((beam[:, None] + row[None, :]).reshape(-1))
            return every[-4:], x.np.argmax(every)

        return x.lax.scan(step, np.zeros(4), scores)

    return run, (normals(1000, 5),)


@program("scan: loop in a loop")
def nested(x: Any) -> tuple:
    def run(v: Any, xs: Any) -> Any:
        def step(c: Any, u: Any) -> tuple:
            c = x.lax.fori_loop(0, 10, lambda i, c: c + 0.1 * x.np.sin(c + u), c)
            return c, c

        return x.lax.scan(step, v, xs)

    return run, (np.zeros(4), normals(1000, 4))


# -- random numbers ------------------------------------------
def draw(name: str, function: Callable[[Any, Any], Any], mapped: int = 32) -> None:
    """Enter a draw for one key, for keys under vmap, and in a scan."""
    program(f"{name}: 1 key", random=True)(lambda x: (lambda key: function(x, key), (x.key,)))
    program(f"{name}: {mapped} keys", random=True)(
        lambda x: (x.vmap(lambda key: function(x, key)), (x.random.split(x.key, mapped),))
    )

    def scanned(x: Any) -> tuple:
        def run(key: Any) -> Any:
            def step(key: Any, _: None) -> tuple:
                key, mine = x.random.split(key)
                return key, function(x, mine)

            return x.lax.scan(step, key, None, length=1000)[1]

        return run, (x.key,)

    program(f"{name}: scan, 1e3", random=True)(scanned)


draw("split", lambda x, key: x.random.split(key))
draw("fold_in", lambda x, key: x.random.fold_in(key, 7))
draw("normal", lambda x, key: x.random.normal(key, (10,)))
draw("uniform", lambda x, key: x.random.uniform(key, (10,)))
draw("bernoulli", lambda x, key: x.random.bernoulli(key, 0.3, (10,)))
draw("categorical", lambda x, key: x.random.categorical(key, np.log(np.arange(1.0, 6.0))))
draw("gamma", lambda x, key: x.random.gamma(key, 2.5, (4,)))
draw("permutation", lambda x, key: x.random.permutation(key, 10))


def hamiltonian(x: Any) -> tuple[Callable, tuple]:
    def potential(q: Any) -> Any:
        return 0.5 * x.np.sum(q * q / np.arange(1.0, 6.0)) + 0.25 * x.np.sum(q[1:] * q[:-1]) ** 2

    force = x.grad(potential)

    def chain(key: Any) -> Any:
        def leapfrog(i: Any, state: tuple) -> tuple:
            q, p = state
            p = p - 0.05 * force(q)
            q = q + 0.1 * p
            return q, p - 0.05 * force(q)

        def step(q: Any, key: Any) -> tuple:
            first, second = x.random.split(key)
            p = x.random.normal(first, (5,))
            new, end = x.lax.fori_loop(0, 10, leapfrog, (q, p))
            change = potential(q) + 0.5 * x.np.sum(p * p) - potential(new) - 0.5 * x.np.sum(end * end)
            accepted = x.np.log(x.random.uniform(second)) < change
            q = x.np.where(accepted, new, q)
            return q, q

        return x.lax.scan(step, np.zeros(5), x.random.split(key, 200))[1]

    return x.vmap(chain), (x.random.split(x.key, 32),)


program("HMC: 32 chains, 200 samples", random=True)(hamiltonian)


@program("Metropolis: cond, 1e4", random=True)
def metropolis(x: Any) -> tuple:
    def run(key: Any) -> Any:
        def log_density(v):
            return -0.5 * v * v + x.np.log1p(v * v)

        def step(state: tuple, _: None) -> tuple:
            v, key = state
            key, first, second = x.random.split(key, 3)
            new = v + x.random.normal(first)
            accept = x.np.log(x.random.uniform(second)) < log_density(new) - log_density(v)
            v = x.lax.cond(accept, lambda: new, lambda: v)
            return (v, key), v

        return x.lax.scan(step, (0.0, key), None, length=ROWS)[1]

    return run, (x.key,)


# -- derivatives ------------------------------------------
def derived(name: str, make: Program, reduce: Callable[[Any, Any], Any] = lambda x, v: v) -> None:
    """Enter the gradient of a program in its first argument."""

    def gradient(x: Any) -> tuple:
        run, args = make(x)
        return x.grad(lambda *a: reduce(x, run(*a))), args

    program(f"grad of {name}")(gradient)


def tangent(name: str, make: Program) -> None:
    """Enter the forward derivative of a program along its first argument."""

    def moved(x: Any) -> tuple:
        run, args = make(x)
        return lambda *a: x.jvp(lambda v: run(v, *a[1:]), (a[0],), (a[0],)), args

    program(f"jvp of {name}")(moved)


derived("fori: logistic map, 1e5", logistic_map)
derived("fori: sum of sines, 1e5", sum_of_sines)
derived("scan: numbers, 1e5", scan_numbers, lambda x, v: x.np.sum(v[1]))
derived("scan: recurrent network, 1e3", recurrent)
derived("scan: LSTM of 8, 300", lstm)
derived("scan: Kalman filter, 1e3", kalman, lambda x, v: x.np.sum(v[1]))
derived("scan: Lorenz by Runge-Kutta, 1e3", runge_kutta, lambda x, v: x.np.sum(v[1][-1]))
derived("scan: loop in a loop", nested, lambda x, v: x.np.sum(v[1]))
tangent("fori: logistic map, 1e5", logistic_map)
tangent("scan: Lorenz by Runge-Kutta, 1e3", runge_kutta)
tangent("while: Newton, conjugate gradients", newton_cg)


def ours() -> Any:
    return SimpleNamespace(
        np=fnp, lax=lax, random=fx.random, vmap=fx.vmap, grad=fx.grad, jvp=fx.jvp, key=fx.random.key(0),
        at=lambda v, k, new: fnp.at(v)[k].set(new),
    )  # fmt: skip


def theirs(jax: Any) -> Any:
    return SimpleNamespace(
        np=jax.numpy, lax=jax.lax, random=jax.random, vmap=jax.vmap, grad=jax.grad, jvp=jax.jvp,
        key=jax.random.key(0), at=lambda v, k, new: v.at[k].set(new),
    )  # fmt: skip


def contenders(name: str, eager: bool) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    run, args = PROGRAMS[name](ours())
    jitted = fx.jit(run)
    runs: dict[str, Callable[[], Any]] = {"fxgrad jit": lambda: jitted(*args)}
    if eager:
        runs["fxgrad"] = lambda: run(*args)
    peers = measure.peers("jax")
    if "jax" in peers:
        jax = peers["jax"]
        function, operands = PROGRAMS[name](theirs(jax))
        compiled, operands = jax.jit(function), jax.tree.map(jax.numpy.asarray, operands)
        runs["jax jit"] = lambda: jax.block_until_ready(compiled(*operands))
    return runs


def warm_up(runs: dict[str, Callable[[], Any]]) -> None:
    """Call everything until machine code has been made."""
    for run in runs.values():
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            run()


def check(name: str, runs: dict[str, Callable[[], Any]]) -> None:
    """Raise unless all contenders give the same."""
    expected = fx.tree.leaves(runs["fxgrad jit"]())
    for other in () if name in DRAWS else runs.values():
        for a, b in zip(fx.tree.leaves(other()), expected, strict=True):
            if b.dtype.kind == "V":  # float0, which has no data
                continue
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6, atol=1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression: the programs to be timed")
    parser.add_argument("--eager", action="store_true", help="time the un-jitted programs as well")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    for name in PROGRAMS:
        if not re.search(given.only, name):
            continue
        runs = contenders(name, given.eager)
        warm_up(runs)
        check(name, runs)
        seconds = measure.medians(runs, given.rounds)
        peer = seconds.get("jax jit", seconds["fxgrad jit"])
        line = "".join(f"{k} {1e6 * t:9.0f} µs   " for k, t in seconds.items())
        ratios = "  ".join(f"{seconds[k] / peer:7.2f}" for k in seconds if k != "jax jit")
        print(f"{name:42} {line} × JAX: {ratios}", flush=True)


if __name__ == "__main__":
    main()
