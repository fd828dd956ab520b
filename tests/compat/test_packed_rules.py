"""Saved-tensor hooks over the functional API: every kind of rule works with residuals that went through user code."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad import lax

A = np.eye(3) * 4 + np.arange(9.0).reshape(3, 3) / 10
ROWS = np.arange(1.0, 4.0)[:, None] * np.ones(3)

by_vjp = fx.custom_vjp(lambda x: fnp.sin(x) * x)
by_vjp.defvjp(
    lambda x: (fnp.sin(x) * x, (x,)), lambda kept, g: (g * (fnp.cos(kept[0]) * kept[0] + fnp.sin(kept[0])),)
)
by_jvp = fx.custom_jvp(lambda x: fnp.sin(x) * x)
by_jvp.defjvp(lambda x, t: (fnp.sin(x[0]) * x[0], t[0] * (fnp.cos(x[0]) * x[0] + fnp.sin(x[0]))))

PROGRAMS = {
    "scan": lambda x: lax.scan(lambda c, row: (fnp.sin(c * row + c), c * c), x, ROWS)[0],
    "loop": lambda x: lax.fori_loop(0, 4, lambda i, c: fnp.sin(c) * c, x),
    "branch": lambda x: lax.cond(True, lambda v: v * v, lambda v: v, x),
    "checkpoint": lambda x: fx.checkpoint(lambda v: fnp.exp(fnp.sin(v)) * v)(x),
    "custom vjp": by_vjp,
    "custom jvp": by_jvp,
    "solve": lambda x: fnp.linalg.solve(A + fnp.diag(x), x),
    "eigenvalues": lambda x: fnp.linalg.eigvalsh(fnp.diag(x) + A.T + A) * np.arange(3.0),
    "jit": lambda x: fx.jit(lambda v: fnp.exp(fnp.sin(v)) * v)(x),
    "elementwise": lambda x: fnp.cumsum(x) * fnp.sort(x) * fnp.where(x > 0.4, x, x * x),
    "einsum": lambda x: fnp.einsum("i,j,k->ik", x, x, x),
}


def derivatives(program) -> tuple[np.ndarray, np.ndarray]:
    """The first two derivatives of the sum of the results."""
    x = torch.tensor([0.3, 0.5, 0.7], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(program(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)
    return first.detach().numpy(), second.numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_without_hooks(name):
    store: list = []

    def put(tensor):
        store.append(tensor.detach().clone())
        return len(store) - 1

    expected = derivatives(PROGRAMS[name])
    with torch.autograd.graph.saved_tensors_hooks(put, lambda place: store[place].clone()):
        found = derivatives(PROGRAMS[name])
    assert store
    for ours, right in zip(found, expected):
        np.testing.assert_allclose(ours, right, rtol=1e-12)
