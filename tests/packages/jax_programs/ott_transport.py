"""Optimal transport of point clouds by the Sinkhorn algorithm, and its derivative.

packages: ott-jax
tolerance: 1e-3
"""

import jax
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

x = jax.random.normal(jax.random.PRNGKey(0), (6, 2))
y = jax.random.normal(jax.random.PRNGKey(1), (7, 2)) + 1.0


def cost(x):
    geom = pointcloud.PointCloud(x, y, epsilon=0.5)
    return sinkhorn.Sinkhorn()(linear_problem.LinearProblem(geom)).reg_ot_cost


out = sinkhorn.Sinkhorn()(linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.5)))
print(bool(out.converged), float(out.reg_ot_cost), out.matrix.sum(1).tolist())
print(jax.grad(cost)(x).tolist())
