"""Hooks against torch: their order, what they may return, and when they are called."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


def noting(log, name, factor=None):
    """A hook that notes its name and the gradient, and may scale it."""

    def hook(gradient):
        log.append((name, gradient.tolist()))
        return None if factor is None else gradient * factor

    return hook


def listed(gradients):
    return [None if g is None else g.tolist() for g in gradients]


# -- order ------------------------------------------------------------------------------------------------------------


@scenario
def the_order_of_all_kinds(torch):
    log = []
    x = values(torch, 1.0, 2.0)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: log.append(("after", listed(inputs), listed(outputs))))
    y.grad_fn.register_prehook(lambda outputs: log.append(("before", listed(outputs))))
    y.retain_grad()
    y.register_hook(noting(log, "first", 2))
    y.register_hook(noting(log, "second"))
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_hook(lambda inputs, outputs: log.append(("leaf after", listed(inputs), listed(outputs))))
    leaf.register_prehook(lambda outputs: log.append(("leaf before", listed(outputs))))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p is x, p.grad.tolist())))
    x.register_hook(noting(log, "leaf"))
    y.sum().backward()
    return log, y.grad, x.grad


@scenario
def later_nodes_first(torch):
    log = []
    x = values(torch, 1.0)
    a = x * 2
    b = x * 3
    c = a + 1
    d = b * c
    e = a * d
    for name, t in dict(a=a, b=b, c=c, d=d, e=e).items():
        t.register_hook(noting(log, name))
    e.backward()
    return log, x.grad


@scenario
def before_and_after_in_place(torch):
    log = []
    x = values(torch, 1.0)
    y = x * 2
    y.register_hook(noting(log, "before", 10))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(noting(log, "after"))
    (y * 5).sum().backward()
    return log, y.grad, x.grad


@scenario
def retained_on_a_view_whose_base_changes(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    v = y[0]
    v.retain_grad()
    y.mul_(3)
    (y.sum() + v * 10).backward()
    return v.grad, x.grad


@scenario
def on_a_base_whose_view_changes(torch):
    log = []
    x = values(torch, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(noting(log, "base"))
    y[0].mul_(5)
    y.register_hook(noting(log, "new base"))
    y.sum().backward()
    return log, y.grad, x.grad


# -- leaves -----------------------------------------------------------------------------------------------------------


@scenario
def a_leaf_is_finished_as_soon_as_it_can_be(torch):
    log = []
    x, w = values(torch, 1.0), values(torch, 2.0)
    a = x * 3
    b = a * w
    c = b * w
    c.sum().register_hook(lambda g: None)
    for name, t in dict(a=a, b=b, c=c).items():
        t.register_hook(noting(log, name))
    w.register_post_accumulate_grad_hook(lambda p: log.append(("w", p.grad.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("x", p.grad.tolist())))
    c.sum().backward()
    return log


@scenario
def a_leaf_hook_sees_the_sum(torch):
    log = []
    x = values(torch, 1.0)
    x.register_hook(noting(log, "x", 2))
    y = x * 3
    y.register_hook(noting(log, "y"))
    (y * x + x).sum().backward()
    return log, x.grad


@scenario
def gradients_are_used_up_while_they_arrive(torch):
    w = [values(torch, float(i + 1)) for i in range(3)]

    def step(p):
        with torch.no_grad():
            p.sub_(0.1 * p.grad)
        p.grad = None

    for p in w:
        p.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        h = torch.ones(1)
        for p in w:
            h = (h * p).tanh()
        h.sum().backward()
    return w, [p.grad for p in w]


@scenario
def a_leaf_is_not_accumulated_by_grad(torch):
    log = []
    x = values(torch, 1.0)
    x.register_hook(noting(log, "hook", 3))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    return torch.autograd.grad((x * 2).sum(), x), log, x.grad


@scenario
def a_captured_gradient_has_passed_the_hooks_of_its_tensor(torch):
    log = []
    y = values(torch, 1.0) * 2
    y.register_hook(noting(log, "tensor", 3))
    y.grad_fn.register_prehook(lambda g: log.append("node"))
    return torch.autograd.grad((y * 1).sum(), y), log


@scenario
def retained_on_the_way_to_inputs(torch):
    x = values(torch, 1.0)
    y = x * 2
    y.retain_grad()
    torch.autograd.grad((y * 5).sum(), x)
    return y.grad, y.retains_grad, x.grad


def hooked_chain(torch):
    """x → a → b → c with hooks of all kinds, and what they note."""
    log = []
    x = values(torch, 1.0, 2.0)
    a = x * 2
    b = a * 3
    c = b * 4
    for name, t in dict(a=a, b=b, c=c).items():
        t.register_hook(noting(log, name))
        t.grad_fn.register_prehook(lambda outputs, name=name: log.append((name, "before", listed(outputs))))
        t.grad_fn.register_hook(
            lambda inputs, outputs, name=name: log.append((name, "after", listed(inputs), listed(outputs)))
        )
    return (x, a, b, c), log


@scenario
def nodes_at_which_backward_ends_have_all_their_hooks(torch):
    found = []
    for chosen in ((2,), (1, 2), (0, 2), (3,)):
        chain, log = hooked_chain(torch)
        chain[3].sum().backward(inputs=[chain[i] for i in chosen])
        found.append((log, [chain[i].grad for i in chosen]))
    return found


@scenario
def nodes_at_which_grad_ends_have_those_of_their_tensors(torch):
    found = []
    for chosen in ((2,), (1, 2), (0, 2), (3,)):
        chain, log = hooked_chain(torch)
        found.append((torch.autograd.grad(chain[3].sum(), [chain[i] for i in chosen]), log))
    return found


@scenario
def inputs_get_what_the_hooks_of_their_tensors_return(torch):
    x = values(torch, 1.0, 2.0)
    a = x * 2
    b = a * 3
    b.register_hook(lambda gradient: gradient * 10)
    b.grad_fn.register_prehook(lambda outputs: (outputs[0] * 7,))
    (b * 4).sum().backward(inputs=(a, b))
    return a.grad, b.grad


# -- what they return -----------------------------------------------------------------------------------------------


@scenario
def gradients_are_replaced(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0], None))
    y.sum().backward()
    return x.grad


@scenario
def a_hook_takes_part_in_the_graph(torch):
    x = values(torch, 2.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    return g, torch.autograd.grad(g, x)


@scenario
def another_size(torch):
    x = values(torch, 1.0, 2.0, 3.0)
    x.register_hook(lambda g: torch.ones(2))
    x.sum().backward()


@scenario
def another_dtype(torch):
    y = values(torch, 1.0) * 2
    y.register_hook(lambda g: g.to(torch.float64))
    y.sum().backward()


@scenario
def no_tensor(torch):
    x = values(torch, 1.0)
    x.register_hook(lambda g: 3)
    x.sum().backward()


@scenario
def a_tensor_after_accumulation(torch):
    x = values(torch, 1.0)
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    x.sum().backward()


@scenario
def no_tensor_after_accumulation(torch):
    x = values(torch, 1.0)
    x.register_post_accumulate_grad_hook(lambda p: 3)
    x.sum().backward()


@scenario
def no_tuple_before(torch):
    y = values(torch, 1.0) * 2
    y.grad_fn.register_prehook(lambda g: g[0])
    y.backward()


@scenario
def no_tuple_after(torch):
    y = values(torch, 1.0) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: inputs[0])
    y.backward()


@scenario
def a_tuple_too_short(torch):
    y = values(torch, 1.0) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0],))
    y.backward()


@scenario
def another_size_after(torch):
    y = values(torch, 1.0).exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (torch.ones(2),))
    y.backward()


@scenario
def no_gradient_before_a_node(torch):
    found = []
    for replaced in ((None, 1), (None, None)):
        x = values(torch, 1.0, 2.0, 3.0, 4.0)
        a, b = (x * 2).split(2)
        a.grad_fn.register_prehook(
            lambda outputs, replaced=replaced: tuple([g if r else None for g, r in zip(outputs, replaced)])
        )
        (a + b).sum().backward()
        found.append(x.grad)
    x = values(torch, 1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda outputs: (None,))
    y.sum().backward()
    return found, x.grad


@scenario
def no_gradient_before_a_leaf(torch):
    log = []
    x = values(torch, 1.0)
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y = x * 2
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_prehook(lambda outputs: (None,))
    leaf.register_hook(lambda inputs, outputs: log.append((listed(inputs), listed(outputs))))
    y.sum().backward()
    return log, x.grad


@scenario
def no_gradient_after_a_node(torch):
    x = values(torch, 1.0)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (None, None))
    y.sum().backward()
    return x.grad


# -- several results --------------------------------------------------------------------------------------------------


@scenario
def hooks_of_several_results(torch):
    log = []
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    a, _, c = x.unbind(0)
    a.register_hook(noting(log, "a", 2))
    c.register_hook(noting(log, "c"))
    c.retain_grad()
    ((a * 3).sum() + (c * 5).sum()).backward()
    return log, x.grad, c.grad


# -- handles ----------------------------------------------------------------------------------------------------------


@scenario
def removed_hooks(torch):
    x = values(torch, 1.0)
    handle = x.register_hook(lambda g: g * 100)
    x.sum().backward()
    handle.remove()
    handle.remove()
    x.sum().backward()
    with x.register_hook(lambda g: g * 10) as inner:
        x.sum().backward()
    x.sum().backward()
    return x.grad, inner.id - handle.id, type(handle).__name__


@scenario
def copied_handles(torch):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Tanh()
            self.count = 0
            self.handle = self.inner.register_forward_hook(self.note)

        def note(self, *args):
            self.count += 1

        def forward(self, x):
            return self.inner(x)

    first = Counting()
    second = copy.deepcopy(first)
    for _ in range(2):
        first(torch.ones(1))
        second(torch.ones(1))
        second.handle.remove()
    return first.count, second.count


@scenario
def pickled_handles(torch):
    x = values(torch, 1.0)
    handle = x.register_hook(print)
    found = pickle.loads(pickle.dumps(handle))
    found.remove()
    return found.id == handle.id, type(found).__name__


@scenario
def a_hook_that_removes_itself(torch):
    log = []
    x = values(torch, 1.0)
    handles = [x.register_hook(lambda g: handles[0].remove()), x.register_hook(noting(log, "second"))]
    x.sum().backward()
    x.sum().backward()
    return log


# -- refusals -------------------------------------------------------------------------------------------------------


@scenario
def on_a_constant(torch):
    torch.ones(1).register_hook(print)


@scenario
def accumulated_on_a_constant(torch):
    torch.ones(1).register_post_accumulate_grad_hook(print)


@scenario
def accumulated_on_what_is_no_leaf(torch):
    (values(torch, 1.0) * 2).register_post_accumulate_grad_hook(print)


@scenario
def retained_on_a_constant(torch):
    torch.ones(1).retain_grad()


@scenario
def retained_on_a_leaf(torch):
    x = values(torch, 1.0)
    x.retain_grad()
    x.sum().backward()
    return x.retains_grad, x.grad


# -- modes ------------------------------------------------------------------------------------------------------------


@scenario
def the_grad_mode_inside(torch):
    modes = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            modes.append(torch.is_grad_enabled())
            return 2 * g * ctx.saved_tensors[0]

    x = values(torch, 1.0)
    x.register_hook(lambda g: modes.append(torch.is_grad_enabled()))
    Square.apply(x).backward()
    Square.apply(x).backward(create_graph=True)
    with torch.no_grad():
        x.grad = None
        modes.append(torch.is_grad_enabled())
    return modes, torch.is_grad_enabled()


@scenario
def modes_after_an_error(torch):
    def fail(g):
        raise ValueError("from the hook")

    x = values(torch, 1.0)
    y = x * 2
    handle = y.register_hook(fail)
    try:
        y.backward(retain_graph=True)
    except ValueError as error:
        text = str(error)
    handle.remove()
    state = torch.is_grad_enabled(), x.grad
    y.backward()
    return text, state, x.grad


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


def test_a_view_has_hooks_before_and_after_its_base_changes():
    """torch forgets the second where there is a first, and is killed by it where there is none."""
    log = []
    x = values(fxt, 1.0, 2.0)
    y = x * 2
    v = y[0]
    v.register_hook(noting(log, "before"))
    w = v * 7
    y.mul_(3)
    v.register_hook(noting(log, "after"))
    (w + v * 10).backward()
    assert log == [("after", 10.0), ("before", 7.0)]
    assert x.grad.tolist() == [2.0 * (7 + 30), 0.0]


def test_a_gradient_that_is_not_computed_has_no_hooks():
    """torch calls them with None: see `docs/decisions.md`."""
    log = []
    a, b = values(fxt, 1.0, 2.0, 3.0, 4.0).split(2)
    a.register_hook(noting(log, "a", 2))
    b.register_hook(noting(log, "b"))
    b.grad_fn.register_prehook(lambda outputs: log.append(listed(outputs)))
    b.sum().backward()
    assert log == [("b", [1.0, 1.0]), [None, [1.0, 1.0]]]


def test_a_handle_keeps_nothing_alive():
    gc.collect()
    gc.disable()
    try:
        x = values(fxt, 1.0)
        y = x * 2
        handle = y.register_hook(lambda g: None)
        y.retain_grad()
        found = weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(x)
        y.sum().backward()
        del x, y
        assert [r() for r in found] == [None] * 3
        handle.remove()
    finally:
        gc.enable()


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
def test_hooks_of_a_leaf_outlive_the_user_s_reference(library):
    seen = []

    def loss():
        x = values(library, 2.0)
        x.register_hook(lambda g: seen.append(g.item()))
        x.register_post_accumulate_grad_hook(lambda p: seen.append((p.item(), p.grad.item())))
        return (x * x).sum()

    y = loss()
    y.backward()
    assert seen == [4.0, (2.0, 4.0)]
