"""Linear solves chosen by the operator's structure, mapped and differentiated.

packages: lineax
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import lineax as lx

m = jax.random.normal(jax.random.PRNGKey(0), (4, 4))
v = jnp.arange(4.0)
print(lx.linear_solve(lx.MatrixLinearOperator(m), v).value.tolist())
print(jax.grad(lambda m: jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(m), v).value))(m).tolist())
print(jax.vmap(lambda v: lx.linear_solve(lx.MatrixLinearOperator(m), v).value)(m).tolist())
lower = lx.MatrixLinearOperator(jnp.tril(m), lx.lower_triangular_tag)
print(lx.linear_solve(lower, v).value.tolist())
tridiagonal = lx.TridiagonalLinearOperator(jnp.full(4, 3.0), jnp.ones(3), jnp.full(3, -1.0))
print(lx.linear_solve(tridiagonal, v).value.tolist(), tridiagonal.as_matrix().tolist())
