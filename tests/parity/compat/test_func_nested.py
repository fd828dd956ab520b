"""The transforms of torch.func within one another, and with backward() and autograd.grad inside and outside."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]
TRANSFORMS = ["grad", "vmap", "jvp", "jacrev", "jacfwd"]


def numbers(torch):
    return torch.tensor([0.5, -1.0, 2.0])


def function(x):
    return (x * x.sin()).sum() * x.exp()


def transformed(torch, name, f):
    """A function of a vector, of one."""
    func = torch.func
    return {
        "grad": lambda x: func.grad(lambda a: f(a).sum())(x),
        "vmap": lambda x: func.vmap(lambda a, b: f(b) * a, in_dims=(0, None))(x, x).sum(0),
        "jvp": lambda x: func.jvp(f, (x,), (x,))[1],
        "jacrev": lambda x: func.jacrev(f)(x).sum(0),
        "jacfwd": lambda x: func.jacfwd(f)(x).sum(1),
    }[name]


@pytest.mark.parametrize("outer", TRANSFORMS)
@pytest.mark.parametrize("inner", TRANSFORMS)
def test_two_levels_under_backward(outer, inner):
    def run(torch):
        x = numbers(torch).requires_grad_()
        y = transformed(torch, outer, transformed(torch, inner, function))(x)
        return y, torch.autograd.grad(y.sum(), x)

    check(run)


@scenario
def three_levels(torch):
    grad, vmap = torch.func.grad, torch.func.vmap
    x = numbers(torch)
    third = vmap(grad(grad(grad(lambda a: a.sin() * a * a))))(x)
    mixed = grad(lambda a: vmap(grad(lambda b: (b * b * a.sum()).sin()))(a).sum())(x)
    return third, mixed


@scenario
def a_tensor_of_each_level(torch):
    grad = torch.func.grad
    w = numbers(torch).requires_grad_()

    def outer(x):
        return grad(lambda y: (w * x * y * y).sum())(x * 2).sum()

    g = grad(outer)(numbers(torch))
    return g, torch.autograd.grad(g.sum(), w)


@scenario
def autograd_grad_inside(torch):
    def inside(x):
        y = x * 1
        (g,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
        return (g * g).sum()

    return torch.func.grad(inside)(numbers(torch))


@scenario
def a_gradient_of_each_entry(torch):
    w = torch.arange(6.0).reshape(3, 2)
    x = torch.arange(12.0).reshape(4, 3) / 10

    def loss(w, row):
        return (row @ w).tanh().sum()

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)


@scenario
def a_pullback_in_a_batch(torch):
    x = numbers(torch)
    _, pull = torch.func.vjp(function, x)
    return torch.func.vmap(pull)(torch.eye(3)), torch.func.vmap(lambda v: pull(v)[0].sum())(torch.eye(3))


@scenario
def views_and_modifications(torch):
    def scribble(x):
        y = x.sin()
        v = y.view(-1)[1:]
        v.mul_(2)
        y[0] += v[1]
        return y * y

    return [transformed(torch, name, scribble)(numbers(torch)) for name in TRANSFORMS]


@scenario.each()
def test_alike(scenario):
    check(scenario)


def eager(x):
    """The gradient of a function, by code without transforms."""
    y = x.detach().requires_grad_()
    for _ in range(2):
        (y.sin() * y).sum().backward()
    return y.grad


def test_backward_in_a_batch():
    x = numbers(fxt)
    np.testing.assert_allclose(fxt.vmap(eager)(x).numpy(), eager(x).numpy())


def test_requires_grad_in_nested_batches():
    x = fxt.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(fxt.vmap(fxt.vmap(eager))(x).numpy(), eager(x).numpy())


def test_backward_in_a_batch_is_differentiated():
    x = numbers(fxt)

    def inner(a, w):
        y = (a.detach() * 1).requires_grad_()
        (y * y * w).sum().backward()
        return y.grad

    g = fxt.func.grad(lambda w: fxt.vmap(inner, in_dims=(0, None))(x, w).sum())(fxt.tensor(3.0))
    np.testing.assert_allclose(g.numpy(), 2 * x.numpy().sum())
