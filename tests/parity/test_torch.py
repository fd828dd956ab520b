"""torch.func as a second oracle."""

import numpy as np
import pytest
import torch

import fxgrad as fx
import fxgrad.numpy as fnp

# torch warns of itself when it first uses forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")

rng = np.random.default_rng(5)
W, B = rng.normal(size=(2, 3)), rng.normal(size=2)
X = rng.normal(size=(4, 3))


def loss(tanh, w, b, x):
    h = tanh(w @ x + b)
    return (h * h).sum() + (h[0] * x).sum()


def ours(w, b, x):
    return loss(fnp.tanh, w, b, x)


def theirs(w, b, x):
    return loss(torch.tanh, w, b, x)


# (transformed function of ours, of torch's; arguments)
PAIRS = {
    "grad": (fx.grad(ours, (0, 1, 2)), torch.func.grad(theirs, (0, 1, 2)), (W, B, X[0])),
    "grad_and_value": (
        lambda *a: fx.value_and_grad(ours)(*a)[::-1],
        torch.func.grad_and_value(theirs),
        (W, B, X[0]),
    ),
    "per-sample gradients": (
        fx.vmap(fx.grad(ours), (None, None, 0)),
        torch.func.vmap(torch.func.grad(theirs), (None, None, 0)),
        (W, B, X),
    ),
    "vmap, axes": (
        fx.vmap(lambda a, x: (a * x, x), in_axes=(None, 1), out_axes=(1, 0)),
        torch.func.vmap(lambda a, x: (a * x, x), in_dims=(None, 1), out_dims=(1, 0)),
        (B, W),
    ),
    "jacrev": (fx.jacrev(ours, (0, 2)), torch.func.jacrev(theirs, (0, 2)), (W, B, X[0])),
    "jacfwd of a vector": (
        fx.jacfwd(lambda w, x: fnp.sin(w @ x)),
        torch.func.jacfwd(lambda w, x: torch.sin(w @ x)),
        (W, X[0]),
    ),
    "hessian": (fx.hessian(ours, 2), torch.func.hessian(theirs, 2), (W, B, X[0])),
    "per-sample hessians": (
        fx.vmap(fx.hessian(ours, 2), (None, None, 0)),
        torch.func.vmap(torch.func.hessian(theirs, 2), (None, None, 0)),
        (W, B, X),
    ),
    "jvp": (
        lambda w, b, x: fx.jvp(ours, (w, b, x), (w, b, x)),
        lambda w, b, x: torch.func.jvp(theirs, (w, b, x), (w, b, x)),
        (W, B, X[0]),
    ),
    "vjp": (
        lambda w, x: fx.vjp(lambda w, x: fnp.exp(w @ x), w, x)[1](B),
        lambda w, x: torch.func.vjp(lambda w, x: torch.exp(w @ x), w, x)[1](torch.tensor(B)),
        (W, X[0]),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(name):
    mine, other, arguments = PAIRS[name]
    results = fx.tree.leaves(mine(*arguments))
    expected = fx.tree.leaves(other(*map(torch.tensor, arguments)))
    assert len(results) == len(expected)
    for a, b in zip(results, expected):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-12, atol=1e-14)
