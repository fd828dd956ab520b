"""Case 14: the gradient of a neural differential equation by fxgrad and by torchdiffeq.

Needs torch and torchdiffeq: pip install torch==2.13.0 torchdiffeq
"""

from .measuring import digits, milliseconds, store  # isort: skip  (it sets the number of threads)

import numpy as np
import torch
import torchdiffeq

import fxgrad as fx

from . import hamiltonian as case

START, TIMES = np.array([1.0, 0.0]), np.linspace(0, 4, 21)
TARGET = np.stack([np.cos(TIMES), -np.sin(TIMES)], axis=1)
TOLERANCE = 1e-8


class Field(torch.nn.Module):
    """The network of the slopes, with given parameters."""

    def __init__(self, params):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(*w.shape) for w, _ in params])
        with torch.no_grad():
            for layer, (weights, bias) in zip(self.layers, params, strict=True):
                layer.weight.copy_(torch.tensor(weights.T))
                layer.bias.copy_(torch.tensor(bias))

    def forward(self, t, z):
        for layer in self.layers[:-1]:
            z = torch.tanh(layer(z))
        return self.layers[-1](z)


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    params = case.init(2)
    field, start, times, target = Field(params), *map(torch.tensor, (START, TIMES, TARGET))

    def by_torchdiffeq(solve):
        def gradient():
            field.zero_grad()
            states = solve(field, start, times, method="dopri8", rtol=TOLERANCE, atol=TOLERANCE)
            (states - target).square().mean().backward()
            return field.layers[0].weight.grad.numpy().T

        return gradient

    through_steps, adjoint = fx.grad(case.misfit), fx.jit(case.adjoint_gradient)
    jitted = fx.jit(through_steps)
    ways = {
        "fxgrad, through the steps": lambda: through_steps(params, START, TIMES, TARGET)[0][0],
        "fxgrad, through the steps, jitted": lambda: jitted(params, START, TIMES, TARGET)[0][0],
        "fxgrad, adjoint equation, jitted": lambda: adjoint(params, START, TIMES, TARGET)[0][0],
        "torchdiffeq, through the steps": by_torchdiffeq(torchdiffeq.odeint),
        "torchdiffeq, adjoint equation": by_torchdiffeq(torchdiffeq.odeint_adjoint),
    }
    times_of = milliseconds(ways, rounds=3)
    expected = ways["torchdiffeq, through the steps"]().copy()
    rows = [["gradient", "ms", "largest difference"]]
    for way, gradient in ways.items():
        difference = np.abs(gradient() - expected).max() / np.abs(expected).max()
        rows.append([way, digits(times_of[way]), f"{difference:.0e}"])
    store("ode", "torch torchdiffeq", {"gradients": rows})


if __name__ == "__main__":
    main()
