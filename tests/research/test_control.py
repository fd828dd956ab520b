"""Research programs of control and optimisation: trajectories, arms, PDEs, events, assignments."""

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.research.reference import differences


def test_iterative_lqr():
    """iLQR swings a pendulum: its fixed point is a stationary point of the cost of the open-loop controls."""
    T, dt = 30, 0.1
    f = lambda x, u: x + dt * fnp.stack([x[1], 3 * fnp.sin(x[0]) + u[0]])
    stage = lambda x, u: 0.5 * dt * (x @ x + 0.1 * u @ u)
    final = lambda x: 5 * x @ x
    x0 = np.array([0.8, 0.0])

    def rollout(us):
        return lax.scan(lambda x, u: (f(x, u), x), x0, us)

    def cost(us):
        last, xs = rollout(us)
        return fx.vmap(stage)(xs, us).sum() + final(last)

    @fx.jit
    def improve(us):
        last, xs = rollout(us)
        A, B = fx.vmap(fx.jacfwd(f, argnums=(0, 1)))(xs, us)
        q, r = fx.vmap(fx.grad(stage, argnums=(0, 1)))(xs, us)
        (Q, _), (_, R) = fx.vmap(fx.hessian(stage, argnums=(0, 1)))(xs, us)

        def backward(carry, step):
            V, v = carry
            A, B, q, r, Q, R = step
            Hxx, Hux, Huu = Q + A.T @ V @ A, B.T @ V @ A, R + B.T @ V @ B
            hx, hu = q + A.T @ v, r + B.T @ v
            K, k = -fnp.linalg.solve(Huu, Hux), -fnp.linalg.solve(Huu, hu)
            return (Hxx + Hux.T @ K, hx + Hux.T @ k), (K, k)

        start = (fx.hessian(final)(last), fx.grad(final)(last))
        _, (K, k) = lax.scan(backward, start, (A, B, q, r, Q, R), reverse=True)

        def forward(x, step):
            x_old, u, K, k = step
            u = u + k + K @ (x - x_old)
            return f(x, u), u

        return lax.scan(forward, x0, (xs, us, K, k))[1]

    us = np.zeros((T, 1))
    for _ in range(25):
        us = improve(us)
    assert np.abs(fx.grad(cost)(us)).max() < 1e-6
    direct = scipy.optimize.minimize(
        lambda u: cost(u.reshape(T, 1)),
        np.zeros(T),
        jac=lambda u: fx.grad(cost)(u.reshape(T, 1)).ravel(),
        method="BFGS",
    )
    np.testing.assert_allclose(cost(us), direct.fun, rtol=1e-8)


def test_predictive_control():
    """Model-predictive control in feedback: projected gradients inside, tuned through the closed loop outside."""
    A, B = np.array([[1, 0.2], [0, 1.0]]), np.array([0.02, 0.2])

    def plan(x0, weight):
        def cost(us):
            last, xs = lax.scan(lambda x, u: ((n := A @ x + B * u), n @ n), x0, us)
            return xs.sum() + weight * us @ us

        step = lambda us, _: (fnp.clip(us - 0.02 * fx.grad(cost)(us), -1, 1), None)
        return lax.scan(step, fnp.zeros(8), None, length=40)[0]

    @fx.jit
    def closed_loop(log_weight):
        def body(t, state):
            x, us, total = state
            u = plan(x, fnp.exp(log_weight))[0]
            x = A @ x + B * u
            return x, us.at[t].set(u), total + x @ x + 0.3 * u**2

        return lax.fori_loop(0, 12, body, (fnp.array([1.5, 0.0]), fnp.zeros(12), 0.0))

    x, us, total = closed_loop(-2.0)
    assert np.all(np.abs(us) <= 1) and np.linalg.norm(x) < 1.2
    slope = fx.grad(lambda w: closed_loop(w)[2])(-2.0)
    np.testing.assert_allclose(
        slope, (closed_loop(-2 + 1e-5)[2] - closed_loop(-2 - 1e-5)[2]) / 2e-5, rtol=1e-4
    )
    np.testing.assert_allclose(fx.jvp(lambda w: closed_loop(w)[2], (-2.0,), (1.0,))[1], slope, rtol=1e-9)


def test_inverse_kinematics():
    """A three-link arm reaches a point by damped least squares; its pseudo-inverse is differentiated."""
    lengths = np.array([1.0, 0.8, 0.5])

    def hand(q):
        a = fnp.cumsum(q)
        return fnp.array([lengths @ fnp.cos(a), lengths @ fnp.sin(a)])

    target = np.array([0.7, 1.3])

    def body(state):
        q, i = state
        J = fx.jacfwd(hand)(q)
        return q + J.T @ fnp.linalg.solve(J @ J.T + 1e-4 * fnp.eye(2), target - hand(q)), i + 1

    cond = lambda state: (fnp.linalg.norm(hand(state[0]) - target) > 1e-10) & (state[1] < 100)
    q, n = fx.jit(lambda q: lax.while_loop(cond, body, (q, 0)))(np.array([0.1, 0.2, 0.3]))
    assert n < 100
    np.testing.assert_allclose(hand(q), target, atol=1e-9)
    a = np.cumsum(q)
    J = np.array(
        [[-(lengths[i:] @ np.sin(a[i:])) for i in range(3)], [lengths[i:] @ np.cos(a[i:]) for i in range(3)]]
    )
    np.testing.assert_allclose(fx.jacrev(hand)(q), J, atol=1e-12)
    manipulability = lambda q: fnp.sqrt(fnp.linalg.det(fx.jacfwd(hand)(q) @ fx.jacfwd(hand)(q).T))
    np.testing.assert_allclose(fx.grad(manipulability)(q), differences(manipulability, q), atol=1e-8)
    null = lambda q: fnp.eye(3) - fnp.linalg.pinv(fx.jacfwd(hand)(q)) @ fx.jacfwd(hand)(q)
    np.testing.assert_allclose(
        fx.jvp(null, (q,), (np.ones(3),))[1], (null(q + 1e-6) - null(q - 1e-6)) / 2e-6, atol=1e-7
    )


def test_pde_constrained():
    """The diffusivity of a heat equation is identified through a solver that writes into its arrays."""
    n, steps = 20, 40

    def solve(kappa, u):
        for _ in range(steps):
            flux = 0.4 * (kappa[1:] + kappa[:-1]) / 2 * np.diff(u)
            u[1:-1] += np.diff(flux)
            u[0], u[-1] = 1.0, 0.0
        return u

    start = np.zeros(n)
    true = 1 + 0.5 * np.sin(np.linspace(0, np.pi, n))
    data = solve(true, start.copy())

    def misfit(kappa):
        return np.sum((solve(kappa, fnp.array(start)) - data) ** 2) + 1e-6 * np.sum(np.diff(kappa) ** 2)

    kappa = np.ones(n)
    np.testing.assert_allclose(fx.grad(misfit)(kappa), differences(misfit, kappa), atol=1e-8)
    np.testing.assert_array_equal(start, 0)
    compiled = fx.jit(fx.value_and_grad(misfit))
    fit = scipy.optimize.minimize(compiled, kappa, jac=True, method="L-BFGS-B", bounds=[(0.2, 2)] * n)
    assert fit.fun < 0.01 * misfit(kappa)
    hv = fx.jvp(fx.grad(misfit), (kappa,), (true,))[1]
    np.testing.assert_allclose(
        hv, (fx.grad(misfit)(kappa + 1e-5 * true) - fx.grad(misfit)(kappa - 1e-5 * true)) / 2e-5, atol=1e-7
    )


def test_poisson():
    """A Poisson problem with a variable coefficient by sparse conjugate gradients, differentiated by the adjoint."""
    n = 15
    f = np.ones(n)

    def apply(k, u):
        u = fnp.pad(u, 1)
        return -fnp.diff(k * fnp.diff(u)) * (n + 1) ** 2

    def solve(k):
        return fx.scipy.sparse.linalg.cg(lambda u: apply(k, u), f, tol=1e-13, maxiter=400)[0]

    def dense(k):
        A = scipy.sparse.diags([-k[1:-1], k[1:] + k[:-1], -k[1:-1]], [-1, 0, 1]).toarray() * (n + 1) ** 2
        return np.linalg.solve(A, f)

    k = 1 + 0.3 * np.cos(np.arange(n + 1))
    np.testing.assert_allclose(solve(k), dense(k), rtol=1e-9)
    energy = lambda k: fnp.sum(solve(k) ** 2)
    np.testing.assert_allclose(fx.grad(energy)(k), differences(lambda k: np.sum(dense(k) ** 2), k), rtol=1e-6)

    def sparse_solve(k):
        A = (
            fx.scipy.sparse.diags([-k[1:-1], k[1:] + k[:-1], -k[1:-1]], [-1, 0, 1], format="csr")
            * (n + 1) ** 2
        )
        return fx.scipy.sparse.linalg.spsolve(A, f)

    np.testing.assert_allclose(sparse_solve(k), dense(k), rtol=1e-9)
    np.testing.assert_allclose(fx.jacrev(sparse_solve)(k), fx.jacfwd(solve)(k), atol=1e-9)


def test_events():
    """A ball bounces: the time of impact is a root with an implicit derivative, and the saltation follows."""
    g, restitution = 9.81, 0.8

    def fall(state, t):
        y, v = state
        return y + v * t - 0.5 * g * t**2, v - g * t

    def impact(state):
        t0 = lax.stop_gradient(fx.scipy.optimize.brentq(lambda t: fall(state, t)[0], 1e-3, 5.0))
        y, v = fall(state, t0)
        return t0 - y / v  # one step of Newton carries the derivative

    def after(state, T, bounces=3):
        elapsed = 0.0
        for _ in range(bounces):
            t = impact(state)
            state = fall(state, t)
            state = (0.0 * state[0], -restitution * state[1])
            elapsed += t
        return fall(state, T - elapsed)[0]

    def closed_form(h, T):
        v, t = np.sqrt(2 * g * h), np.sqrt(2 * h / g)
        for i in range(3):
            v *= restitution
            t += 2 * v / g if i < 2 else 0
        s = T - t
        return v * s - 0.5 * g * s**2

    h = lambda y: after((y, 0.0), 1.9)
    np.testing.assert_allclose(h(1.0), closed_form(1.0, 1.9), atol=1e-10)
    np.testing.assert_allclose(
        fx.grad(h)(1.0), (closed_form(1 + 1e-6, 1.9) - closed_form(1 - 1e-6, 1.9)) / 2e-6, rtol=1e-6
    )
    implicit = fx.scipy.optimize.root_scalar
    time = lambda y: implicit(lambda t: y - 0.5 * g * t**2, bracket=(1e-3, 5.0), method="brentq").root
    np.testing.assert_allclose(fx.grad(time)(1.0), 0.5 * np.sqrt(2 / g), rtol=1e-9)


def test_kinetics():
    """Robertson's stiff kinetics (1966) by implicit Euler with Newton's method, and its sensitivities."""
    k = np.array([0.04, 3e7, 1e4])

    def rhs(y, k):
        r1, r2, r3 = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
        return fnp.stack([-r1 + r3, r1 - r2 - r3, r2])

    def solve(k, ts):
        def step(y, h):
            def newton(z, _):
                residual = lambda z: z - y - h * rhs(z, k)
                return z - fnp.linalg.solve(fx.jacfwd(residual)(z), residual(z)), None

            return lax.scan(newton, y, None, length=8)[0], None

        return lax.scan(step, fnp.array([1.0, 0.0, 0.0]), np.diff(ts))[0]

    ts = np.r_[0, np.geomspace(1e-6, 40, 400)]
    y = fx.jit(solve)(k, ts)
    reference = scipy.integrate.solve_ivp(
        lambda t, y: rhs(y, k), (0, 40), [1.0, 0, 0], method="Radau", rtol=1e-8, atol=1e-12
    ).y[:, -1]
    np.testing.assert_allclose(y, reference, rtol=2e-2)
    np.testing.assert_allclose(y.sum(), 1, rtol=1e-12)
    S = fx.jit(fx.jacfwd(lambda log_k: solve(fnp.exp(log_k), ts)))(np.log(k))
    R = fx.jit(fx.jacrev(lambda log_k: solve(fnp.exp(log_k), ts)))(np.log(k))
    np.testing.assert_allclose(S, R, atol=1e-9)
    e = 1e-5 * np.eye(3)
    central = np.stack(
        [(solve(np.exp(np.log(k) + d), ts) - solve(np.exp(np.log(k) - d), ts)) / 2e-5 for d in e], 1
    )
    np.testing.assert_allclose(S, central, atol=1e-6)


def test_sorting():
    """A soft rank by the projection onto the permutahedron's relaxation (NeuralSort, Grover 2019), and hard top-k."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=6)

    def neuralsort(s, tau):
        n = s.shape[0]
        A = fnp.abs(s[:, None] - s[None, :])
        scale = n + 1 - 2 * (fnp.arange(n) + 1)
        return fx.nn.softmax((scale[:, None] * s[None, :] - A.sum(1)[None, :]) / tau, axis=-1)

    np.testing.assert_allclose(neuralsort(s, 1e-3) @ s, np.sort(s)[::-1], atol=1e-9)
    f = lambda s: fnp.sum(neuralsort(s, 0.7) @ s * np.arange(6))
    np.testing.assert_allclose(fx.grad(f)(s), differences(f, s), atol=1e-8)
    values, index = lax.top_k(s, 3)
    np.testing.assert_array_equal(index, np.argsort(-s)[:3])
    J = fx.jacobian(lambda s: lax.top_k(s, 3)[0])(s)
    np.testing.assert_array_equal(J, np.eye(6)[np.argsort(-s)[:3]])
    quantile = fx.grad(lambda s: fnp.quantile(s, 0.3))(s)
    expected = np.zeros(6)
    expected[np.argsort(s)[[1, 2]]] = 0.5
    np.testing.assert_allclose(quantile, expected)
