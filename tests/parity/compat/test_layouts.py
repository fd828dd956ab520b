"""The memory layout of accumulated gradients: the four rules of torch's "default gradient layouts", and manual ones."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings(  # torch's, of its reference cycle and of manual layouts
    "ignore:Using backward:UserWarning", "ignore:grad and param do not obey:UserWarning"
)

# Parameters by how they lie in memory: dense ones in any order of axes, and others.
LAYOUTS = {
    "rows": lambda t: t.arange(24.0).reshape(2, 3, 4),
    "transposed": lambda t: t.arange(24.0).reshape(2, 3, 4).transpose(0, 2),
    "permuted": lambda t: t.arange(24.0).reshape(2, 3, 4).permute(1, 0, 2),
    "with gaps": lambda t: t.arange(48.0).reshape(2, 3, 8)[:, :, ::2],
    "expanded": lambda t: t.arange(3.0).reshape(1, 3, 1).expand(2, 3, 4),
    "one column": lambda t: t.arange(12.0).reshape(3, 4)[:, :1],
    "number": lambda t: t.tensor(2.0),
    "empty": lambda t: t.zeros(0, 3),
}


def losses(x, w):
    """Functions whose gradients come in various layouts."""
    return {"pointwise": lambda: (x * x * w).sum(), "broadcast": lambda: x.sum()}


@pytest.mark.parametrize("loss", ["pointwise", "broadcast"])
@pytest.mark.parametrize("create", [False, True], ids=["", "create_graph"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_lie_as_their_parameters_do(layout, loss, create):
    found = []
    for library in (fxt, torch):
        x = LAYOUTS[layout](library).detach().requires_grad_()
        w = library.ones(tuple(x.shape))
        losses(x, w)[loss]().backward(create_graph=create)
        first = x.grad
        strides = tuple(first.stride())
        losses(x, w)[loss]().backward(create_graph=create)
        found.append((strides, tuple(x.grad.stride()), x.grad is first, x.grad.tolist()))
    assert found[0] == found[1]


@scenario
def a_matrix_product(torch):
    seen = []
    for w in (torch.ones(3, 4), torch.ones(4, 3).t()):
        w = w.detach().requires_grad_()
        (torch.ones(2, 3) @ w).sum().backward()
        seen.append((w.grad, w.grad.stride()))
    return [(g, tuple(s)) for g, s in seen]


@scenario
def a_manual_layout_is_kept(torch):
    x = torch.ones(3, 4, requires_grad=True)
    x.grad = g = torch.zeros(4, 3).t()
    for _ in range(2):
        (x * 2).sum().backward()
    return x.grad, tuple(x.grad.stride()), x.grad is g


@scenario
def a_graph_replaces_the_gradient(torch):
    x = torch.ones(3, 4, requires_grad=True)
    x.grad = g = torch.zeros(3, 4)
    (x * x).sum().backward(create_graph=True)
    return x.grad, x.grad is g, g, x.grad.requires_grad


@scenario
def a_gradient_is_added_to_in_place(torch):
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    g, version = x.grad, x.grad._version
    view = g[1:]
    x.sum().backward()
    return view, x.grad is g, x.grad._version - version


@scenario
def a_gradient_that_was_used_and_then_added_to(torch):
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    y = (x.grad * x).sum()
    y.backward(retain_graph=True)
    return "added"


@scenario
def the_gradient_given_is_not_the_gradient_kept(torch):
    x = torch.ones(3, requires_grad=True)
    v = torch.ones(3)
    x.backward(v)
    x.grad.mul_(5)
    return v, x.grad


@scenario
def two_leaves_do_not_share_a_gradient(torch):
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (x + y).sum().backward()
    x.grad.mul_(5)
    return x.grad, y.grad


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


def test_a_gradient_that_nobody_else_has_is_not_copied():
    made = []

    class Times(fxt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, gradient):
            new = gradient * 3
            made.append(new.data_ptr())
            return new

    x = fxt.ones(300, 300, requires_grad=True)
    Times.apply(x).sum().backward()
    assert x.grad.data_ptr() == made[0]
