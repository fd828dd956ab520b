"""Rotations as a Lie group: exponential, action, logarithm.

packages: pypose
tolerance: 1e-4
"""

import pypose as pp
import torch


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
x = pp.randn_so3(3, requires_grad=True)
R = x.Exp()
p = torch.randn(3, 3)
y = (R @ p).square().sum() + R.Log().tensor().sum()
y.backward()
print_numbers(y, x.grad.norm(), (R * R.Inv()).tensor().norm())
