"""Research programs over matrices and tensors: transport, spins, circuits, factorisations."""

import functools
import itertools

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, optim, random
from fxgrad.scipy.special import logsumexp
from tests.research.reference import differences


def test_sinkhorn():
    """Entropic transport by Sinkhorn's iterations in log space; its gradient is the transported displacement."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 2)), rng.normal(size=(9, 2)) + 1
    a, b = np.full(8, 1 / 8), np.full(9, 1 / 9)

    def potentials(C, eps):
        def step(fg, _):
            f, g = fg
            f = eps * (fnp.log(a) - logsumexp((g[None] - C) / eps, axis=1))
            g = eps * (fnp.log(b) - logsumexp((f[:, None] - C) / eps, axis=0))
            return (f, g), None

        return lax.scan(step, (fnp.zeros(8), fnp.zeros(9)), None, length=150)[0]

    def cost(x, eps=0.5):
        C = fnp.sum((x[:, None] - y[None]) ** 2, axis=-1)
        f, g = potentials(C, eps)
        return f @ a + g @ b

    C = ((x[:, None] - y[None]) ** 2).sum(-1)
    f, g = potentials(C, 0.5)
    P = np.exp((f[:, None] + g[None] - C) / 0.5)
    np.testing.assert_allclose(P.sum(1), a, atol=1e-8)
    envelope = 2 * (P.sum(1)[:, None] * x - P @ y)
    np.testing.assert_allclose(fx.jit(fx.grad(cost))(x), envelope, atol=1e-7)
    lp = scipy.optimize.linprog(
        C.ravel(),
        A_eq=np.r_[np.kron(np.eye(8), np.ones(9)), np.kron(np.ones(8), np.eye(9))],
        b_eq=np.r_[a, b],
    ).fun
    assert lp <= np.sum(P * C) <= lp + 0.5 * np.log(72)


def test_unbalanced_transport():
    """Unbalanced transport (Chizat et al. 2018) between masses of different totals, through vmap over the penalties."""
    rng = np.random.default_rng(1)
    C = rng.uniform(size=(5, 6))
    a, b = rng.uniform(size=5), 2 * rng.uniform(size=6)

    def solve(C, rho, eps=0.1):
        K = fnp.exp(-C / eps)

        def body(_, uv):
            u, v = uv
            u = (a / (K @ v)) ** (rho / (rho + eps))
            return u, (b / (K.T @ u)) ** (rho / (rho + eps))

        u, v = lax.fori_loop(0, 400, body, (fnp.ones(5), fnp.ones(6)))
        return u[:, None] * K * v

    kl = lambda p, q: fnp.sum(p * fnp.log(p / q) - p + q)

    def primal(P, C, rho, eps=0.1):
        return fnp.sum(P * C) + rho * (kl(P.sum(1), a) + kl(P.sum(0), b)) + eps * kl(P, fnp.ones_like(P))

    for rho in (0.5, 3.0):
        P = solve(C, rho)
        np.testing.assert_allclose(fx.grad(primal)(P, C, rho), 0, atol=1e-6)
        value = fx.grad(lambda C: primal(solve(C, rho), C, rho))(C)
        np.testing.assert_allclose(value, P, atol=1e-6)  # the envelope theorem
    masses = fx.vmap(lambda rho: solve(C, rho).sum())(np.array([0.1, 0.5, 3.0, 30.0]))
    assert min(a.sum(), b.sum()) * 0.5 < masses[-1] < max(a.sum(), b.sum())


def test_mean_field_spins():
    """The TAP equations of a small spin glass against enumeration; magnetisations as derivatives of log Z."""
    rng = np.random.default_rng(2)
    n = 7
    J = np.triu(rng.normal(size=(n, n)) * 0.12, 1)
    J = J + J.T
    h = rng.normal(size=n) * 0.3
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    log_z = lambda h, J: logsumexp(fnp.einsum("si,ij,sj->s", states, J, states) / 2 + states @ h)
    magnetisation, chi = fx.grad(log_z)(h, J), fx.hessian(log_z)(h, J)
    p = np.exp(states @ h + 0.5 * np.sum(states @ J * states, 1) - log_z(h, J))
    np.testing.assert_allclose(magnetisation, p @ states, atol=1e-12)
    np.testing.assert_allclose(chi, (states.T * p) @ states - np.outer(p @ states, p @ states), atol=1e-12)

    def tap(h):
        def body(_, m):
            onsager = m * (J**2 @ (1 - m**2))
            return 0.5 * m + 0.5 * fnp.tanh(h + J @ m - onsager)

        return lax.fori_loop(0, 200, body, fnp.zeros(n))

    m = fx.jit(tap)(h)
    assert np.abs(m - magnetisation).max() < 0.03
    np.testing.assert_allclose(fx.jacfwd(tap)(h), fx.jacrev(tap)(h), atol=1e-10)
    assert np.abs(fx.jacfwd(tap)(h) - chi).max() < 0.1


def test_contrastive_divergence():
    """A restricted Boltzmann machine is trained by persistent chains; its free energy's gradient is the exact one."""
    rng = np.random.default_rng(3)
    data = (rng.uniform(size=(40, 1)) < 0.5) ^ (rng.uniform(size=(40, 6)) < 0.1)
    data = data.astype(float)

    def free_energy(params, v):
        return -v @ params["a"] - fnp.sum(fx.nn.softplus(v @ params["W"] + params["b"]), axis=-1)

    def gibbs(params, key, v):
        k1, k2 = random.split(key)
        h = random.bernoulli(k1, fx.nn.sigmoid(v @ params["W"] + params["b"])).astype(float)
        return random.bernoulli(k2, fx.nn.sigmoid(h @ params["W"].T + params["a"])).astype(float)

    visible = np.array(list(itertools.product([0.0, 1.0], repeat=6)))
    nll = lambda p: fnp.mean(free_energy(p, data)) + logsumexp(-free_energy(p, visible))
    params = {"W": 0.1 * rng.normal(size=(6, 3)), "a": np.zeros(6), "b": np.zeros(3)}
    np.testing.assert_allclose(
        fx.grad(nll)(params)["W"], differences(lambda W: nll({**params, "W": W}), params["W"]), atol=1e-8
    )
    opt = optim.sgd(0.1, momentum=0.5)

    @fx.jit
    def step(carry, key):
        params, state, chains = carry
        keys = random.split(key, 2)
        for k in keys:
            chains = gibbs(params, k, chains)
        contrast = lambda p: (
            fnp.mean(free_energy(p, data)) - fnp.mean(free_energy(p, lax.stop_gradient(chains)))
        )
        updates, state = opt.update(fx.grad(contrast)(params), state, params)
        return (optim.apply_updates(params, updates), state, chains), None

    before = nll(params)
    (params, _, _), _ = lax.scan(
        step, (params, opt.init(params), data.copy()), random.split(random.key(0), 300)
    )
    assert nll(params) < before - 0.7


def test_swendsen_wang():
    """Swendsen and Wang's clusters on a small Ising lattice, by a while loop, against enumeration."""
    L, beta = 3, 0.3

    def sweep(spins, key):
        k1, k2, k3 = random.split(key, 3)
        p = 1 - np.exp(-2 * beta)
        right = (spins == fnp.roll(spins, -1, axis=1)) & (random.uniform(k1, (L, L)) < p)
        down = (spins == fnp.roll(spins, -1, axis=0)) & (random.uniform(k2, (L, L)) < p)

        def spread(state):
            label, _ = state
            new = label
            for bond, axis in ((right, 1), (down, 0)):
                least = fnp.where(bond, fnp.minimum(new, fnp.roll(new, -1, axis)), new)
                new = fnp.minimum(least, fnp.where(fnp.roll(bond, 1, axis), fnp.roll(least, 1, axis), least))
            return new, fnp.any(new != label)

        labels, _ = lax.while_loop(lambda s: s[1], spread, (fnp.arange(L * L).reshape(L, L), True))
        flips = random.rademacher(k3, (L * L,))
        return flips[labels], None

    def chain(key):
        def step(spins, key):
            spins, _ = sweep(spins, key)
            bonds = spins * fnp.roll(spins, -1, 0) + spins * fnp.roll(spins, -1, 1)
            return spins, (bonds.sum(), spins.sum() ** 2)

        return lax.scan(step, fnp.ones((L, L), int), random.split(key, 400))[1]

    bonds, squared = fx.jit(fx.vmap(chain))(random.split(random.key(1), 20))
    states = np.array(list(itertools.product([-1, 1], repeat=L * L))).reshape(-1, L, L)
    energy = (states * np.roll(states, -1, 1) + states * np.roll(states, -1, 2)).sum((1, 2))
    weight = scipy.special.softmax(beta * energy)
    np.testing.assert_allclose(bonds[:, 20:].mean(), weight @ energy, atol=0.25)
    np.testing.assert_allclose(squared[:, 20:].mean(), weight @ states.sum((1, 2)) ** 2, rtol=0.05)


def test_variational_circuit():
    """A variational eigensolver of the transverse-field Ising chain; its gradient obeys the parameter-shift rule."""
    n, layers = 4, 3
    X, Z, I = np.array([[0, 1], [1, 0]]), np.diag([1, -1]), np.eye(2)
    kron = lambda ops: functools.reduce(np.kron, ops)
    H = -sum(kron([Z if k in (i, i + 1) else I for k in range(n)]) for i in range(n - 1))
    H = H - 0.8 * sum(kron([X if k == i else I for k in range(n)]) for i in range(n))

    def ry(state, theta, k):
        c, s = fnp.cos(theta / 2), fnp.sin(theta / 2)
        gate = fnp.array([[c, -s], [s, c]]).astype(complex)
        return fnp.moveaxis(fnp.tensordot(gate, state, axes=[[1], [k]]), 0, k)

    def cz(state, i, j):
        sign = np.ones((2,) * n)
        index = [slice(None)] * n
        index[i] = index[j] = 1
        sign[tuple(index)] = -1
        return state * sign

    def energy(theta):
        state = fnp.zeros((2,) * n, dtype=complex)
        state[(0,) * n] = 1
        for layer in theta:
            for k in range(n):
                state = ry(state, layer[k], k)
            for k in range(n - 1):
                state = cz(state, k, k + 1)
        psi = state.reshape(-1)
        return fnp.real(fnp.vdot(psi, H @ psi))

    theta = np.random.default_rng(4).normal(size=(layers, n)) * 0.5
    g = fx.jit(fx.grad(energy))(theta)
    shift = lambda i: (energy(theta + np.pi / 2 * i) - energy(theta - np.pi / 2 * i)) / 2
    np.testing.assert_allclose(
        g.ravel(), [shift(e.reshape(layers, n)) for e in np.eye(layers * n)], atol=1e-12
    )
    fit = fx.scipy.optimize.minimize(
        lambda v: energy(v.reshape(layers, n)), theta.ravel(), method="BFGS", options={"maxiter": 80}
    )
    ground = np.linalg.eigvalsh(H)[0]
    assert ground - 1e-9 <= fit.fun < ground + 0.3
    metric = fx.jacrev(fx.grad(energy))(theta).reshape(12, 12)
    np.testing.assert_allclose(metric, metric.T, atol=1e-10)


def test_matrix_completion():
    """A low-rank matrix is completed from some of its entries by alternating least squares under vmap."""
    rng = np.random.default_rng(5)
    m, n, r = 12, 10, 2
    truth = rng.normal(size=(m, r)) @ rng.normal(size=(r, n))
    seen = rng.uniform(size=(m, n)) < 0.6

    def ridge(A, y, w):
        return fnp.linalg.solve((A.T * w) @ A + 1e-9 * fnp.eye(r), A.T @ (w * y))

    def sweep(UV, _):
        U, V = UV
        U = fx.vmap(ridge, in_axes=(None, 0, 0))(V, truth, seen * 1.0)
        V = fx.vmap(ridge, in_axes=(None, 1, 1))(U, truth, seen * 1.0)
        return (U, V), fnp.sum(seen * (U @ V.T - truth) ** 2)

    (U, V), trace = lax.scan(sweep, (rng.normal(size=(m, r)), rng.normal(size=(n, r))), None, length=150)
    assert trace[-1] < 1e-8
    np.testing.assert_allclose(U @ V.T, truth, atol=1e-2)
    nuclear = fx.grad(lambda M: fnp.linalg.norm(M, "nuc"))(truth + 0.1 * rng.normal(size=(m, n)))
    np.testing.assert_allclose(np.linalg.norm(nuclear, 2), 1)


def test_nonnegative_factors():
    """NMF by Lee and Seung's multiplicative updates is a rescaled gradient, which the split of the gradient shows."""
    rng = np.random.default_rng(6)
    V = rng.uniform(size=(8, 3)) @ rng.uniform(size=(3, 9))
    W, H = rng.uniform(size=(8, 3)), rng.uniform(size=(3, 9))
    loss = lambda W, H: 0.5 * fnp.sum((W @ H - V) ** 2)
    step = (W * (V @ H.T) / (W @ H @ H.T)) - W
    np.testing.assert_allclose(step, -W / (W @ H @ H.T) * fx.grad(loss)(W, H))

    def update(i, WH):
        W, H = WH
        W *= (V @ H.T) / (W @ H @ H.T)
        H *= (W.T @ V) / (W.T @ W @ H)
        return W, H

    W, H = fx.jit(lambda W, H: lax.fori_loop(0, 1500, update, (W, H)))(W, H)
    assert np.all(W >= 0) and np.all(H >= 0)
    assert loss(W, H) < 1e-3
    kkt = W * fx.grad(loss)(W, H)
    np.testing.assert_allclose(kkt, 0, atol=1e-3)


def test_tensor_train():
    """A tensor train is fitted to a function on a grid; its truncation by SVD is differentiated."""
    n = 5
    grid = np.linspace(0, 1, n)
    T = 1 / (1 + grid[:, None, None] + grid[None, :, None] + grid[None, None, :])

    def full(cores):
        return fnp.einsum("aib,bjc,ckd->ijk", *cores)

    def tt_svd(T, r):
        U, s, Vt = fnp.linalg.svd(T.reshape(n, -1), full_matrices=False)
        rest = (s[:r, None] * Vt[:r]).reshape(r * n, n)
        U2, s2, Vt2 = fnp.linalg.svd(rest, full_matrices=False)
        return [
            U[:, :r].reshape(1, n, r),
            U2[:, :r].reshape(r, n, r),
            (s2[:r, None] * Vt2[:r]).reshape(r, n, 1),
        ]

    cores = tt_svd(T, 2)
    error = np.linalg.norm(full(cores) - T)
    singular = np.linalg.svd(T.reshape(n, -1), compute_uv=False)
    assert error <= np.sqrt(2) * np.sqrt(np.sum(singular[2:] ** 2)) + 1e-12
    value = lambda T: fnp.sum(full(tt_svd(T, 2)) ** 2)
    noisy = T + 0.1 * np.random.default_rng(7).normal(size=T.shape)
    np.testing.assert_allclose(fx.grad(value)(noisy), differences(value, noisy), atol=1e-6)
    loss = lambda cores: fnp.sum((full(cores) - T) ** 2)
    flat, unravel = fx.flatten_util.ravel_pytree(tt_svd(noisy, 2))
    residual = lambda v: (full(unravel(v)) - T).ravel()
    fit = scipy.optimize.least_squares(residual, flat, jac=fx.jit(fx.jacrev(residual)))
    assert loss(unravel(fit.x)) <= error**2 + 1e-12


def test_riccati():
    """The optimal cost of a linear regulator is differentiated in its dynamics, through a Riccati equation."""
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 1))
    Q, R = np.eye(3), np.eye(1)
    cost = lambda A: fnp.trace(fx.scipy.linalg.solve_continuous_are(A, B, Q, R))
    g = fx.grad(cost)(A)
    P = scipy.linalg.solve_continuous_are(A, B, Q, R)
    closed = A - B @ B.T @ P
    S = scipy.linalg.solve_continuous_lyapunov(closed, -np.eye(3))
    np.testing.assert_allclose(g, 2 * P @ S, rtol=1e-7)
    np.testing.assert_allclose(g, differences(cost, A), rtol=1e-5)
    second = fx.jacfwd(fx.grad(cost))(A).reshape(9, 9)
    np.testing.assert_allclose(second, second.T, rtol=1e-6, atol=1e-7)
