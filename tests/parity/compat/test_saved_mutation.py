"""Saved Tensors that are modified in place under `allow_mutation_on_saved_tensors`, against torch."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.saving import product, values
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()


def allowed(torch):
    return torch.autograd.graph.allow_mutation_on_saved_tensors()


@scenario
def modified(torch):
    with allowed(torch):
        a = values(torch, 1.0, 2.0)
        b = a.clone()
        out = (b**2).sum()
        modified = b.sin_()
        out.backward()
    return a.grad, modified


@scenario
def counts(torch):
    with allowed(torch) as context:
        a = values(torch, 1.0, 2.0)
        b = a.clone()
        out = b * b
        found = [len(context.tid_to_weakhandle), len(context.cloned)]
        b.fill_(1)
        found.append(len(context.cloned))
        b.fill_(2)
        found.append(len(context.cloned))
        out.sum().backward()
        found += [len(context.tid_to_weakhandle), len(context.cloned)]
    return found, len(context.cloned), len(context.tid_to_weakhandle), a.grad


@scenario
def only_what_is_still_saved(torch):
    with allowed(torch) as context:
        a = values(torch, 1.0, 2.0)
        b = a.clone()
        out = (b * b).sum()
        out.backward()
        b.fill_(0)
        c = a.clone()
        out = (c * c).sum()
        del out
        c.fill_(0)
        return len(context.cloned)


@scenario
def modified_twice(torch):
    with allowed(torch):
        a = values(torch, 2.0, 3.0)
        b = a.clone()
        first = b**2
        b.mul_(3)
        second = b**2
        b.mul_(5)
        (first + second + b).sum().backward()
    return a.grad


@scenario
def the_base_of_a_saved_view(torch):
    with allowed(torch):
        a = values(torch, 1.0, 2.0, 3.0)
        b = a.clone()
        view = b[:2]
        out = (view**2).sum()
        b.mul_(5)
        out.backward()
    return a.grad


@scenario
def an_out_argument(torch):
    with allowed(torch):
        a, c = values(torch, 1.0, 2.0), torch.tensor([3.0, 4.0])
        out = (a * c).sum()
        torch.add(torch.ones(2), 1, out=c)
        out.backward()
    return a.grad, c


@scenario
def a_saved_result(torch):
    with allowed(torch):
        a = values(torch, 1.0, 2.0)
        b = a.exp()
        b.mul_(3)
        b.sum().backward()
    return a.grad


@scenario
def many_ways_of_writing(torch):
    ways = [
        lambda b: b.__setitem__(0, 7.0),
        lambda b: b.fill_(3.0),
        lambda b: b.copy_(torch.zeros(2)),
        lambda b: b.zero_(),
        lambda b: b.uniform_(),
        lambda b: b.normal_(),
        lambda b: b.index_put_((torch.tensor([0]),), torch.tensor(4.0)),
        lambda b: b.masked_fill_(b > 0, 3.0),
        lambda b: b.index_fill_(0, torch.tensor([0]), 9.0),
        lambda b: b.__imul__(3),
        lambda b: b.data.add_(3),
        lambda b: b.detach().add_(1),
        lambda b: b.clamp_(max=0.5),
        lambda b: b.exp_().sin_(),
    ]
    found = []
    with allowed(torch):
        for write in ways:
            a = values(torch, 2.0, 3.0)
            b = a.clone()
            out = (b**3).sum()
            write(b)
            out.backward()
            found.append(a.grad)
    return found


@scenario
def parameters_and_optimizers(torch):
    with allowed(torch):
        weight = values(torch, 2.0, 3.0)
        out = (weight * weight).sum()
        optimizer = torch.optim.SGD([weight], lr=0.5)
        out.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        out.backward(retain_graph=True)
        with torch.no_grad():
            weight.zero_()
        out.backward()
    return weight, weight.grad


@scenario
def modules(torch):
    with allowed(torch):
        layer = torch.nn.Linear(2, 2)
        x = torch.ones(1, 2)
        out = layer(x).sum()
        x.zero_()
        with torch.no_grad():
            layer.weight.zero_()
        out.backward()
    return layer.weight.grad


@scenario
def functions(torch):
    with allowed(torch):
        x, y = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
        a, b = x.clone(), y.clone()
        out = product(torch)(a, b)
        a.zero_()
        b.zero_()
        out.sum().backward()
    return x.grad, y.grad


@scenario
def double_backward(torch):
    with allowed(torch):
        a = values(torch, 2.0, 3.0)
        b = a.clone()
        out = (b**3).sum()
        b.sin_()
        (first,) = torch.autograd.grad(out, a, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), a)
    return first, second


@scenario
def what_is_saved_is_what_was(torch):
    with allowed(torch):
        a = values(torch, 2.0, 3.0)
        b = a.clone()
        out = b**2
        b.mul_(3)
        saved = out.grad_fn._saved_self
        return saved, saved.grad_fn is b.grad_fn


@scenario
def with_hooks_inside(torch):
    with allowed(torch):
        a = values(torch, 2.0, 3.0)
        b = a.clone()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            out = b**2
        b.mul_(3)
        out.sum().backward()
    return a.grad


@scenario
def recorded_before(torch):
    a = values(torch, 2.0, 3.0)
    b = a.clone()
    out = (b * b).sum()
    with allowed(torch):
        b.fill_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


@scenario
def nested(torch):
    with allowed(torch), allowed(torch):
        return None


@scenario
def again_after_nested(torch):
    with pytest.raises(RuntimeError, match="nested"), allowed(torch), allowed(torch):
        pass
    with allowed(torch):
        return "entered"


@scenario
def disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"), allowed(torch):
        return None


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("inside_another", [False, True])
def test_backward_belongs_inside(library, writes, inside_another):
    with allowed(library):
        b = values(library, 1.0, 2.0).clone()
        out = (b * b).sum()
        if writes:
            b.sin_()
    message = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    with pytest.raises(AssertionError, match=message):
        if inside_another:
            with allowed(library):
                out.backward()
        else:
            out.backward()


def test_views_of_what_was_saved_and_saved_views():
    """torch goes by the identity of Tensors, and has lost these entries."""
    with allowed(fxt):
        a = values(fxt, 1.0, 1.0, 1.0, 1.0)
        b = a.clone()
        out = (b[:2] ** 2).sum() + (b**3).sum()
        b[1:3].mul_(5)
        b[0] = 7.0
        b.mul_(3)
        out.backward()
    assert a.grad.tolist() == [5, 5, 3, 3]


def test_what_does_not_tell_that_it_modifies_is_found_out():
    with allowed(fxt):
        x, y = values(fxt, 1.0, 2.0), values(fxt, 3.0, 4.0)
        (x * x).sum().backward()
        out = (x.grad * y).sum()
        (x * x).sum().backward()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()
        again = (x.grad * y).sum()
        again.backward()
    assert y.grad.tolist() == [4, 8]


def test_inside_transforms():
    with allowed(fxt):
        x = fxt.tensor([1.0, 2.0])
        assert fxt.func.hessian(lambda t: (t**3).sum())(x).diagonal().tolist() == [6, 12]
        assert fxt.func.vmap(fxt.func.grad(lambda t: t**3))(x).tolist() == [3, 12]
