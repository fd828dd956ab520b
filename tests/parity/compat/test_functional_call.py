"""Modules as functions of their parameters: as torch has it, and under the transforms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)


def model(T):
    class Tied(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = T.nn.Linear(2, 2, bias=False)
            self.b = T.nn.Linear(2, 2, bias=False)
            with T.no_grad():
                self.a.weight.copy_(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
            self.b.weight = self.a.weight
            self.register_buffer("n", T.zeros(()))

        def forward(self, x, k=1):
            self.n = self.n + 1
            return self.b(self.a(x)) * k

    return Tied()


CALLS = [
    "call(m, {'a.weight': W}, x)",
    "call(m, {'a.weight': W}, x, tie_weights=False)",
    "call(m, {'a.weight': W, 'b.weight': 2 * W}, x, tie_weights=False)",
    "call(m, {'a.weight': W, 'c': W}, x)",
    "call(m, {'a.weight': W, 'n': x.sum()}, (x,), {'k': 3}, strict=True)",
    "call(m, ({'a.weight': W}, {'n': x.sum()}), (x,), {'k': 3})",
    "call(m, {}, (x, 2))",
]
MISUSE = [
    "call(m, {'a.weight': W, 'b.weight': 2 * W}, x)",
    "call(m, {'a.weight': W}, x, strict=True)",
    "call(m, {'c': W}, x, strict=True)",
    "call(m, 3, x)",
    "call(m, ({'a.weight': W}, {'a.weight': W}), x)",
    "call(m, {'a.weight': 3}, x)",
    "call(m, {'a': W}, x)",
    "call(m, {'': W}, x)",
    "stack([])",
    "stack([T.nn.Linear(1, 1), T.nn.ReLU()])",
    "stack([T.nn.Linear(1, 1), T.nn.Linear(1, 1).eval()])",
]


def names(T):
    m = model(T)
    call, stack = T.func.functional_call, T.func.stack_module_state
    return {"T": T, "m": m, "call": call, "stack": stack, "W": T.eye(2), "x": T.tensor([1.0, 3.0])}


@pytest.mark.parametrize("code", CALLS)
def test_calls(code):
    def run(T):
        scope = names(T)
        result = eval(code, scope)
        m = scope["m"]
        return (
            result.tolist(),
            result.requires_grad,
            m.a.weight is m.b.weight,
            m.a.weight.tolist(),
            m.n.item(),
        )

    assert run(fxt) == run(torch)


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = {}
    for T in LIBRARIES:
        with pytest.raises(Exception) as caught:
            eval(code, names(T))
        errors[T] = caught.value
    assert isinstance(errors[fxt], built_in(errors[torch]))
    assert str(errors[fxt]).partition("\n  at:")[0] == str(errors[torch])


def test_assigned_buffers_are_in_the_dict():
    def run(T):
        m, given = model(T), {"n": T.ones(())}
        T.func.functional_call(m, given, T.ones(2))
        return given["n"].item(), m.n.item()

    assert run(fxt) == run(torch)


def test_the_module_is_restored_after_an_error():
    m = model(fxt)
    weight = m.a.weight
    with pytest.raises(RuntimeError):
        fxt.func.functional_call(m, {"a.weight": fxt.eye(2)}, fxt.ones(3))
    assert m.a.weight is weight and m.b.weight is weight


def test_gradients_of_an_ensemble():
    def run(T):
        nets = [
            T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3), T.nn.Tanh()).double() for _ in range(3)
        ]
        with T.no_grad():
            for i, net in enumerate(nets):
                for p in net.parameters():
                    p.copy_(T.arange(p.numel(), dtype=T.float64).view_as(p).cos() + i)
        params, buffers = T.func.stack_module_state(nets)
        x = T.arange(8.0, dtype=T.float64).view(4, 2)

        def loss(params, buffers, x):
            return T.func.functional_call(nets[0].eval(), (params, buffers), x).pow(2).sum()

        grads = T.func.vmap(T.func.grad(loss), (0, 0, None))(params, buffers, x)
        leaves = {name: (tuple(p.shape), p.is_leaf, p.requires_grad) for name, p in params.items()}
        return {name: g.detach().numpy() for name, g in grads.items()}, leaves, list(buffers)

    (theirs, *their_rest), (ours, *our_rest) = map(run, LIBRARIES)
    assert our_rest == their_rest
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-10, atol=1e-12)


def test_gradients_of_each_sample():
    def run(T):
        net = T.nn.Linear(3, 1).double()
        with T.no_grad():
            for p in net.parameters():
                p.copy_(T.arange(p.numel()).view_as(p) * 0.1)
        params = {name: p.detach() for name, p in net.named_parameters()}
        x = T.arange(6.0, dtype=T.float64).view(2, 3)
        loss = lambda params, x: T.func.functional_call(net, params, x).square().sum()  # noqa: E731
        return T.func.vmap(T.func.grad(loss), (None, 0))(params, x)

    theirs, ours = map(run, LIBRARIES)
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name].numpy(), value.numpy(), rtol=1e-12)
