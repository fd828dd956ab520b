"""Rotation vectors, matrices and quaternions; the nearest rotation; interpolation.

packages: roma
tolerance: 1e-4
"""

import roma
import torch


def print_numbers(*values):
    print(*[f"{float(value):.5g}" for value in values])


torch.manual_seed(0)
v = torch.randn(5, 3, requires_grad=True)
R = roma.rotvec_to_rotmat(v)
q = roma.rotmat_to_unitquat(R)
t = roma.special_procrustes(torch.randn(4, 3, 3))
loss = R.sum() + q.square()[:, 0].sum()
loss.backward()
print_numbers(loss, v.grad.norm(), t.norm(), roma.unitquat_slerp(q[0], q[1], torch.linspace(0, 1, 3)).norm())
