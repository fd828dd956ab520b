"""Research programs of machine learning: flows, implicit layers, meta-learning, graphs, attention, policies."""

import numpy as np
import scipy.integrate
import scipy.stats

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, nn, optim, random
from fxgrad.experimental.ode import odeint
from tests.research.reference import differences


def dense(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [
        {"w": nn.initializers.glorot_normal()(k, (m, n)), "b": fnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def mlp(params, x, activation=fnp.tanh):
    *hidden, last = params
    for layer in hidden:
        x = activation(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def test_coupling_flow():
    """A RealNVP flow (Dinh et al. 2017): its log-density has the determinant of its Jacobian."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(256, 2))
    data[:, 1] = 0.5 * data[:, 0] ** 2 + 0.3 * data[:, 1]

    def forward(params, x):
        log_det = 0.0
        for i, layer in enumerate(params):
            a, b = (x[:1], x[1:]) if i % 2 == 0 else (x[1:], x[:1])
            s, t = fnp.split(mlp(layer, a), 2)
            s = fnp.tanh(s)
            b = b * fnp.exp(s) + t
            log_det += s.sum()
            x = fnp.concatenate([a, b] if i % 2 == 0 else [b, a])
        return x, log_det

    params = [dense(k, (1, 16, 2)) for k in random.split(random.key(0), 4)]
    z, log_det = forward(params, data[0])
    np.testing.assert_allclose(
        log_det, np.linalg.slogdet(fx.jacfwd(lambda x: forward(params, x)[0])(data[0]))[1]
    )

    def nll(params, batch):
        z, log_det = fx.vmap(lambda x: forward(params, x))(batch)
        return -fnp.mean(fx.scipy.stats.norm.logpdf(z).sum(1) + log_det)

    opt = optim.adamw(1e-2, weight_decay=1e-4)

    @fx.jit
    def step(params, state):
        loss, grads = fx.value_and_grad(nll)(params, data)
        updates, state = opt.update(grads, state, params)
        return optim.apply_updates(params, updates), state, loss

    state, first = opt.init(params), nll(params, data)
    for _ in range(150):
        params, state, loss = step(params, state)
    assert loss < first - 0.3
    entropy = 2 * scipy.stats.norm.entropy() + np.log(0.3)
    assert abs(loss - entropy) < 0.25


def test_neural_ode():
    """A neural ODE by odeint: the adjoint gradient agrees with differences, and the flow with SciPy's."""
    params = dense(random.key(1), (2, 8, 2))
    t = np.linspace(0, 1, 5)
    y0 = np.array([0.5, -1.0])
    f = lambda y, t, params: mlp(params, y)
    ys = odeint(f, y0, t, params, rtol=1e-9, atol=1e-9)
    reference = scipy.integrate.solve_ivp(
        lambda t, y: mlp(params, y), (0, 1), y0, t_eval=t, rtol=1e-10, atol=1e-12
    ).y.T
    np.testing.assert_allclose(ys, reference, atol=1e-7)
    target = np.stack([np.cos(t), np.sin(t)], 1)
    loss = lambda params, y0: fnp.mean((odeint(f, y0, t, params, rtol=1e-9, atol=1e-9) - target) ** 2)
    g_params, g_y0 = fx.grad(loss, argnums=(0, 1))(params, y0)
    np.testing.assert_allclose(g_y0, differences(lambda y: loss(params, y), y0), rtol=1e-5)
    bias = lambda b: loss([params[0], {**params[1], "b": b}], y0)
    np.testing.assert_allclose(g_params[1]["b"], differences(bias, params[1]["b"]), rtol=1e-5)


def test_meta_learning():
    """MAML (Finn et al. 2017) on sines: the meta-gradient passes through the inner steps."""

    def predict(params, x):
        return mlp(params, x[:, None])[:, 0]

    mse = lambda params, x, y: fnp.mean((predict(params, x) - y) ** 2)

    def adapt(params, x, y, first_order=False):
        for _ in range(2):
            g = fx.grad(mse)(params, x, y)
            if first_order:
                g = lax.stop_gradient(g)
            params = fx.tree.map(lambda p, g: p - 0.1 * g, params, g)
        return params

    def task_loss(params, key, first_order=False):
        k1, k2, k3 = random.split(key, 3)
        a, phase = random.uniform(k1, (), minval=0.5, maxval=2.0), random.uniform(k2, (), maxval=np.pi)
        x = random.uniform(k3, (2, 10), minval=-3, maxval=3)
        y = a * fnp.sin(x + phase)
        return mse(adapt(params, x[0], y[0], first_order), x[1], y[1])

    meta = lambda params, keys: fx.vmap(task_loss, in_axes=(None, 0))(params, keys).mean()
    params, keys = dense(random.key(2), (1, 10, 1)), random.split(random.key(3), 4)
    g = fx.jit(fx.grad(meta))(params, keys)
    shifted = lambda b: meta([params[0], {**params[1], "b": b}], keys)
    np.testing.assert_allclose(g[1]["b"], differences(shifted, params[1]["b"]), rtol=1e-6)
    first = fx.grad(lambda p: fx.vmap(lambda k: task_loss(p, k, first_order=True))(keys).mean())(params)
    assert not np.allclose(first[1]["b"], g[1]["b"], rtol=1e-3)


def test_equilibrium_layer():
    """A deep equilibrium layer with its gradient by the implicit function theorem, as a custom_vjp."""

    def iterate(f, z):
        return lax.while_loop(
            lambda s: fnp.linalg.norm(s[0] - s[1]) > 1e-12, lambda s: (s[1], f(s[1])), (z, f(z))
        )[1]

    @fx.custom_vjp
    def layer(W, x):
        return iterate(lambda z: fnp.tanh(W @ z + x), fnp.zeros_like(x))

    def layer_fwd(W, x):
        z = layer(W, x)
        return z, (W, x, z)

    def layer_bwd(residuals, ct):
        W, x, z = residuals
        _, pull_z = fx.vjp(lambda z: fnp.tanh(W @ z + x), z)
        u = iterate(lambda u: ct + pull_z(u)[0], ct)
        _, pull = fx.vjp(lambda W, x: fnp.tanh(W @ z + x), W, x)
        return pull(u)

    layer.defvjp(layer_fwd, layer_bwd)
    rng = np.random.default_rng(4)
    W, x = 0.3 * rng.normal(size=(4, 4)), rng.normal(size=4)
    loss = lambda W, x: fnp.sum(layer(W, x) ** 2)
    gW, gx = fx.jit(fx.grad(loss, argnums=(0, 1)))(W, x)
    np.testing.assert_allclose(gx, differences(lambda x: loss(W, x), x), rtol=1e-6)
    np.testing.assert_allclose(gW, differences(lambda W: loss(W, x), W), atol=1e-8)
    batch = rng.normal(size=(5, 4))
    per_example = fx.vmap(fx.grad(loss, argnums=1), in_axes=(None, 0))(W, batch)
    np.testing.assert_allclose(per_example, [fx.grad(loss, argnums=1)(W, b) for b in batch], atol=1e-10)


def test_bilevel():
    """Ridge penalties of single features are tuned on held-out data through conjugate gradients."""
    rng = np.random.default_rng(5)
    X, V = rng.normal(size=(30, 6)), rng.normal(size=(40, 6))
    w = np.array([1.0, -1, 0.5, 0, 0, 0])
    y, v = X @ w + 0.5 * rng.normal(size=30), V @ w + 0.5 * rng.normal(size=40)

    def fit(log_penalty):
        matvec = lambda u: X.T @ (X @ u) + fnp.exp(log_penalty) * u
        return fx.scipy.sparse.linalg.cg(matvec, X.T @ y, tol=1e-12)[0]

    outer = lambda p: fnp.mean((V @ fit(p) - v) ** 2)
    p = np.zeros(6)
    np.testing.assert_allclose(fit(p), np.linalg.solve(X.T @ X + np.eye(6), X.T @ y))
    hyper = fx.grad(outer)(p)
    coefficients = np.linalg.solve(X.T @ X + np.eye(6), X.T @ y)
    adjoint = np.linalg.solve(X.T @ X + np.eye(6), V.T @ (V @ coefficients - v) * 2 / 40)
    np.testing.assert_allclose(hyper, -adjoint * coefficients, rtol=1e-6)
    result = fx.scipy.optimize.minimize(outer, p, method="BFGS", options={"maxiter": 20})
    assert result.fun < outer(p)
    np.testing.assert_allclose(fx.hessian(outer)(p), fx.hessian(outer)(p).T, atol=1e-8)


def test_graph_network():
    """Message passing with segment_sum over edges: permutation equivariant, and equal to the dense form."""
    rng = np.random.default_rng(6)
    n, edges = 12, 40
    senders, receivers = rng.integers(0, n, edges), rng.integers(0, n, edges)
    nodes, features = rng.normal(size=(n, 3)), rng.normal(size=(edges, 2))
    params = {"message": dense(random.key(4), (8, 8, 5)), "update": dense(random.key(5), (8, 3))}

    def layer(params, nodes, senders, receivers):
        m = mlp(
            params["message"], fnp.concatenate([nodes[senders], nodes[receivers], features], axis=1), nn.relu
        )
        logits = m[:, 0]
        peak = fx.ops.segment_max(logits, receivers, num_segments=n)
        e = fnp.exp(logits - peak[receivers])
        weight = e / fx.ops.segment_sum(e, receivers, num_segments=n)[receivers]
        gathered = fx.ops.segment_sum(m * weight[:, None], receivers, num_segments=n)
        return nodes + mlp(params["update"], fnp.concatenate([nodes, gathered], axis=1))

    out = fx.jit(layer)(params, nodes, senders, receivers)
    m = np.asarray(
        mlp(params["message"], np.concatenate([nodes[senders], nodes[receivers], features], 1), nn.relu)
    )
    gathered = np.zeros((n, 5))
    for i in set(receivers):
        w = np.exp(m[receivers == i, 0])
        gathered[i] = (w / w.sum()) @ m[receivers == i]
    np.testing.assert_allclose(out, nodes + mlp(params["update"], np.concatenate([nodes, gathered], 1)))
    order = rng.permutation(n)
    inverse = np.argsort(order)
    np.testing.assert_allclose(layer(params, nodes[order], inverse[senders], inverse[receivers]), out[order])
    loss = lambda nodes: fnp.sum(fnp.sin(layer(params, nodes, senders, receivers)))
    np.testing.assert_allclose(fx.jit(fx.grad(loss))(nodes), differences(loss, nodes), atol=1e-6)


def test_transformer():
    """A causal transformer block: no position sees the future, and gradients of single sequences sum to the batch's."""
    rng = np.random.default_rng(7)
    d, heads, vocabulary, length = 8, 2, 11, 6
    keys = random.split(random.key(6), 6)
    init = nn.initializers.normal(0.3)
    params = {
        "embed": init(keys[0], (vocabulary, d)),
        "position": init(keys[1], (length, d)),
        "qkv": init(keys[2], (d, 3, heads, d // heads)),
        "out": init(keys[3], (heads, d // heads, d)),
        "mlp": dense(keys[4], (d, 16, d)),
    }

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def logits(params, tokens):
        x = params["embed"][tokens] + params["position"][: len(tokens)]
        q, k, v = fnp.moveaxis(fnp.einsum("td,dchk->cthk", norm(x), params["qkv"]), 0, 0)
        scores = fnp.einsum("thk,shk->hts", q, k) / np.sqrt(d // heads)
        scores = fnp.where(fnp.tril(fnp.ones((len(tokens), len(tokens)), bool)), scores, -np.inf)
        x = x + fnp.einsum("hts,shk,hkd->td", nn.softmax(scores), v, params["out"])
        x = x + mlp(params["mlp"], norm(x), nn.gelu)
        return x @ params["embed"].T

    def loss(params, tokens):
        logp = nn.log_softmax(logits(params, tokens[:-1]))
        return -fnp.take_along_axis(logp, tokens[1:, None], axis=-1).mean()

    tokens = rng.integers(0, vocabulary, (4, length))
    reach = fx.jacobian(lambda x: logits({**params, "position": x}, tokens[0]))(params["position"])
    influence = np.abs(reach).sum((1, 3))
    np.testing.assert_array_equal(influence[np.triu_indices(length, 1)], 0)
    single = fx.vmap(fx.grad(loss), in_axes=(None, 0))(params, tokens)
    whole = fx.jit(fx.grad(lambda p: fx.vmap(loss, in_axes=(None, 0))(p, tokens).mean()))(params)
    fx.tree.map(lambda s, w: np.testing.assert_allclose(s.mean(0), w, atol=1e-12), single, whole)
    np.testing.assert_allclose(
        single["position"][0],
        differences(lambda p: loss({**params, "position": p}, tokens[0]), params["position"]),
        atol=1e-8,
    )


def test_diffusion():
    """Denoising score matching of a Gaussian: the linear score is Tweedie's, the sampler has its moments."""
    sigmas = np.geomspace(0.05, 3, 20)
    mean, scale = 1.5, 0.4

    def score(params, x, sigma):
        return (params[0] - x) / (fnp.exp(params[1]) + sigma**2)

    def loss(params, key):
        k1, k2, k3 = random.split(key, 3)
        x = mean + scale * random.normal(k1, (512,))
        sigma = random.choice(k2, fnp.asarray(sigmas), (512,))
        noise = random.normal(k3, (512,))
        return fnp.mean((sigma * score(params, x + sigma * noise, sigma) + noise) ** 2)

    opt = optim.adam(optim.cosine_decay_schedule(0.05, 300))

    def step(carry, key):
        params, state = carry
        updates, state = opt.update(fx.grad(loss)(params, key), state)
        return (optim.apply_updates(params, updates), state), None

    start = fnp.zeros(2)
    (params, _), _ = lax.scan(step, (start, opt.init(start)), random.split(random.key(7), 300))
    np.testing.assert_allclose(params, [mean, np.log(scale**2)], atol=0.15)

    def sample(key):  # the probability-flow ODE of the variance-exploding process
        x = mean + random.normal(key) * np.sqrt(sigmas[-1] ** 2 + scale**2)
        grid = np.geomspace(3, 0.01, 200)
        body = lambda x, s: (x - (s[1] - s[0]) * s[0] * score(params, x, s[0]), None)
        return lax.scan(body, x, np.stack([grid[:-1], grid[1:]], 1))[0]

    x = fx.jit(fx.vmap(sample))(random.split(random.key(8), 2000))
    np.testing.assert_allclose([x.mean(), x.std()], [mean, scale], atol=0.06)


def test_policy_gradient():
    """REINFORCE on a chain of states: the estimate agrees with the derivative of the exact return."""
    n, horizon = 4, 5

    def exact(theta):
        p = nn.sigmoid(theta)
        move = fnp.diag(p[:-1], 1) + fnp.diag(1 - p)
        move = move + fnp.at(fnp.zeros((n, n)))[-1, -1].set(p[-1])
        state = fnp.eye(n)[0]
        total = 0.0
        for _ in range(horizon):
            state = state @ move
            total += state[-1]
        return total

    def surrogate(theta, key):
        def step(state, key):
            right = random.bernoulli(key, nn.sigmoid(theta[state]))
            logp = fnp.where(right, nn.log_sigmoid(theta[state]), nn.log_sigmoid(-theta[state]))
            state = fnp.where(right, fnp.minimum(state + 1, n - 1), state)
            return state, (logp, (state == n - 1).astype(float))

        _, (logp, reward) = lax.scan(step, 0, random.split(key, horizon))
        to_go = lax.stop_gradient(fnp.cumsum(reward[::-1])[::-1])
        return fnp.sum(logp * (to_go - 0.3)), reward.sum()

    theta = np.array([0.2, -0.1, 0.4, 0.0])
    np.testing.assert_allclose(fx.grad(exact)(theta), differences(exact, theta), rtol=1e-7)
    grads, rewards = fx.jit(fx.vmap(fx.grad(surrogate, has_aux=True), in_axes=(None, 0)))(
        theta, random.split(random.key(9), 20000)
    )
    assert abs(rewards.mean() - exact(theta)) < 0.03
    np.testing.assert_allclose(grads.mean(0), fx.grad(exact)(theta), atol=0.04)


def test_physics_informed():
    """A physics-informed network solves u'' = -π² sin(πx) with hard boundary values, by L-BFGS on its residual."""
    params = dense(random.key(10), (1, 12, 12, 1))
    u = lambda params, x: x * (1 - x) * mlp(params, fnp.reshape(x, 1))[0]
    residual = lambda params, x: (
        fx.grad(fx.grad(u, argnums=1), argnums=1)(params, x) + np.pi**2 * fnp.sin(np.pi * x)
    )
    x = np.linspace(0, 1, 25)
    loss = lambda params: fnp.mean(fx.vmap(residual, in_axes=(None, 0))(params, x) ** 2)
    flat, unravel = fx.flatten_util.ravel_pytree(params)
    f = fx.jit(fx.value_and_grad(lambda v: loss(unravel(v))))
    by_parts = differences(lambda v: loss(unravel(v)), flat, 1e-6)
    np.testing.assert_allclose(f(flat)[1], by_parts, rtol=1e-4, atol=1e-5)
    fit = scipy.optimize.minimize(f, flat, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    solution = fx.vmap(u, in_axes=(None, 0))(unravel(fit.x), x)
    np.testing.assert_allclose(solution, np.sin(np.pi * x), atol=5e-3)
    curvature = fx.vmap(lambda x: fx.experimental.jet.jet(lambda x: u(params, x), (x,), ((1.0, 0.0),))[1][1])(
        x
    )
    np.testing.assert_allclose(
        curvature, fx.vmap(fx.grad(fx.grad(u, argnums=1), argnums=1), in_axes=(None, 0))(params, x), atol=1e-9
    )
