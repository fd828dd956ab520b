"""Iterative solvers of lineax for operators that are functions.

packages: lineax
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import lineax as lx

m = jax.random.normal(jax.random.PRNGKey(0), (4, 4))
v = jnp.arange(4.0)
spd = lx.MatrixLinearOperator(m @ m.T + jnp.eye(4), lx.positive_semidefinite_tag)
print(lx.linear_solve(spd, v, lx.CG(1e-6, 1e-6)).value.tolist(), lx.linear_solve(spd, v).value.tolist())
general = lx.MatrixLinearOperator(m + 4 * jnp.eye(4))
print(
    lx.linear_solve(general, v, lx.BiCGStab(1e-6, 1e-6), throw=False).value.tolist(),
    lx.linear_solve(general, v, lx.GMRES(1e-6, 1e-6)).value.tolist(),
)
print(
    jax.jit(jax.vmap(jax.grad(lambda v: lx.linear_solve(spd, v, lx.CG(1e-6, 1e-6)).value.sum())))(m).tolist()
)
function = lx.FunctionLinearOperator(lambda x: {"a": 2 * x["a"] + x["b"], "b": 3 * x["b"]}, {"a": v, "b": v})
print(jax.tree.map(lambda x: x.tolist(), lx.linear_solve(function, {"a": v, "b": v}).value))
