"""Saved-tensor hooks against torch in programs: Functions, checkpoints, transforms, models."""

from __future__ import annotations

import weakref

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.saving import doubling, noting, product, same, values
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


@scenario
def functions(torch):
    log = []
    x, y = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
    b = y * 1
    with noting(torch, log):
        out = product(torch)(x, b)
    left, right, none, result = out.grad_fn.saved_tensors
    out.sum().backward()
    return (
        log, left is x, left.requires_grad, right.grad_fn is b.grad_fn, none, result.grad_fn is out.grad_fn, x.grad,
        y.grad,
    )  # fmt: skip


@scenario
def functions_use_what_is_unpacked(torch):
    x, y = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
    with doubling(torch):
        out = product(torch)(x, y)
    out.sum().backward()
    return x.grad, y.grad


@scenario
def functions_in_double_backward(torch):
    x, y = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        out = product(torch)(x, y) * x
        gradient = torch.autograd.grad(out.sum(), (x, y), create_graph=True)
        (gradient[0] * gradient[1]).sum().backward()
    return x.grad, y.grad


@scenario
def checkpoints(torch):
    log = []
    x = values(torch, 1.0, 2.0)

    def block(t):
        return t.sin().exp() * t

    with noting(torch, log):
        y = torch.utils.checkpoint.checkpoint(block, x.exp(), use_reentrant=False)
        count = len(log)
        loss = (y * y).sum()
    loss.backward()
    return count > 0, x.grad


@scenario
def hooks_inside_a_checkpoint(torch):
    x = values(torch, 1.0, 2.0)

    def block(t):
        with torch.autograd.graph.saved_tensors_hooks(lambda v: v.detach().clone(), same):
            return t.sin().exp() * t

    torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum().backward()
    return x.grad


@scenario
def jvp(torch):
    def f(t):
        with torch.autograd.graph.saved_tensors_hooks(lambda v: v.detach(), same):
            return (t * t).sum()

    x = torch.tensor([1.0, 2.0])
    return torch.func.jvp(f, (x,), (x,))


@scenario
def duals(torch):
    forward_ad = torch.autograd.forward_ad
    x, found = values(torch, 1.0, 2.0), []
    for pack in (same, lambda t: t.detach()):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.tensor([0.5, 0.25]))
            with torch.autograd.graph.saved_tensors_hooks(pack, same):
                y = (dual * dual * dual.exp()).sum()
            found += forward_ad.unpack_dual(torch.autograd.grad(y, x)[0])
    return found


@scenario
def indices(torch):
    log = []
    x = values(torch, 1.0, 2.0, 3.0)
    with noting(torch, log):
        y = x[torch.tensor([2, 0])]
        z = x.index_select(0, torch.tensor([1, 1]))
    (y * z).sum().backward()
    return log, x.grad


@scenario
def indices_are_freed(torch):
    x = values(torch, 1.0, 2.0, 3.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        y = x[torch.tensor([2, 0])].sum()
    y.backward()
    y.backward()


@scenario
def vmap(torch):
    x = torch.ones(2, 3, requires_grad=True)

    def f(t):
        with torch.autograd.graph.saved_tensors_hooks(lambda v: v.detach(), same):
            return (t * t.exp()).sum()

    torch.func.vmap(f)(x).sum().backward()
    return x.grad


@scenario
def models(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.ReLU(inplace=True), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)
    )
    for p in model.parameters():
        torch.nn.init.constant_(p, 0.3)
    x = torch.linspace(0, 1, 6).reshape(2, 3)
    with torch.autograd.graph.save_on_cpu():
        loss = model(x).square().sum()
    loss.backward()
    return [p.grad for p in model.parameters()]


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


# -- ours -------------------------------------------------------------------------------------------------------------


def test_what_was_packed_is_kept_by_nobody():
    x = values(fxt, 1.0, 2.0, 3.0, 4.0)
    with fxt.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), fxt.tensor):
        a = x * 3
        b = a.sin()
        c = b * b
        q, r = fxt.linalg.qr(c.reshape(2, 2))
        y = (q @ r).sum()
    arrays = [weakref.ref(t._fx_value) for t in (a, b, c, q)]
    del a, b, c, q, r
    assert [array() for array in arrays] == [None] * 4
    y.backward()
    expected = fxt.autograd.grad((x * 3).sin().square().sum(), x)[0]
    assert fxt.allclose(x.grad, expected, atol=1e-4)


def test_one_derivative_of_a_transform_has_its_hooks():
    def f(t):
        with fxt.autograd.graph.saved_tensors_hooks(lambda v: v.detach().clone(), same):
            return (t.sin() * t).sum()

    x = fxt.tensor([1.0, 2.0])
    expected = fxt.func.grad(lambda t: (t.sin() * t).sum())(x)
    assert fxt.allclose(fxt.func.grad(f)(x), expected)
    assert fxt.allclose(fxt.func.vmap(fxt.func.grad(f))(x), expected)
    assert fxt.allclose(fxt.func.vjp(f, x)[1](fxt.tensor(1.0))[0], expected)


def test_a_derivative_that_hooks_would_lose_is_refused():
    def f(t):
        with fxt.autograd.graph.saved_tensors_hooks(lambda v: v.detach(), same):
            return (t * t * t).sum()

    x = fxt.tensor([1.0, 2.0])
    for derivative in (fxt.func.hessian(f), fxt.func.grad(lambda t: fxt.func.grad(f)(t).sum())):
        with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
            derivative(x)
