"""A convex program as a layer: the solution and its derivative.

packages: cvxpylayers
tolerance: 1e-3
"""

import cvxpy as cp
import torch
from cvxpylayers.torch import CvxpyLayer

x, A, b = cp.Variable(2), cp.Parameter((3, 2)), cp.Parameter(3)
problem = cp.Problem(cp.Minimize(0.5 * cp.pnorm(A @ x - b, p=1)), [x >= 0])
layer = CvxpyLayer(problem, parameters=[A, b], variables=[x])
torch.manual_seed(0)
a, c = torch.randn(3, 2, requires_grad=True), torch.randn(3, requires_grad=True)
(solution,) = layer(a, c)
solution.sum().backward()
print(solution.tolist(), a.grad.norm().item(), c.grad.norm().item())
