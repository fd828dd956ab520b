"""Riemannian optimizers: the leading subspace of a matrix on the Stiefel manifold, a mean in hyperbolic space.

packages: geoopt
tolerance: 1e-4
"""

import geoopt
import torch

torch.manual_seed(0)
A = torch.randn(6, 6, dtype=torch.float64)
A = A @ A.mT
stiefel = geoopt.Stiefel()
X = geoopt.ManifoldParameter(stiefel.projx(torch.randn(6, 2, dtype=torch.float64)), manifold=stiefel)
optimizer = geoopt.optim.RiemannianSGD([X], lr=1e-2, momentum=0.9)
for _ in range(15):
    optimizer.zero_grad()
    loss = -torch.trace(X.mT @ A @ X)
    loss.backward()
    optimizer.step()
print(loss.item(), (X.mT @ X).flatten().tolist())

ball = geoopt.PoincareBall(c=1.0)
points = ball.projx(0.5 * torch.randn(5, 2, dtype=torch.float64))
mean = geoopt.ManifoldParameter(torch.zeros(2, dtype=torch.float64), manifold=ball)
optimizer = geoopt.optim.RiemannianAdam([mean], lr=5e-2)
for _ in range(15):
    optimizer.zero_grad()
    loss = ball.dist(mean, points).square().sum()
    loss.backward()
    optimizer.step()
print(loss.item(), mean.tolist(), ball.mobius_add(points[0], points[1]).tolist())
