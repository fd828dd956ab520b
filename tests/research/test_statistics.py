"""Research programs of statistics: likelihoods, posteriors, point processes, robust fits."""

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, optim, random
from fxgrad.scipy import stats
from fxgrad.scipy.linalg import cho_factor, cho_solve
from fxgrad.scipy.special import gammaln, logsumexp
from tests.research.reference import differences


def test_hawkes():
    """The likelihood of a self-exciting point process with an exponential kernel (Ozaki 1979), by a recursion."""
    rng = np.random.default_rng(0)
    parents = np.cumsum(rng.exponential(1.0, 50))
    times = np.sort(np.append(parents, parents[:35] + rng.exponential(0.3, 35)))
    T = times[-1] + 0.5

    def loglik(theta):
        mu, alpha, beta = fnp.exp(theta)

        def step(A, dt):
            A = fnp.exp(-beta * dt) * (1 + A)
            return A, fnp.log(mu + alpha * A)

        logs = lax.scan(step, 0.0, np.diff(times))[1]
        compensator = mu * T + alpha / beta * fnp.sum(1 - fnp.exp(-beta * (T - times)))
        return fnp.log(mu) + logs.sum() - compensator

    def by_pairs(theta):
        mu, alpha, beta = np.exp(theta)
        lag = times[:, None] - times[None]
        rate = mu + alpha * np.sum(np.where(lag > 0, np.exp(-beta * np.maximum(lag, 0)), 0), 1)
        integral = scipy.integrate.quad(
            lambda t: mu + alpha * np.sum(np.exp(-beta * (t - times[times < t]))),
            0,
            T,
            points=times,
            limit=500,
        )[0]
        return np.log(rate).sum() - integral

    theta = np.log([0.8, 0.5, 1.5])
    np.testing.assert_allclose(loglik(theta), by_pairs(theta), rtol=1e-6)
    np.testing.assert_allclose(fx.jit(fx.grad(loglik))(theta), differences(loglik, theta), rtol=1e-6)
    fit = scipy.optimize.minimize(
        lambda t: -loglik(t),
        theta,
        jac=lambda t: -fx.grad(loglik)(t),
        method="L-BFGS-B",
        bounds=3 * [(-3, 3)],
    )
    information = -fx.hessian(loglik)(fit.x)
    assert np.all(np.linalg.eigvalsh(information) > 0)


def test_copula():
    """A Gaussian copula with gamma margins: the score of all parameters, and the rank correlation of its draws."""
    rng = np.random.default_rng(1)
    z = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 200)
    x = scipy.stats.gamma.ppf(scipy.stats.norm.cdf(z), 2.0)

    def loglik(params):
        rho = fnp.tanh(params["rho"])
        shape = fnp.exp(params["shape"])
        u = stats.gamma.cdf(x, shape)
        s = stats.norm.ppf(u)
        R = fnp.array([[1.0, rho], [rho, 1.0]])
        joint = stats.multivariate_normal.logpdf(s, fnp.zeros(2), R)
        return fnp.sum(joint - stats.norm.logpdf(s).sum(-1) + stats.gamma.logpdf(x, shape).sum(-1))

    params = {"rho": np.arctanh(0.5), "shape": np.log([1.8, 2.2])}
    g = fx.grad(loglik)(params)
    np.testing.assert_allclose(
        g["rho"], differences(lambda r: loglik({**params, "rho": r}), params["rho"]), rtol=1e-5
    )
    np.testing.assert_allclose(
        g["shape"], differences(lambda s: loglik({**params, "shape": s}), params["shape"]), rtol=1e-4
    )
    R = np.array([[1, 0.5], [0.5, 1]])
    s = scipy.stats.norm.ppf(scipy.stats.gamma.cdf(x, [1.8, 2.2]))
    reference = scipy.stats.multivariate_normal([0, 0], R).logpdf(s) - scipy.stats.norm.logpdf(s).sum(1)
    np.testing.assert_allclose(
        loglik(params), np.sum(reference + scipy.stats.gamma.logpdf(x, [1.8, 2.2]).sum(1)), rtol=1e-10
    )


def test_cox():
    """Cox's partial likelihood with Breslow's ties: score, information, and the standard errors of its maximum."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    time = rng.exponential(np.exp(-X @ [0.5, -0.3, 0.0]))
    event = rng.uniform(size=80) < 0.7
    order = np.argsort(-time)
    X, event = X[order], event[order]

    def loglik(beta):
        eta = X @ beta
        risk = fnp.logaddexp.accumulate(eta)
        return fnp.sum(fnp.where(event, eta - risk, 0.0))

    def score(beta):
        w = np.exp(X @ beta)
        mean = np.cumsum(w[:, None] * X, 0) / np.cumsum(w)[:, None]
        return (X - mean)[event].sum(0)

    beta = np.array([0.1, -0.1, 0.2])
    np.testing.assert_allclose(fx.grad(loglik)(beta), score(beta), rtol=1e-9)
    for _ in range(8):
        beta = beta - np.linalg.solve(fx.hessian(loglik)(beta), fx.grad(loglik)(beta))
    np.testing.assert_allclose(score(beta), 0, atol=1e-9)
    errors = fnp.sqrt(fnp.diag(fnp.linalg.inv(-fx.hessian(loglik)(beta))))
    assert np.all((errors > 0.05) & (errors < 0.4))


def test_accelerated_failure():
    """A Weibull AFT model with censoring is fitted by L-BFGS; robust errors come from per-sample scores."""
    rng = np.random.default_rng(3)
    X = np.c_[np.ones(300), rng.normal(size=(300, 2))]
    t = np.exp(X @ [0.3, 0.5, -0.4] + 0.5 * np.log(rng.exponential(size=300)))
    c = rng.exponential(4, 300)
    y, dead = np.minimum(t, c), t <= c

    def nll(theta, x, y, dead):
        log_scale = theta["log_scale"]
        w = (fnp.log(y) - fnp.dot(x, theta["beta"])) / fnp.exp(log_scale)
        return -fnp.where(dead, w - log_scale - fnp.log(y), 0) + fnp.exp(w)

    theta = {"beta": np.zeros(3), "log_scale": 0.0}
    total = lambda theta: fnp.sum(fx.vmap(nll, (None, 0, 0, 0))(theta, X, y, dead))
    flat, unravel = fx.flatten_util.ravel_pytree(theta)
    f = fx.jit(fx.value_and_grad(lambda v: total(unravel(v))))
    fit = scipy.optimize.minimize(f, flat, jac=True, method="L-BFGS-B")
    assert fit.success
    best = unravel(fit.x)
    np.testing.assert_allclose(best["beta"], [0.3, 0.5, -0.4], atol=0.15)
    scores = fx.vmap(fx.grad(nll), (None, 0, 0, 0))(best, X, y, dead)
    S = np.c_[scores["beta"], scores["log_scale"]]
    np.testing.assert_allclose(S.sum(0), 0, atol=2e-2)
    H = fx.hessian(lambda v: total(unravel(v)))(fit.x)
    sandwich = np.linalg.inv(H) @ (S.T @ S) @ np.linalg.inv(H)
    np.testing.assert_allclose(np.sqrt(np.diag(sandwich)), np.sqrt(np.diag(np.linalg.inv(H))), rtol=0.4)


def test_hamiltonian_monte_carlo():
    """Hamiltonian Monte Carlo on several chains at once by vmap, on a correlated Gaussian of known moments."""
    cov = np.array([[1.0, 0.7], [0.7, 2.0]])
    precision = np.linalg.inv(cov)
    logp = lambda x: -0.5 * x @ precision @ x

    def kernel(x, key):
        k1, k2 = random.split(key)
        p0 = random.normal(k1, x.shape)

        def leap(i, state):
            x, p = state
            p = p + 0.15 * fx.grad(logp)(x)
            x = x + 0.3 * p
            return x, p + 0.15 * fx.grad(logp)(x)

        y, p = lax.fori_loop(0, 6, leap, (x, p0))
        log_ratio = logp(y) - logp(x) - 0.5 * (p @ p - p0 @ p0)
        accept = fnp.log(random.uniform(k2)) < log_ratio
        return fnp.where(accept, y, x), accept

    @fx.jit
    def sample(key, x):
        def step(x, key):
            x, accepted = kernel(x, key)
            return x, (x, accepted)

        return lax.scan(step, x, random.split(key, 600))[1]

    keys = random.split(random.key(0), 8)
    draws, accepted = fx.vmap(sample, in_axes=(0, None))(keys, np.zeros(2))
    draws = draws[:, 100:].reshape(-1, 2)
    assert accepted.mean() > 0.85
    np.testing.assert_allclose(np.cov(draws.T), cov, atol=0.15)
    np.testing.assert_allclose(draws.mean(0), 0, atol=0.1)


def test_variational():
    """A Bayesian logistic regression by the reparametrisation trick, against Laplace's approximation."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = (rng.uniform(size=300) < scipy.special.expit(X @ [1.0, -1.5])).astype(float)

    def log_joint(w):
        return fnp.sum(stats.bernoulli.logpmf(y, fx.nn.sigmoid(X @ w))) + fnp.sum(
            stats.norm.logpdf(w, scale=3.0)
        )

    def elbo(params, key):
        eps = random.normal(key, (16, 2))
        w = params["mean"] + eps @ fnp.tril(params["chol"]).T
        entropy = fnp.sum(fnp.log(fnp.abs(fnp.diag(params["chol"]))))
        return fnp.mean(fx.vmap(log_joint)(w)) + entropy

    schedule = optim.exponential_decay(0.05, transition_steps=100, decay_rate=0.6)
    opt = optim.chain(optim.clip_by_global_norm(10.0), optim.adam(schedule))
    params = {"mean": fnp.zeros(2), "chol": 0.3 * fnp.eye(2)}

    @fx.jit
    def step(carry, key):
        params, state = carry
        value, grads = fx.value_and_grad(lambda p: -elbo(p, key))(params)
        updates, state = opt.update(grads, state, params)
        return (optim.apply_updates(params, updates), state), value

    (params, _), losses = lax.scan(step, (params, opt.init(params)), random.split(random.key(1), 600))
    mode = scipy.optimize.minimize(
        lambda w: -log_joint(w), np.zeros(2), jac=lambda w: -fx.grad(log_joint)(w)
    ).x
    laplace = np.linalg.inv(-fx.hessian(log_joint)(mode))
    np.testing.assert_allclose(params["mean"], mode, atol=0.08)
    L = np.tril(params["chol"])
    np.testing.assert_allclose(L @ L.T, laplace, atol=0.02)
    assert losses[-50:].mean() < losses[:50].mean()


def test_gaussian_process():
    """A Gaussian process with a periodic Matérn kernel: evidence and its gradient (R&W 5.9)."""
    x = np.sort(np.random.default_rng(5).uniform(0, 6, 30))
    y = np.sin(3 * x) * np.exp(-0.1 * x)

    def k(theta, a, b):
        r = fnp.abs(a - b)
        periodic = fnp.exp(-2 * fnp.sin(np.pi * r / theta["period"]) ** 2)
        s = np.sqrt(3) * r / fnp.exp(theta["scale"])
        return periodic * (1 + s) * fnp.exp(-s)

    gram = lambda theta, a, b: fx.vmap(lambda p: fx.vmap(lambda q: k(theta, p, q))(b))(a)

    def evidence(theta):
        K = gram(theta, x, x) + fnp.exp(theta["noise"]) * fnp.eye(len(x))
        c = cho_factor(K, lower=True)
        return (
            -0.5 * y @ cho_solve(c, y)
            - fnp.sum(fnp.log(fnp.diagonal(c[0])))
            - 0.5 * len(x) * np.log(2 * np.pi)
        )

    theta = {"period": 2.0, "scale": 1.0, "noise": -4.0}
    K = gram(theta, x, x) + np.exp(-4) * np.eye(30)
    np.testing.assert_allclose(evidence(theta), scipy.stats.multivariate_normal(np.zeros(30), K).logpdf(y))
    g = fx.grad(evidence)(theta)
    dK = fx.jacfwd(gram)(theta, x, x)
    a = np.linalg.solve(K, y)
    for name in ("period", "scale"):
        np.testing.assert_allclose(
            g[name], 0.5 * np.trace((np.outer(a, a) - np.linalg.inv(K)) @ dK[name]), rtol=1e-7
        )
    np.testing.assert_allclose(g["noise"], 0.5 * np.exp(-4) * (a @ a - np.trace(np.linalg.inv(K))), rtol=1e-7)
    hessian = fx.hessian(evidence)(theta)
    np.testing.assert_allclose(hessian["scale"]["noise"], hessian["noise"]["scale"], rtol=1e-8)


def test_robust_regression():
    """Huber regression by iteratively reweighted least squares; the influence of an outlier through its fixed point."""
    rng = np.random.default_rng(6)
    X = np.c_[np.ones(40), rng.normal(size=40)]
    y = X @ [1.0, 2.0] + 0.3 * rng.normal(size=40)
    y[3] += 8

    def irls(y):
        def cond(state):
            old, new, i = state
            return (fnp.max(fnp.abs(new - old)) > 1e-13) & (i < 200)

        def body(state):
            _, beta, i = state
            r = y - X @ beta
            w = 1 / fnp.maximum(1.0, fnp.abs(r))
            return beta, fnp.linalg.solve((X.T * w) @ X, X.T @ (w * y)), i + 1

        start = fnp.linalg.lstsq(X, y, rcond=None)[0]
        return lax.while_loop(cond, body, (start + 1, start, 0))[1]

    psi = lambda beta, y: X.T @ fnp.clip(y - X @ beta, -1, 1)
    beta = fx.jit(irls)(y)
    np.testing.assert_allclose(psi(beta, y), 0, atol=1e-9)
    forward = fx.jacfwd(irls)(y)
    implicit = -np.linalg.solve(fx.jacobian(psi)(beta, y), fx.jacobian(psi, argnums=1)(beta, y))
    np.testing.assert_allclose(forward, implicit, atol=1e-8)
    np.testing.assert_allclose(
        forward[:, 3], 0, atol=1e-9
    )  # a clipped outlier has no influence on first order


def test_kernel_mean_matching():
    """The weights of covariate shift minimise a maximum mean discrepancy."""
    rng = np.random.default_rng(7)
    source, target = rng.normal(0, 1, (30, 1)), rng.normal(0.7, 0.6, (40, 1))

    def kernel(a, b, h):
        return fnp.exp(-fx.scipy.spatial.distance.cdist(a, b, "sqeuclidean") / (2 * h**2))

    def mmd(logits, h):
        w = fx.nn.softmax(logits)
        return (
            w @ kernel(source, source, h) @ w
            - 2 * w @ fnp.mean(kernel(source, target, h), axis=1)
            + kernel(target, target, h).mean()
        )

    result = fx.scipy.optimize.minimize(mmd, np.zeros(30), args=(0.5,), method="BFGS")
    w = scipy.special.softmax(result.x)
    assert mmd(result.x, 0.5) < 0.1 * mmd(np.zeros(30), 0.5)
    assert abs(w @ source[:, 0] - target.mean()) < 0.2
    np.testing.assert_allclose(
        fx.grad(mmd, argnums=1)(np.zeros(30), 0.5),
        differences(lambda h: mmd(np.zeros(30), h), np.array(0.5)),
        rtol=1e-6,
    )


def test_particle_filter():
    """A bootstrap filter estimates the likelihood that the Kalman filter has in closed form."""
    rng = np.random.default_rng(8)
    x, ys = 0.0, []
    for _ in range(25):
        x = 0.9 * x + 0.5 * rng.normal()
        ys.append(x + 0.4 * rng.normal())
    ys = np.array(ys)

    def particles(a, key, n=2000):
        def step(carry, y):
            x, key = carry
            key, k1, k2 = random.split(key, 3)
            x = a * x + 0.5 * random.normal(k1, (n,))
            logw = stats.norm.logpdf(y, x, 0.4)
            index = random.categorical(k2, lax.stop_gradient(logw), shape=(n,))
            score = logw - lax.stop_gradient(logw)
            return (x[index], key), logsumexp(logw) - np.log(n) + 0 * score.sum()

        return lax.scan(step, (fnp.zeros(n), key), ys)[1].sum()

    def kalman(a):
        def step(carry, y):
            m, P = carry
            m, P = a * m, a * a * P + 0.25
            S = P + 0.16
            K = P / S
            return (m + K * (y - m), (1 - K) * P), stats.norm.logpdf(y, m, fnp.sqrt(S))

        return lax.scan(step, (0.0, 0.0), ys)[1].sum()

    estimates = fx.vmap(lambda k: fx.jit(particles)(0.9, k))(random.split(random.key(0), 8))
    assert abs(estimates.mean() - kalman(0.9)) < 0.3
    np.testing.assert_allclose(
        fx.grad(kalman)(0.9), (kalman(0.9 + 1e-5) - kalman(0.9 - 1e-5)) / 2e-5, rtol=1e-7
    )
    np.testing.assert_allclose(
        fx.grad(fx.grad(kalman))(0.9),
        (fx.grad(kalman)(0.9 + 1e-5) - fx.grad(kalman)(0.9 - 1e-5)) / 2e-5,
        rtol=1e-6,
    )


def test_topics():
    """The collapsed evidence of a Dirichlet-multinomial and its score, and the fixed point of Minka (2000)."""
    counts = np.random.default_rng(9).negative_binomial(2, 0.3, (50, 4))

    def loglik(log_alpha):
        a = fnp.exp(log_alpha)
        n = counts.sum(1)
        return fnp.sum(gammaln(a.sum()) - gammaln(n + a.sum())) + fnp.sum(gammaln(counts + a) - gammaln(a))

    def fixed_point(a):
        digamma = scipy.special.digamma
        top = (digamma(counts + a) - digamma(a)).sum(0)
        return a * top / (digamma(counts.sum(1) + a.sum()) - digamma(a.sum())).sum()

    a = np.ones(4)
    for _ in range(2000):
        a = fixed_point(a)
    np.testing.assert_allclose(fx.grad(loglik)(np.log(a)), 0, atol=1e-6)
    result = fx.scipy.optimize.minimize(lambda t: -loglik(t), np.zeros(4), method="BFGS")
    np.testing.assert_allclose(np.exp(result.x), a, rtol=1e-3)
    direct = sum(scipy.stats.dirichlet_multinomial.logpmf(c, a, c.sum()) for c in counts)
    coefficient = np.sum(scipy.special.gammaln(counts.sum(1) + 1)) - np.sum(scipy.special.gammaln(counts + 1))
    np.testing.assert_allclose(loglik(np.log(a)) + coefficient, direct)
