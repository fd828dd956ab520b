"""Roots and integrals of functions, with first and second derivatives.

packages: xitorch
tolerance: 1e-4
"""

import torch
import xitorch.integrate as xi
import xitorch.optimize as xo


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
a = torch.tensor([1.1, 0.4], dtype=torch.float64, requires_grad=True)


def f(y, a):
    return torch.tanh(a * y + 0.1) + y / 2.0


r = xo.rootfinder(f, torch.zeros(2, dtype=torch.float64), params=(a,), method="broyden1")
(g,) = torch.autograd.grad(r.sum(), a, create_graph=True)
(g2,) = torch.autograd.grad(g.sum(), a)
print_numbers(r.sum(), g.norm(), g2.norm(), xi.quad(lambda x, a: (a * x).sin().sum(), 0.0, 1.0, params=(a,)))
