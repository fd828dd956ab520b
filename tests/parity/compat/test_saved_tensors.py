"""What nodes have saved, against torch: `_saved_*`, `_raw_saved_*`, and hooks for one saved Tensor."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.saving import product, same, values
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()


def error_of(function):
    """The beginning of the error for what was modified in place."""
    with pytest.raises(RuntimeError) as caught:
        function()
    return str(caught.value).partition("]")[0]


def saved_names(node):
    return sorted(
        name for name in dir(node) if name.startswith(("_saved_", "_raw_saved_")) and "sym" not in name
    )


# -- Tensors ----------------------------------------------------------------------------------------------------------


@scenario
def operands_themselves(torch):
    a = values(torch, 1.0, 2.0)
    b, constant = a * 3, torch.tensor([5.0, 6.0])
    c, d = a * b, b * constant
    view = a[:1].exp()
    return (
        c.grad_fn._saved_self is a, c.grad_fn._saved_other is b, d.grad_fn._saved_other is constant,
        d.grad_fn._saved_self, a.sin().grad_fn._saved_self is a, (b / a).grad_fn._saved_other is a,
        (view * view).grad_fn._saved_self is view,
    )  # fmt: skip


@scenario
def operands_that_are_gone(torch):
    a = values(torch, 1.0, 2.0)
    c = (a * 3) * (a * 4)
    found = c.grad_fn._saved_self, c.grad_fn._saved_other
    return found, [t.grad_fn.name() for t in found], torch.autograd.grad(found[0].sum(), a)


@scenario
def leaves_that_are_gone(torch):
    y = values(torch, 1.0, 2.0).sin()
    leaf = y.grad_fn._saved_self
    y.sum().backward()
    return leaf.is_leaf, leaf.requires_grad, leaf.grad


@scenario
def results(torch):
    a = values(torch, 1.0, 2.0)
    y = a.exp()
    saved = y.grad_fn._saved_result
    return saved is y, saved, saved.grad_fn is y.grad_fn, torch.autograd.grad(saved.sum(), a)


@scenario
def names(torch):
    a, b = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
    m = torch.ones(2, 2, requires_grad=True)
    made = [
        a * b,
        a.exp(),
        a.sin(),
        a.sqrt(),
        m @ m,
        torch.bmm(m[None], m[None]),
        torch.atan2(a, b),
        a.tanh(),
    ]
    return [saved_names(y.grad_fn) for y in made]


@scenario
def parameters_of_operations(torch):
    a, m = values(torch, 1.0, 2.0), torch.ones(2, 2, requires_grad=True)
    gelu = torch.nn.functional.gelu(a, approximate="tanh").grad_fn
    return (
        (a**3).grad_fn._saved_exponent,
        (a**2.5).grad_fn._saved_exponent,
        (2**a).grad_fn._saved_self,
        torch.add(a, a, alpha=3).grad_fn._saved_alpha,
        a.softmax(0).grad_fn._saved_dim,
        m.var(1, correction=0).grad_fn._saved_correction,
        m.sum(1, keepdim=True).grad_fn._saved_keepdim,
        m.cumsum(1).grad_fn._saved_dim,
        gelu._saved_approximate,
        torch.nn.functional.leaky_relu(a, 0.2).grad_fn._saved_negative_slope,
        a.clamp(0, 1.5).grad_fn._saved_max,
        torch.addmm(m, m, m, beta=2).grad_fn._saved_beta,
    )


@scenario
def numbers_are_tensors(torch):
    a = values(torch, 1.0, 2.0)
    return (a * 2).grad_fn._saved_other, (a / 4).grad_fn._saved_other, (a * 2).grad_fn._saved_self


@scenario
def modified_since(torch):
    a = values(torch, 1.0, 2.0)
    b = a * 1
    c = b * b
    b.add_(1)
    return error_of(lambda: c.grad_fn._saved_self)


@scenario
def freed(torch):
    a = values(torch, 1.0, 2.0)
    y = a * a
    y.sum().backward()
    return y.grad_fn._saved_self


@scenario
def what_is_not_there(torch):
    a = values(torch, 1.0, 2.0)
    return hasattr(a.exp().grad_fn, "_saved_other"), hasattr((a + 1).grad_fn, "_raw_saved_nothing")


# -- places -----------------------------------------------------------------------------------------------------------


@scenario
def places(torch):
    a = values(torch, 1.0, 2.0)
    y = a * a
    node = y.grad_fn
    place = node._raw_saved_self
    return (
        type(place).__name__, place is node._raw_saved_self, place is node._raw_saved_other,
        type(node._raw_saved_self) is torch.autograd.SavedTensor,
    )  # fmt: skip


@scenario
def hooks_of_a_place(torch):
    a = values(torch, 1.0, 2.0)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, same)
    y.sum().backward()
    return a.grad


@scenario
def hooks_of_a_result(torch):
    a = values(torch, 1.0, 2.0)
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda x: x.detach() * 3, same)
    saved = y.grad_fn._saved_result
    y.sum().backward()
    return a.grad, saved, saved.grad_fn is y.grad_fn


@scenario
def hooks_of_a_number(torch):
    a = values(torch, 1.0, 2.0)
    y = a * 2
    y.grad_fn._raw_saved_other.register_hooks(lambda x: 2 * x, same)
    y.sum().backward()
    return a.grad


@scenario
def hooks_of_both(torch):
    a, log = values(torch, 1.0, 2.0), []

    def noting(name):
        return lambda x: (log.append(name), x.detach())[1]

    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(noting("packed self"), noting("unpacked self"))
    y.grad_fn._raw_saved_other.register_hooks(noting("packed other"), noting("unpacked other"))
    packed = list(log)
    log.clear()
    y.sum().backward(retain_graph=True)
    (gradient,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), a)
    return packed, sorted(log), a.grad, gradient, second


@scenario
def hooks_of_a_function(torch):
    x, y = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
    out = product(torch)(x, y)
    places = out.grad_fn._raw_saved_tensors
    places[1].register_hooks(lambda t: t * 5, same)
    saved = out.grad_fn.saved_tensors
    out.sum().backward()
    return len(places), saved[0] is x, saved[1], saved[1].requires_grad, saved[2], x.grad, y.grad


@scenario
def what_a_place_is_checked_for(torch):
    """Where a place has hooks, the other is still checked."""
    a = values(torch, 1.0, 2.0)
    b, c = a * 1, a * 2
    y = b * c
    y.grad_fn._raw_saved_self.register_hooks(lambda x: x.detach().clone(), same)
    b.mul_(2)
    y.sum().backward(retain_graph=True)
    c.mul_(2)
    return error_of(y.sum().backward)


@scenario
def twice(torch):
    a = values(torch, 1.0, 2.0)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(same, same)
    y.grad_fn._raw_saved_self.register_hooks(same, same)


@scenario
def after_default_hooks(torch):
    a = values(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(same, same):
        y = a * a
    y.grad_fn._raw_saved_self.register_hooks(same, same)


@scenario
def where_nothing_is_saved(torch):
    a = values(torch, 1.0, 2.0)
    y = a * 2
    y.grad_fn._raw_saved_self.register_hooks(same, same)


@scenario
def where_a_function_saves_none(torch):
    out = product(torch)(values(torch, 1.0), values(torch, 2.0))
    out.grad_fn._raw_saved_tensors[2].register_hooks(same, same)


@scenario
def after_it_was_freed(torch):
    a = values(torch, 1.0, 2.0)
    y = a * a
    place = y.grad_fn._raw_saved_self
    y.sum().backward()
    place.register_hooks(same, same)


@scenario
def places_of_a_function_after_they_were_freed(torch):
    out = product(torch)(values(torch, 1.0), values(torch, 2.0))
    out.backward()
    return out.grad_fn._raw_saved_tensors


@scenario
def while_hooks_are_disabled(torch):
    a = values(torch, 1.0, 2.0)
    y = a * a
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


@scenario
def a_hook_of_a_place_that_fails(torch):
    def pack(x):
        raise ValueError("full")

    a = values(torch, 1.0, 2.0)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(pack, same)


@scenario
def made_by_hand(torch):
    return torch.autograd.SavedTensor()


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
@pytest.mark.parametrize(
    "pair", [(None, same), (same, None), (1, 2), (same,)], ids=["no pack", "no unpack", "numbers", "one"]
)
def test_wrong_arguments(library, pair):
    a = values(library, 1.0, 2.0)
    y = a * a
    with pytest.raises(TypeError, match="register_hooks"):
        y.grad_fn._raw_saved_self.register_hooks(*pair)


def test_hooks_of_a_function_after_it_was_freed():
    out = product(fxt)(values(fxt, 1.0), values(fxt, 2.0))
    place = out.grad_fn._raw_saved_tensors[0]
    out.backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        place.register_hooks(same, same)


def test_a_graph_with_hooks_is_no_cycle():
    enabled = gc.isenabled()
    gc.disable()
    try:
        a = values(fxt, 1.0, 2.0)
        y = a.exp() * a
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t.detach(), same)
        places = y.grad_fn._raw_saved_self, y.grad_fn._raw_saved_other
        node = weakref.ref(y.grad_fn)
        del y, places
        assert node() is None
    finally:
        if enabled:
            gc.enable()
