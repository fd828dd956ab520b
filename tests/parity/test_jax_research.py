"""Small research programs as they are written for JAX, run by both libraries without a change."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest

import fxgrad
import fxgrad.numpy

from . import oracle  # noqa: F401 - 64-bit numbers

import jax  # isort: skip
import jax.custom_derivatives
import jax.numpy
import jax.scipy.linalg
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.stats


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def stein_variational_descent(jax, jnp):
    def log_density(x):
        return -0.5 * jnp.sum(x**2) + jnp.log1p(jnp.exp(-((x[0] - 1) ** 2)))

    def kernel(x, y, h):
        return jnp.exp(-jnp.sum((x - y) ** 2) / h)

    @jax.jit
    def direction(xs):
        distances = jnp.sum((xs[:, None] - xs[None]) ** 2, -1)
        h = jnp.median(distances) / jnp.log(xs.shape[0])

        def of_particle(x):
            def term(y):
                return kernel(y, x, h) * jax.grad(log_density)(y) + jax.grad(kernel)(y, x, h)

            return jnp.mean(jax.vmap(term)(xs), 0)

        return jax.vmap(of_particle)(xs)

    xs = jnp.array(normal(20, 2))
    for _ in range(5):
        xs = xs + 0.1 * direction(xs)
    return xs


def gaussian_process(jax, jnp):
    x = jnp.array(np.random.default_rng(0).uniform(-3, 3, (20, 1)))
    y = jnp.sin(x[:, 0])

    def kernel(p, a, b):
        return jnp.exp(p["amplitude"]) * jnp.exp(-0.5 * jnp.sum(((a - b) / jnp.exp(p["scale"])) ** 2))

    @jax.jit
    @jax.value_and_grad
    def loss(p):
        gram = jax.vmap(lambda a: jax.vmap(lambda b: kernel(p, a, b))(x))(x) + jnp.exp(p["noise"]) * jnp.eye(
            20
        )
        lower = jax.scipy.linalg.cholesky(gram, lower=True)
        weights = jax.scipy.linalg.cho_solve((lower, True), y)
        return 0.5 * y @ weights + jnp.sum(jnp.log(jnp.diag(lower)))

    p = {"amplitude": jnp.zeros(()), "scale": jnp.zeros(1), "noise": jnp.array(-3.0)}
    for _ in range(3):
        value, slope = loss(p)
        p = {name: p[name] - 0.01 * slope[name] for name in p}
    return value, p


def normalizing_flow(jax, jnp):
    def couple(p, x):
        a, b = jnp.split(x, 2)
        s, t = jnp.split(jnp.tanh(a @ p["w1"] + p["b1"]) @ p["w2"], 2)
        s = jnp.tanh(s)
        return jnp.concatenate([a, b * jnp.exp(s) + t])[::-1], jnp.sum(s)

    layers = [
        {"w1": 0.3 * normal(2, 8, seed=i), "b1": np.zeros(8), "w2": 0.3 * normal(8, 4, seed=9 + i)}
        for i in range(3)
    ]
    stacked = jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves), *layers)

    def log_density(layers, x):
        def step(carry, layer):
            x, total = carry
            x, volume = couple(layer, x)
            return (x, total + volume), None

        (z, total), _ = jax.lax.scan(step, (x, 0.0), layers)
        return jnp.sum(jax.scipy.stats.norm.logpdf(z)) + total

    x = jnp.array(normal(16, 4))
    return jax.jit(jax.value_and_grad(lambda p: -jnp.mean(jax.vmap(log_density, (None, 0))(p, x))))(stacked)


def physics_informed_network(jax, jnp):
    p = [(normal(1, 10), np.zeros(10)), (normal(10, 1, seed=1), np.zeros(1))]

    def u(p, x):
        return ((jnp.tanh(jnp.atleast_1d(x) @ p[0][0] + p[0][1])) @ p[1][0] + p[1][1])[0]

    def residual(p, x):
        return jax.grad(jax.grad(u, 1), 1)(p, x) + jnp.sin(x)

    def loss(p):
        inside = jax.vmap(residual, (None, 0))(p, jnp.linspace(0, jnp.pi, 20))
        return jnp.mean(inside**2) + u(p, 0.0) ** 2 + u(p, jnp.pi) ** 2

    return jax.jit(jax.value_and_grad(loss))(p)


def model_agnostic_meta_learning(jax, jnp):
    def network(p, x):
        return jnp.tanh(x * p["w"] + p["b"]) @ p["v"]

    def loss(p, x, y):
        return jnp.mean((jax.vmap(partial(network, p))(x) - y) ** 2)

    def adapt(p, x, y):
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, p, jax.grad(loss)(p, x, y))

    x = jnp.array(normal(4, 10))
    p = {"w": normal(8, seed=1), "b": np.zeros(8), "v": normal(8, seed=2)}
    return jax.jit(
        jax.grad(lambda p: jnp.mean(jax.vmap(lambda x: loss(adapt(p, x, jnp.sin(x)), x, jnp.sin(x)))(x)))
    )(p)


def equilibrium_model(jax, jnp):
    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x):
        def goes_on(carry):
            return jnp.max(jnp.abs(carry[0] - carry[1])) > 1e-10

        return jax.lax.while_loop(goes_on, lambda carry: (carry[1], f(a, carry[1])), (x, f(a, x)))[1]

    def fwd(f, a, x):
        y = fixed_point(f, a, x)
        return y, (a, y)

    def bwd(f, residuals, ct):
        a, y = residuals

        def step(packed, u):
            a, y, ct = packed
            return ct + jax.vjp(lambda y: f(a, y), y)[1](u)[0]

        return jax.vjp(lambda a: f(a, y), a)[1](fixed_point(step, (a, y, ct), ct))[0], jnp.zeros_like(y)

    fixed_point.defvjp(fwd, bwd)
    slope = jax.grad(lambda a: fixed_point(lambda a, x: jnp.cos(a * x) * 0.5, a, jnp.array(0.3)))
    return slope(1.2), jax.jit(jax.vmap(slope))(jnp.arange(1.0, 4.0) / 3)


def kalman_filter(jax, jnp):
    a, c = jnp.array([[1, 0.1], [0, 1]]), jnp.array([[1, 0.0]])

    def log_likelihood(p, ys):
        def step(carry, y):
            mean, cov = a @ carry[0], a @ carry[1] @ a.T + jnp.diag(jnp.exp(p["q"]))
            s = c @ cov @ c.T + jnp.exp(p["r"]) * jnp.eye(1)
            gain = jax.scipy.linalg.solve(s, c @ cov, assume_a="pos").T
            term = jax.scipy.stats.multivariate_normal.logpdf(y, c @ mean, s)
            return (mean + gain @ (y - c @ mean), cov - gain @ s @ gain.T), term

        return jnp.sum(jax.lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1])

    return jax.jit(jax.grad(log_likelihood))(
        {"q": jnp.zeros(2), "r": jnp.zeros(())}, jnp.array(normal(20, 1))
    )


def implicit_layer(jax, jnp):
    def newton(f, x0):
        return jax.lax.fori_loop(0, 20, lambda _, x: x - jnp.linalg.solve(jax.jacobian(f)(x), f(x)), x0)

    def root(a):
        return jax.lax.custom_root(
            lambda x: jnp.stack([x[0] ** 2 + x[1] - a, x[0] - x[1]]),
            jnp.ones(2),
            newton,
            lambda g, y: jnp.linalg.solve(jax.jacobian(g)(y), y),
        )

    return jax.jacobian(root)(2.0), jax.jit(jax.vmap(root))(jnp.arange(1.0, 4.0))


def newton_by_conjugate_gradients(jax, jnp):
    def loss(x):
        return jnp.sum(jnp.cosh(x)) + 0.5 * jnp.sum(x) ** 2

    @jax.jit
    def step(x):
        def hvp(v):
            return jax.jvp(jax.grad(loss), (x,), (v,))[1]

        return x - jax.scipy.sparse.linalg.cg(hvp, jax.grad(loss)(x))[0]

    x = jnp.arange(1.0, 4.0)
    for _ in range(3):
        x = step(x)
    return x


def adjoint_of_an_ode(jax, jnp):
    home = "jax.experimental.ode" if jax.__name__ == "jax" else "fxgrad.scipy.integrate"
    odeint = import_module(home).odeint

    def final_angle(a):
        def velocity(y, t, a):
            return jnp.stack([y[1], -a * jnp.sin(y[0])])

        return odeint(velocity, jnp.array([1.0, 0.0]), jnp.linspace(0.0, 2.0, 5), a)[-1, 0]

    return jnp.round(jax.grad(final_angle)(1.5), 5)


def learned_filter(jax, jnp):
    x = jnp.array(normal(50))

    def loss(h):
        return jnp.sum(jax.scipy.signal.convolve(x, h, mode="same") ** 2) + jnp.sum(
            jnp.abs(jnp.fft.rfft(h)) ** 2
        )

    return jax.grad(loss)(jnp.hanning(7))


def checkpointed_recurrent_network(jax, jnp):
    w, u = jnp.array(0.3 * normal(6, 6)), jnp.array(normal(3, 6, seed=1))

    @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    def cell(h, x):
        h = jnp.tanh(h @ w + x @ u)
        return h, h

    return jax.jit(jax.grad(lambda xs: jnp.sum(jax.lax.scan(cell, jnp.zeros(6), xs)[1] ** 2)))(
        jnp.array(normal(7, 3))
    )


def rule_with_symbolic_zeros(jax, jnp):
    zero = jax.custom_derivatives.SymbolicZero

    @jax.custom_jvp
    def product(x, y):
        return x * y

    @partial(product.defjvp, symbolic_zeros=True)
    def _(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        terms = [] if type(tx) is zero else [tx * y]
        terms += [] if type(ty) is zero else [2 * ty * x]
        return x * y, sum(terms)

    return (
        jax.grad(product, 1)(2.0, 3.0),
        jax.grad(product)(2.0, 3.0),
        jax.jit(jax.grad(product, 1))(2.0, 3.0),
    )


PROGRAMS = [
    stein_variational_descent, gaussian_process, normalizing_flow, physics_informed_network,
    model_agnostic_meta_learning, equilibrium_model, kalman_filter, implicit_layer, newton_by_conjugate_gradients,
    adjoint_of_an_ode, learned_filter, checkpointed_recurrent_network, rule_with_symbolic_zeros,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_numbers(program):
    ours, structure = fxgrad.tree.flatten(program(fxgrad, fxgrad.numpy))
    theirs, other = fxgrad.tree.flatten(program(jax, jax.numpy))
    assert structure == other
    for one, another in zip(ours, theirs):
        np.testing.assert_allclose(one, another, rtol=1e-6, atol=1e-8)
