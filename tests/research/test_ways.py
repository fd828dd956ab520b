"""Research programs that lean on one transform: Python's own control flow, per-sample statistics, progress."""

import math

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, random
from tests.research.reference import differences


def test_adaptive_quadrature():
    """Adaptive Simpson with Python's own branches and a stack, compiled by jit(control="follow")."""

    def integrate(a, b, tol=1e-8):
        f = lambda x: fnp.sin(10 * x) / (0.1 + x)
        h = (b - a) / 64
        total = 0.0
        x = a
        while x < b - 1e-12:
            step = h
            for _ in range(6):
                whole = step / 6 * (f(x) + 4 * f(x + step / 2) + f(x + step))
                halves = (
                    step
                    / 12
                    * (
                        f(x)
                        + 4 * f(x + step / 4)
                        + 2 * f(x + step / 2)
                        + 4 * f(x + 3 * step / 4)
                        + f(x + step)
                    )
                )
                if abs(whole - halves) < 15 * tol:
                    break
                step = step / 2
            total = total + halves + (halves - whole) / 15
            x = x + step
        return total

    from scipy.integrate import quad

    exact = quad(lambda x: np.sin(10 * x) / (0.1 + x), 0, 1)[0]
    np.testing.assert_allclose(fx.jit(integrate, control="follow")(0.0, 1.0), exact, atol=1e-6)
    np.testing.assert_allclose(fx.grad(integrate, argnums=1)(0.0, 1.0), np.sin(10) / 1.1, rtol=0.2)


def test_collatz_root():
    """Newton's method with a test of convergence in Python, for a batch by vmap(control="split")."""

    def cube_root(a):
        x = a
        while abs(x**3 - a) > 1e-10 * a:
            x = x - (x**3 - a) / (3 * x**2)
        return x

    a = np.array([0.5, 8.0, 27.0, 1000.0])
    np.testing.assert_allclose(fx.vmap(cube_root, control="split")(a), np.cbrt(a), rtol=1e-9)
    np.testing.assert_allclose(fx.jit(cube_root, control="follow")(27.0), 3.0)
    slopes = fx.vmap(fx.grad(cube_root), control="split")(a)
    np.testing.assert_allclose(slopes, a ** (-2 / 3) / 3, rtol=1e-6)


def test_piecewise_tax():
    """A tax code in Python's branches over incomes: marginal rates are its derivative."""

    def tax(income):
        if income < 10_000:
            return 0.0 * income
        elif income < 40_000:
            return 0.2 * (income - 10_000)
        base = 6_000.0
        return base + 0.4 * (income - 40_000)

    incomes = np.array([5_000.0, 20_000.0, 90_000.0])
    np.testing.assert_allclose(fx.vmap(tax, control="split")(incomes), [0, 2_000, 26_000])
    np.testing.assert_allclose(fx.vmap(fx.grad(tax), control="split")(incomes), [0, 0.2, 0.4])
    np.testing.assert_allclose([fx.jit(fx.grad(tax), control="follow")(x) for x in incomes], [0, 0.2, 0.4])


def test_private_training():
    """Differentially private training clips every example's gradient; the clipped sum agrees with vmap(grad)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    params = {"w": rng.normal(size=(4, 3)), "b": np.zeros(3)}

    def loss(params, x, y):
        return -fx.nn.log_softmax(x @ params["w"] + params["b"])[y]

    grads = fx.vmap(fx.grad(loss), (None, 0, 0))(params, X, y)
    norms = np.sqrt((grads["w"] ** 2).sum((1, 2)) + (grads["b"] ** 2).sum(1))
    np.testing.assert_allclose(fx.per_sample.norms(loss)(params, X, y), norms)
    factor = np.minimum(1, 0.5 / norms)
    clipped = fx.per_sample.clipped_sum(loss, 0.5)(params, X, y)
    np.testing.assert_allclose(clipped["w"], np.einsum("n,nij->ij", factor, grads["w"]))
    fisher = np.einsum("ni,nj->ij", grads["b"], grads["b"])
    np.testing.assert_allclose(np.trace(fisher), (grads["b"] ** 2).sum())


def test_influence():
    """The influence of single examples on a fit (Koh and Liang 2017) by products with the Hessian."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = (rng.uniform(size=60) < 1 / (1 + np.exp(-X @ [1, -1, 0.5]))) * 1.0

    def loss(w, x, y):
        return fnp.logaddexp(0, x @ w) - y * (x @ w) + 0.05 * w @ w

    mean = lambda w, weights: fnp.sum(weights * fx.vmap(loss, (None, 0, 0))(w, X, y)) / 60

    def fit(weights):
        w = np.zeros(3)
        for _ in range(12):
            w = w - np.linalg.solve(fx.hessian(mean)(w, weights), fx.grad(mean)(w, weights))
        return w

    w = fit(np.ones(60))
    hvp = lambda v: fx.jvp(lambda w: fx.grad(mean)(w, np.ones(60)), (w,), (v,))[1]
    target = fx.grad(loss)(w, X[0], y[0])
    s = fx.scipy.sparse.linalg.cg(hvp, target, tol=1e-12)[0]
    influence = -fx.vmap(fx.grad(loss), (None, 0, 0))(w, X, y) @ s / 60
    weights = np.ones(60)
    weights[7] += 1e-3
    actual = (loss(fit(weights), X[0], y[0]) - loss(w, X[0], y[0])) / 1e-3
    np.testing.assert_allclose(influence[7], actual, rtol=1e-2)


def test_progress(capsys):
    """A long simulation reports its progress, and gives what it gives without a report."""

    def step(x, _):
        return 0.9 * x + 1, x

    silent = lax.scan(step, 0.0, None, length=50)
    loud = lax.scan(step, 0.0, None, length=50, progress=True)
    np.testing.assert_array_equal(loud[1], silent[1])
    assert "50" in "".join(capsys.readouterr())
    counted = lax.fori_loop(0, 50, lambda i, x: 0.9 * x + 1, 0.0, progress=True)
    np.testing.assert_allclose(counted, silent[0])


def test_monte_carlo_greeks():
    """Pathwise and likelihood-ratio greeks of an Asian option agree, chunk by chunk, with one key for all."""

    def paths(sigma, key):
        z = random.normal(key, (12,))
        return 100 * fnp.exp(fnp.cumsum(-0.5 * sigma**2 / 12 + sigma * np.sqrt(1 / 12) * z))

    payoff = lambda sigma, key: fnp.maximum(paths(sigma, key).mean() - 100, 0.0)
    keys = random.split(random.key(3), 4000)
    price = lambda sigma: fnp.mean(fx.vmap(payoff, in_axes=(None, 0), chunk_size=500)(sigma, keys))
    vega = fx.grad(price)(0.3)
    np.testing.assert_allclose(vega, (price(0.3 + 1e-6) - price(0.3 - 1e-6)) / 2e-6, rtol=1e-3)

    def score(sigma, key):
        z = random.normal(key, (12,))
        return fnp.sum((z**2 - 1) / sigma - z * np.sqrt(1 / 12))

    ratio = fx.vmap(lambda k: payoff(0.3, k) * score(0.3, k))(keys)
    assert abs(ratio.mean() - vega) < 4 * ratio.std() / math.sqrt(4000)
    gamma = fx.vmap(fx.grad(lambda s, k: paths(s, k).mean()), in_axes=(None, 0))(0.3, keys[:5])
    np.testing.assert_allclose(
        gamma, [differences(lambda s: paths(s, k).mean(), np.array(0.3)) for k in keys[:5]], rtol=1e-6
    )


def test_laplace_operator():
    """The kinetic energy of a trial wave function by the Laplacian, and its variational Monte Carlo energy."""

    def log_psi(a, x):
        return -a * fnp.sqrt(fnp.sum(x**2))

    def local_energy(a, x):
        g = fx.grad(log_psi, argnums=1)(a, x)
        lap = fnp.trace(fx.hessian(log_psi, argnums=1)(a, x))
        return -0.5 * (lap + g @ g) - 1 / fnp.sqrt(fnp.sum(x**2))

    x = np.random.default_rng(2).normal(size=(20, 3))
    energies = fx.vmap(local_energy, in_axes=(None, 0))(1.0, x)
    np.testing.assert_allclose(energies, -0.5, atol=1e-12)  # the hydrogen atom
    r = np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(fx.vmap(local_energy, (None, 0))(0.8, x), -0.5 * 0.64 + (0.8 - 1) / r)
    lap = fx.vmap(lambda x: fx.laplacian(lambda x: log_psi(0.8, x))(x))(x)
    np.testing.assert_allclose(lap, -0.8 * 2 / r)
