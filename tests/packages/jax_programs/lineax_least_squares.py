"""Least squares by QR and singular values, and Jacobians as operators.

packages: lineax
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import lineax as lx

m = jax.random.normal(jax.random.PRNGKey(0), (4, 2))
v = jnp.arange(4.0)
for solver in (lx.QR(), lx.SVD(), lx.AutoLinearSolver(well_posed=None)):
    print(lx.linear_solve(lx.MatrixLinearOperator(m), v, solver).value.tolist())
print(lx.linear_solve(lx.MatrixLinearOperator(m.T), v[:2], lx.QR()).value.tolist())
operator = lx.JacobianLinearOperator(lambda y, args: y**3 + y[0], jnp.array([1.0, 2, 3]))
print(operator.as_matrix().tolist(), lx.linear_solve(operator, jnp.ones(3)).value.tolist())
print((operator.T @ lx.DiagonalLinearOperator(jnp.arange(3.0))).mv(jnp.ones(3)).tolist())
