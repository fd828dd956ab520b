"""Research programs of biology and medicine: folding, epidemics, genealogies, trees, kinetics of populations."""

import itertools

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.stats

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, optim, random
from fxgrad.scipy import stats
from fxgrad.scipy.linalg import expm
from fxgrad.scipy.special import gammaln, logsumexp, xlogy
from tests.research.reference import differences


def test_folding():
    """A toy protein of beads: torsions to coordinates by natural extension, folded by annealed Langevin dynamics."""
    kinds = np.array([1, 0, 0, 1, 0, 0, 1, 0, 0, 1])
    n = len(kinds)

    def place(carry, torsion):
        a, b, c = carry
        bc = (c - b) / fnp.linalg.norm(c - b)
        normal = fnp.cross(b - a, bc)
        normal = normal / fnp.linalg.norm(normal)
        frame = fnp.stack([bc, fnp.cross(normal, bc), normal], axis=1)
        theta = np.deg2rad(105.0)
        d = frame @ fnp.array(
            [-np.cos(theta), np.sin(theta) * fnp.cos(torsion), np.sin(theta) * fnp.sin(torsion)]
        )
        return (b, c, c + d), c + d

    def fold(torsions):
        start = np.array([[0.0, 1, 0], [0, 0, 0], [1, 0, 0]])
        _, rest = lax.scan(place, tuple(start), torsions)
        return fnp.concatenate([start, rest])

    def energy(torsions):
        x = fold(torsions)
        i, j = np.triu_indices(n, 3)
        r2 = fnp.sum((x[i] - x[j]) ** 2, axis=1)
        both = kinds[i] * kinds[j]
        return fnp.sum(4 * (0.8 / r2**6 - both / r2**3)) + fnp.sum(0.1 * (1 + fnp.cos(3 * torsions)))

    torsions = np.linspace(2.6, 3.6, n - 3)
    x = fold(torsions)
    np.testing.assert_allclose(np.linalg.norm(np.diff(x, axis=0), axis=1), 1)
    np.testing.assert_allclose(fx.grad(energy)(torsions), differences(energy, torsions), rtol=1e-5, atol=1e-6)

    @fx.jit
    def anneal(key, torsions):
        def step(t, state):
            torsions, key = state
            key, sub = random.split(key)
            temperature = 0.5 * (1 - t / 300)
            force = fnp.clip(fx.grad(energy)(torsions), -50, 50)
            return torsions - 0.005 * force + fnp.sqrt(2 * 0.005 * temperature) * random.normal(
                sub, torsions.shape
            ), key

        return lax.fori_loop(0, 300, step, (torsions, key))[0]

    folded = fx.vmap(anneal, in_axes=(0, None))(random.split(random.key(0), 4), torsions)
    energies = fx.vmap(energy)(folded)
    assert energies.min() < energy(torsions)


def test_epidemic(tmp_path):
    """A SEIR model is fitted to daily cases; parameters and the optimizer's state are saved and resumed exactly."""
    N, days = 1e5, 40

    def rhs(y, t, beta, sigma, gamma):
        S, E, I, R = y
        return fnp.stack([-beta * S * I / N, beta * S * I / N - sigma * E, sigma * E - gamma * I, gamma * I])

    def simulate(theta):
        rates = fnp.exp(theta)
        y0 = fnp.array([N - 20, 0.0, 20.0, 0.0])

        def day(y, t):
            for _ in range(4):
                h = 0.25
                k1 = rhs(y, t, *rates)
                k2 = rhs(y + h / 2 * k1, t, *rates)
                k3 = rhs(y + h / 2 * k2, t, *rates)
                k4 = rhs(y + h * k3, t, *rates)
                y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return y, y

        return lax.scan(day, y0, fnp.arange(days))[1]

    true = np.log([0.9, 0.3, 0.25])
    ode = scipy.integrate.solve_ivp(
        lambda t, y: rhs(y, t, *np.exp(true)),
        (0, days),
        [N - 20, 0, 20, 0],
        t_eval=np.arange(1, days + 1),
        rtol=1e-9,
    )
    np.testing.assert_allclose(simulate(true), ode.y.T, rtol=1e-3)
    cases = np.random.default_rng(0).poisson(ode.y[2])

    def nll(theta):
        mean = simulate(theta)[:, 2]
        return -fnp.sum(xlogy(cases, mean) - mean - gammaln(cases + 1)) / days

    start = true + np.array([0.1, -0.1, 0.1])
    np.testing.assert_allclose(nll(start), -scipy.stats.poisson.logpmf(cases, simulate(start)[:, 2]).mean())
    np.testing.assert_allclose(fx.grad(nll)(start), differences(nll, start, 1e-6), rtol=1e-4)
    opt = optim.chain(optim.scale_by_adam(), optim.scale(-0.01))

    @fx.jit
    def step(theta, state):
        updates, state = opt.update(fx.grad(nll)(theta), state)
        return optim.apply_updates(theta, updates), state

    theta, state = start, opt.init(start)
    for i in range(100):
        theta, state = step(theta, state)
        if i == 49:
            fx.save(tmp_path / "run.npz", {"theta": theta, "state": state})
    saved = fx.load(tmp_path / "run.npz", like={"theta": start, "state": opt.init(start)})
    again, state = saved["theta"], saved["state"]
    for _ in range(50):
        again, state = step(again, state)
    np.testing.assert_array_equal(again, theta)
    np.testing.assert_allclose(np.exp(theta[0] - theta[2]), 0.9 / 0.25, rtol=0.1)


def test_coalescent():
    """The likelihood of coalescence times under exponential growth (Slatkin and Hudson 1991), and its information."""
    k = np.arange(20, 1, -1)
    pairs = k * (k - 1) / 2

    def simulate(size, growth, key):
        def event(t, draw):
            pair, e = draw
            t = fnp.log1p(growth * size * e / pair * fnp.exp(-growth * t)) / growth + t
            return t, t

        return lax.scan(event, 0.0, (pairs, random.exponential(key, (len(k),))))[1]

    def loglik(theta, times):
        size, growth = fnp.exp(theta)
        before = fnp.concatenate([fnp.zeros(1), times[:-1]])
        area = (fnp.exp(growth * times) - fnp.exp(growth * before)) / (growth * size)
        return fnp.sum(fnp.log(pairs / size) + growth * times - pairs * area)

    theta = np.log([2.0, 0.5])
    keys = random.split(random.key(2), 2000)
    times = fx.jit(fx.vmap(lambda key: simulate(2.0, 0.5, key)))(keys)
    scores = fx.vmap(fx.grad(loglik), in_axes=(None, 0))(theta, times)
    np.testing.assert_allclose(
        scores.mean(0) / scores.std(0), 0, atol=4 / np.sqrt(2000)
    )  # the score has mean zero
    information = -fx.vmap(fx.hessian(loglik), in_axes=(None, 0))(theta, times).mean(0)
    np.testing.assert_allclose(information, np.cov(scores.T), rtol=0.1)
    t = times[0]
    area = [
        scipy.integrate.quad(lambda s: np.exp(0.5 * s) / 2, a, b)[0]
        for a, b in zip(np.r_[0, t[:-1]], t, strict=True)
    ]
    np.testing.assert_allclose(loglik(theta, t), np.sum(np.log(pairs / 2) + 0.5 * t - pairs * area))


def test_phylogeny():
    """Felsenstein's pruning (1981) on a tree as nested tuples, under a general reversible model by expm."""
    rng = np.random.default_rng(2)
    tree = ((0, 1), ((2, 3), 4))
    sites = rng.integers(0, 4, (5, 30))
    pi = np.array([0.3, 0.2, 0.2, 0.3])

    def rate_matrix(log_rates):
        S = fnp.at(fnp.zeros((4, 4)))[np.triu_indices(4, 1)].set(fnp.exp(log_rates))
        Q = (S + S.T) * pi
        Q = Q - fnp.diag(Q.sum(1))
        return Q / -fnp.sum(pi * fnp.diag(Q))

    def loglik(params):
        Q = rate_matrix(params["rates"])
        P = fx.vmap(lambda t: expm(Q * t))(fnp.exp(params["branches"]))
        branch = itertools.count()

        def prune(node):
            if isinstance(node, int):
                return fx.nn.one_hot(sites[node], 4)
            left, right = (prune(child) @ P[next(branch)].T for child in node)
            return left * right

        return fnp.sum(fnp.log(prune(tree) @ pi))

    params = {"rates": rng.normal(size=6) * 0.3, "branches": np.log(rng.uniform(0.1, 0.5, 8))}
    value, g = fx.value_and_grad(loglik)(params)
    by_jit = fx.jit(fx.grad(loglik))(params)
    np.testing.assert_allclose(by_jit["branches"], g["branches"], rtol=1e-9)
    for name in params:
        slopes = differences(lambda p: loglik({**params, name: p}), params[name])
        np.testing.assert_allclose(g[name], slopes, atol=1e-7)
    np.testing.assert_allclose(g["rates"].sum(), 0, atol=1e-9)  # the scale of the rates does not matter


def test_reaction_diffusion():
    """Turing patterns of Gray and Scott: the dispersion relation is the spectrum of a Jacobian of the discrete step."""
    n, feed, kill, du, dv = 32, 0.055, 0.062, 0.16, 0.08

    def laplacian(x):
        return fnp.roll(x, 1) + fnp.roll(x, -1) - 2 * x

    def rhs(state, feed=feed):
        u, v = state
        return fnp.stack(
            [
                du * laplacian(u) - u * v * v + feed * (1 - u),
                dv * laplacian(v) + u * v * v - (feed + kill) * v,
            ]
        )

    u0, v0 = np.ones(n), np.zeros(n)
    J = fx.jacfwd(rhs)(np.stack([u0, v0])).reshape(2 * n, 2 * n)
    eigenvalues = np.sort(np.linalg.eigvals(J).real)
    waves = 2 * np.cos(2 * np.pi * np.arange(n) / n) - 2
    expected = np.sort(np.r_[du * waves - feed, dv * waves - feed - kill])
    np.testing.assert_allclose(eigenvalues, expected, atol=1e-9)
    start = np.stack([u0, v0])
    start[:, 12:20] = [[0.5], [0.25]]

    def mass(feed, steps=100):
        return fx.jit(lambda f: lax.fori_loop(0, steps, lambda i, s: s + rhs(s, f), start)[1].sum())(feed)

    slope = fx.jvp(mass, (feed,), (1.0,))[1]
    np.testing.assert_allclose(slope, (mass(feed + 1e-6) - mass(feed - 1e-6)) / 2e-6, rtol=1e-5)
    np.testing.assert_allclose(fx.grad(mass)(feed), slope, rtol=1e-8)


def test_pharmacokinetics():
    """A population model: each patient's effects by Newton inside, the Laplace evidence of the population outside."""
    rng = np.random.default_rng(3)
    t = np.array([0.5, 1, 2, 4, 8])
    patients = 6

    def concentration(effects, theta):
        ka, ke, v = fnp.exp(theta + effects)
        return 10 * ka / (v * (ka - ke)) * (fnp.exp(-ke * t) - fnp.exp(-ka * t))

    theta = np.log([1.5, 0.25, 3.0])
    data = np.stack([concentration(0.2 * rng.normal(size=3), theta) for _ in range(patients)]) * np.exp(
        0.1 * rng.normal(size=(patients, 5))
    )

    def joint(effects, theta, y):
        return fnp.sum(stats.norm.logpdf(fnp.log(y), fnp.log(concentration(effects, theta)), 0.1)) + fnp.sum(
            stats.norm.logpdf(effects, scale=0.2)
        )

    def mode(theta, y):
        def body(_, b):
            g, H = fx.grad(joint)(b, theta, y), fx.hessian(joint)(b, theta, y)
            return b - fnp.linalg.solve(H - 1e-9 * fnp.eye(3), g)

        return lax.fori_loop(0, 15, body, fnp.zeros(3))

    def laplace(theta, y):
        b = mode(theta, y)
        H = -fx.hessian(joint)(b, theta, y)
        return joint(b, theta, y) + 1.5 * np.log(2 * np.pi) - 0.5 * fnp.linalg.slogdet(H)[1]

    total = lambda theta: fx.vmap(laplace, in_axes=(None, 0))(theta, data).sum()
    modes = fx.vmap(mode, in_axes=(None, 0))(theta, data)
    np.testing.assert_allclose(
        fx.vmap(fx.grad(joint), in_axes=(0, None, 0))(modes, theta, data), 0, atol=1e-6
    )
    np.testing.assert_allclose(
        fx.jit(fx.jacfwd(total))(theta), differences(total, theta), rtol=1e-5, atol=1e-5
    )
    draws = scipy.stats.multivariate_normal(
        modes[0], 2 * np.linalg.inv(-fx.hessian(joint)(modes[0], theta, data[0]))
    )
    b = draws.rvs(4000, random_state=0)
    importance = logsumexp(
        fx.vmap(joint, in_axes=(0, None, None))(b, theta, data[0]) - draws.logpdf(b)
    ) - np.log(4000)
    np.testing.assert_allclose(laplace(theta, data[0]), importance, atol=0.05)
