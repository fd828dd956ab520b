"""Derivatives at kinks under JAX's door. The expected ones are those that JAX 0.10.2 gives."""

from __future__ import annotations

from tests.peers.test_doors import output

START = """
import jax, jax.numpy as jnp, numpy as np
from jax import grad, lax
at = jnp.array
def total(f): return lambda x: jnp.sum(f(x))
"""


def test_slopes_at_kinks():
    shown = output(
        START
        + """
x = at([0.0, -0.0, -1.0])
print(grad(total(jnp.abs))(x), grad(total(abs))(x), jax.jit(grad(total(lax.abs)))(x), jax.vmap(grad(jnp.fabs))(x))
print(abs(grad(total(jnp.abs))(at([0j, 3 + 4j]))), jax.hessian(lambda x: abs(x) * x)(0.0))
print(*grad(jnp.fmax, (0, 1))(1.0, 1.0), *grad(jnp.fmin, (0, 1))(1.0, 1.0), *grad(jnp.fmax, (0, 1))(jnp.nan, 1.0))
print(grad(total(lambda x: lax.clamp(0.0, x, 1.0)))(at([-1.0, 0.0, 0.5, 1.0, 2.0])))
print(*grad(jnp.logaddexp, (0, 1))(jnp.inf, 0.0), *grad(jnp.logaddexp, (0, 1))(-jnp.inf, -jnp.inf))
norm = jnp.linalg.norm
print(grad(norm)(jnp.zeros(2)), grad(lambda x: norm(x, 1))(at([0.0, -2.0])), grad(jnp.std)(jnp.ones(2)))
pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID")
print(grad(total(pool))(at([1.0, 1.0, 3.0, 2.0])))
"""
    )
    assert shown.splitlines() == [
        "[ 1.  1. -1.] [ 1.  1. -1.] [ 1.  1. -1.] [ 1.  1. -1.]",
        "[0. 1.] 2.0",
        "0.0 1.0 0.0 1.0 0.0 1.0",
        "[0. 0. 1. 0. 0.]",
        "1.0 1.0 nan nan",
        "[nan nan] [ 1. -1.] [nan nan]",
        "[1. 0. 1. 0.]",
    ]


def test_matrices_with_nan_have_nan_for_their_factors():
    shown = output(
        START
        + """
x = at([[[jnp.nan, 1.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
print(jnp.linalg.svd(x).S, jax.jit(jnp.linalg.svdvals)(x), jnp.linalg.eigvals(x[1]).dtype, jnp.linalg.pinv(x)[:, 0, 0])
print(jnp.linalg.matrix_power(x[1] * 0, -1), jax.scipy.linalg.cho_solve((x[0], True), jnp.ones(2)))
"""
    )
    assert shown.replace("\n ", "").splitlines() == [
        "[[nan nan][ 2.  1.]] [[nan nan][ 2.  1.]] complex64 [nan 0.5]",
        "[[nan nan][nan nan]] [nan nan]",
    ]


def test_rules_do_not_have_the_function_called_once_more():
    shown = output(
        START
        + """
seen = []
@jax.custom_vjp
def f(x): seen.append("f"); return x * 2
f.defvjp(lambda x: (seen.append("forward"), (x * 2, None))[1], lambda _, ct: (ct * 3,))
print(grad(f)(1.0), jax.jit(grad(f))(1.0), seen)
def g(x): seen.append("g"); return x
print(jax.jit(g)(1.0), jax.jit(g)(2.0), seen[2:])
with jax.debug_nans(True):
    try:
        at([0.0]) / 0.0
    except FloatingPointError:
        print("NaN")
"""
    )
    assert shown.splitlines() == ["3.0 3.0 ['forward', 'forward']", "1.0 2.0 ['g']", "NaN"]
