"""A physics-informed network for the equation of Poisson.

packages: deepxde
tolerance: 1e-3
"""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import deepxde as dde
import numpy as np
import torch

dde.config.set_random_seed(0)
torch.set_default_device("cpu")


def equation(x, y):
    return dde.grad.hessian(y, x) + np.pi**2 * torch.sin(np.pi * x)


with contextlib.redirect_stdout(io.StringIO()):
    line = dde.geometry.Interval(-1, 1)
    boundary = dde.icbc.DirichletBC(line, lambda x: 0, lambda _, on_boundary: on_boundary)
    data = dde.data.PDE(line, equation, boundary, 16, 2, num_test=20)
    model = dde.Model(data, dde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=1e-3)
    losses, _ = model.train(iterations=20, display_every=10, verbose=0)
print([float(v) for row in losses.loss_train for v in row])
print(model.predict(np.array([[0.3], [-0.5]])).flatten().tolist())
