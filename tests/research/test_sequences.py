"""Research programs over sequences: state spaces, alignments, labels."""

import itertools

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.scipy.special import logsumexp
from tests.research.reference import differences


def test_kalman_smoother():
    """The Rauch-Tung-Striebel smoother agrees with the joint Gaussian, and its likelihood is differentiated."""
    rng = np.random.default_rng(0)
    T, dt = 12, 0.5
    F, H = np.array([[1, dt], [0, 1]]), np.array([[1.0, 0.0]])
    Q0 = np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    ys = np.cumsum(rng.normal(size=(T, 1)), 0)

    def smooth(theta):
        q, r = fnp.exp(theta)
        Q, R = q * Q0, r * fnp.eye(1)

        def forward(carry, y):
            m, P = carry
            m_, P_ = F @ m, F @ P @ F.T + Q
            S = H @ P_ @ H.T + R
            K = fnp.linalg.solve(S, H @ P_).T
            e = y - H @ m_
            m, P = m_ + K @ e, P_ - K @ S @ K.T
            ll = -0.5 * (e @ fnp.linalg.solve(S, e) + fnp.linalg.slogdet(2 * np.pi * S)[1])
            return (m, P), (m, P, m_, P_, ll)

        _, (m, P, m_, P_, ll) = lax.scan(forward, (fnp.zeros(2), fnp.eye(2)), ys)

        def backward(carry, x):
            ms, Ps = carry
            m, P, m1, P1 = x
            G = fnp.linalg.solve(P1, F @ P).T
            ms, Ps = m + G @ (ms - m1), P + G @ (Ps - P1) @ G.T
            return (ms, Ps), ms

        _, means = lax.scan(backward, (m[-1], P[-1]), (m[:-1], P[:-1], m_[1:], P_[1:]), reverse=True)
        return fnp.concatenate([means, m[-1:]]), ll.sum()

    theta = np.log([0.5, 0.2])
    means, ll = fx.jit(smooth)(theta)
    covariances, cross = [np.eye(2)], None
    for _ in range(T):
        covariances.append(F @ covariances[-1] @ F.T + 0.5 * Q0)
    joint = np.zeros((2 * T, 2 * T))
    for i, j in itertools.product(range(T), range(T)):
        cross = np.linalg.matrix_power(F, abs(i - j)) @ covariances[min(i, j) + 1]
        joint[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = cross if i >= j else cross.T
    big = np.kron(np.eye(T), H)
    S = big @ joint @ big.T + 0.2 * np.eye(T)
    np.testing.assert_allclose(means.ravel(), joint @ big.T @ np.linalg.solve(S, ys[:, 0]), atol=1e-9)
    y = ys[:, 0]
    np.testing.assert_allclose(ll, -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2 * np.pi * S)[1]))
    g = fx.grad(lambda t: smooth(t)[1])(theta)
    np.testing.assert_allclose(g, differences(lambda t: smooth(t)[1], theta), rtol=1e-6)
    np.testing.assert_allclose(
        fx.jacrev(lambda t: smooth(t)[0])(theta), fx.jacfwd(lambda t: smooth(t)[0])(theta), atol=1e-10
    )


def test_hidden_markov():
    """Posterior marginals of a hidden Markov model are the gradient of its log partition function."""
    rng = np.random.default_rng(1)
    K, T = 3, 6
    logA = np.log(rng.dirichlet(np.ones(K), K))
    emission = rng.normal(size=(T, K))

    def log_z(emission, logA):
        step = lambda alpha, e: (logsumexp(alpha[:, None] + logA, axis=0) + e, None)
        return logsumexp(lax.scan(step, emission[0], emission[1:])[0])

    def score(path):
        return sum(emission[t, s] for t, s in enumerate(path)) + sum(
            logA[a, b] for a, b in itertools.pairwise(path)
        )

    paths = list(itertools.product(range(K), repeat=T))
    weights = np.exp([score(p) for p in paths])
    np.testing.assert_allclose(log_z(emission, logA), np.log(weights.sum()))
    marginals = np.zeros((T, K))
    pairs = np.zeros((K, K))
    for p, w in zip(paths, weights / weights.sum(), strict=True):
        marginals[np.arange(T), p] += w
        np.add.at(pairs, (p[:-1], p[1:]), w)
    by_grad = fx.jit(fx.grad(log_z, argnums=(0, 1)))(emission, logA)
    np.testing.assert_allclose(by_grad[0], marginals, atol=1e-12)
    np.testing.assert_allclose(by_grad[1], pairs, atol=1e-12)
    tropical = lambda e: lax.scan(lambda a, x: (fnp.max(a[:, None] + logA, axis=0) + x, None), e[0], e[1:])[
        0
    ].max()
    viterbi = fx.grad(tropical)(emission)
    np.testing.assert_array_equal(viterbi.argmax(1), paths[int(np.argmax(weights))])


def test_conditional_random_field():
    """A linear-chain CRF in parallel form: an associative scan of log-space matrix products, batched by vmap."""
    rng = np.random.default_rng(2)
    transitions, unary = rng.normal(size=(4, 4)), rng.normal(size=(3, 9, 4))
    labels = rng.integers(0, 4, (3, 9))

    def log_z(transitions, unary):
        matrices = transitions + unary[1:, None, :]
        combine = lambda a, b: logsumexp(a[..., :, :, None] + b[..., None, :, :], axis=-2)
        total = lax.associative_scan(combine, matrices)[-1]
        return logsumexp(unary[0][:, None] + total)

    def nll(transitions, unary, labels):
        score = (
            fnp.take_along_axis(unary, labels[:, None], axis=1).sum()
            + transitions[labels[:-1], labels[1:]].sum()
        )
        return log_z(transitions, unary) - score

    batch = lambda transitions: fx.vmap(nll, in_axes=(None, 0, 0))(transitions, unary, labels).mean()

    def sequential(transitions):
        total = 0.0
        for u, y in zip(unary, labels, strict=True):
            a = u[0]
            for e in u[1:]:
                a = np.logaddexp.reduce(a[:, None] + transitions, axis=0) + e
            total += np.logaddexp.reduce(a) - u[np.arange(9), y].sum() - transitions[y[:-1], y[1:]].sum()
        return total / 3

    np.testing.assert_allclose(batch(transitions), sequential(transitions))
    np.testing.assert_allclose(
        fx.jit(fx.grad(batch))(transitions), differences(sequential, transitions), atol=1e-8
    )
    np.testing.assert_allclose(fx.grad(sequential)(transitions), fx.grad(batch)(transitions), atol=1e-12)


def test_ctc():
    """Connectionist temporal classification (Graves 2006) by a scan, against the sum over alignments."""
    rng = np.random.default_rng(3)
    T, V, labels = 5, 3, np.array([1, 2, 2])
    logits = rng.normal(size=(T, V))
    extended = np.zeros(2 * len(labels) + 1, int)
    extended[1::2] = labels
    skip = np.r_[False, False, (extended[2:] != 0) & (extended[2:] != extended[:-2])]

    def loss(logits):
        logp = fx.nn.log_softmax(logits, axis=-1)[:, extended]
        start = fnp.at(fnp.full(len(extended), -np.inf))[:2].set(logp[0, :2])

        def step(alpha, p):
            shifted = fnp.concatenate([fnp.array([-np.inf]), alpha[:-1]])
            jumped = fnp.where(skip, fnp.concatenate([fnp.full(2, -np.inf), alpha[:-2]]), -np.inf)
            return logsumexp(fnp.stack([alpha, shifted, jumped]), axis=0) + p, None

        alpha, _ = lax.scan(step, start, logp[1:])
        return -fnp.logaddexp(alpha[-1], alpha[-2])

    def by_alignments(logits):
        logp = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        collapse = lambda p: [k for k, _ in itertools.groupby(p) if k != 0]
        return -np.logaddexp.reduce(
            [
                logp[np.arange(T), p].sum()
                for p in itertools.product(range(V), repeat=T)
                if collapse(p) == list(labels)
            ]
        )

    np.testing.assert_allclose(loss(logits), by_alignments(logits))
    g = fx.grad(loss)(logits)
    assert np.all(np.isfinite(g))
    np.testing.assert_allclose(g, differences(by_alignments, logits), atol=1e-8)
    np.testing.assert_allclose(fx.jit(fx.grad(loss))(logits), g, atol=1e-12)


def test_soft_dtw():
    """Soft dynamic time warping (Cuturi and Blondel 2017) with a table that is filled in place, entry by entry."""
    rng = np.random.default_rng(4)
    a, b = np.cumsum(rng.normal(size=7)), np.cumsum(rng.normal(size=6))

    def soft_dtw(a, b, gamma):
        D = (a[:, None] - b[None, :]) ** 2
        R = fnp.full((len(a) + 1, len(b) + 1), np.inf)
        R[0, 0] = 0.0
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                before = fnp.stack([R[i - 1, j], R[i, j - 1], R[i - 1, j - 1]])
                R[i, j] = D[i - 1, j - 1] - gamma * logsumexp(-before / gamma)
        return R[-1, -1]

    def all_paths(i, j):
        if i == j == 0:
            yield ()
        for k, m in ((i - 1, j), (i, j - 1), (i - 1, j - 1)):
            if (k > 0 and m > 0) or (k == m == 0):
                for p in all_paths(k, m) if (k or m) else [()]:
                    yield (*p, (i, j))

    costs = [sum((a[i - 1] - b[j - 1]) ** 2 for i, j in p) for p in all_paths(7, 6)]
    np.testing.assert_allclose(soft_dtw(a, b, 0.5), -0.5 * np.logaddexp.reduce(-np.array(costs) / 0.5))
    g = fx.jit(fx.grad(soft_dtw))(a, b, 0.5)
    assert np.all(np.isfinite(g))
    np.testing.assert_allclose(g, differences(lambda a: soft_dtw(a, b, 0.5), a), rtol=1e-5)
    hard = fx.grad(soft_dtw)(a, b, 1e-3)
    path = min(all_paths(7, 6), key=lambda p: sum((a[i - 1] - b[j - 1]) ** 2 for i, j in p))
    expected = np.zeros(7)
    for i, j in path:
        expected[i - 1] += 2 * (a[i - 1] - b[j - 1])
    np.testing.assert_allclose(hard, expected, atol=1e-6)
