"""`register_multi_grad_hook` against torch: when the hook is called, and with what."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


def listed(gradients):
    return [None if g is None else g.tolist() for g in gradients]


def note_in(log, mode):
    """A hook that notes what it is called with."""
    if mode == "any":
        return lambda gradient: log.append(gradient.tolist())
    return lambda gradients: log.append(listed(gradients))


class Watched:
    """Two leaves, two products of them, and a hook on all four."""

    def __init__(self, torch, mode):
        self.a, self.b = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
        self.c, self.d = self.a * self.b, self.a * self.b
        self.log = []
        self.tensors = self.a, self.b, self.c, self.d
        self.handle = torch.autograd.graph.register_multi_grad_hook(
            self.tensors, note_in(self.log, mode), mode=mode
        )


def both_modes(program):
    """Make a scenario of a program of (library, mode)."""

    def run(torch):
        return [program(torch, mode) for mode in ("all", "any")]

    run.__name__ = program.__name__
    return scenario(run)


@both_modes
def the_documented_example(torch, mode):
    w = Watched(torch, mode)
    w.c.sum().backward(retain_graph=True)
    w.c.sum().backward(inputs=(w.a,), retain_graph=True)
    return w.log


@both_modes
def every_pass_by_itself(torch, mode):
    w = Watched(torch, mode)
    (w.c + w.d).sum().backward(retain_graph=True)
    (w.c + w.d).sum().backward(inputs=(w.c,), retain_graph=True)
    w.d.sum().backward(retain_graph=True)
    return w.log


@both_modes
def removed(torch, mode):
    w = Watched(torch, mode)
    w.c.sum().backward(retain_graph=True)
    w.handle.remove()
    w.handle.remove()
    w.c.sum().backward(retain_graph=True)
    return w.log


@both_modes
def removed_at_the_end_of_a_block(torch, mode):
    x, log = values(torch, 1.0), []
    y = (x * x).sum()
    with torch.autograd.graph.register_multi_grad_hook([x], note_in(log, mode), mode=mode):
        y.backward(retain_graph=True)
    y.backward()
    return log


@both_modes
def removed_in_a_hook_that_comes_first(torch, mode):
    x, log = values(torch, 1.0), []
    y = x * x
    handles = []
    y.register_hook(lambda gradient: handles[0].remove())
    handles.append(torch.autograd.graph.register_multi_grad_hook([x], note_in(log, mode), mode=mode))
    y.sum().backward()
    return log


@both_modes
def gradients_of_intermediate_results(torch, mode):
    w = Watched(torch, mode)
    found = torch.autograd.grad((w.c * w.d).sum(), (w.c,))
    return found, w.log


@both_modes
def a_pass_that_reaches_nothing(torch, mode):
    w = Watched(torch, mode)
    x = values(torch, 5.0)
    (x * x).sum().backward()
    found = torch.autograd.grad((w.c * w.d).sum(), (x,), allow_unused=True)
    return found, w.log


@both_modes
def a_pass_that_fails_leaves_nothing(torch, mode):
    a, b, log = values(torch, 1.0), values(torch, 2.0), []
    c = a * 2
    fail = c.register_hook(lambda gradient: {}["missing"])
    torch.autograd.graph.register_multi_grad_hook([a, b, c], note_in(log, mode), mode=mode)
    y = (c * b).sum()
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    fail.remove()
    y.backward()
    return log


@both_modes
def a_tensor_twice(torch, mode):
    x, log = values(torch, 1.0, 2.0), []
    torch.autograd.graph.register_multi_grad_hook([x, x], note_in(log, mode), mode=mode)
    for _ in range(2):
        (x * 2).sum().backward()
    return log


@both_modes
def before_and_after_in_place(torch, mode):
    w = Watched(torch, mode)
    total = (w.c + w.d).sum()
    w.c.mul_(2)
    total.backward(retain_graph=True)
    w.c.sum().backward()
    return w.log


@both_modes
def what_it_returns_is_not_used(torch, mode):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda gradients: torch.zeros(2), mode=mode)
    y.sum().backward()
    return x.grad


@both_modes
def no_tensors(torch, mode):
    x, log = values(torch, 1.0), []
    handle = torch.autograd.graph.register_multi_grad_hook([], note_in(log, mode), mode=mode)
    (x * 2).sum().backward()
    handle.remove()
    return log


@both_modes
def with_create_graph(torch, mode):
    x, log = values(torch, 1.0, 2.0), []
    y = x**3
    seen = []

    def note(gradients):
        given = [gradients] if mode == "any" else gradients
        seen.extend(g.requires_grad for g in given)
        note_in(log, mode)(gradients)

    torch.autograd.graph.register_multi_grad_hook([x, y], note, mode=mode)
    (y * y).sum().backward(create_graph=True)
    return log, seen


@scenario
def a_part_that_is_not_used(torch):
    x, log = values(torch, 1.0, 2.0, 3.0, 4.0), []
    a, b = x.split(2)
    torch.autograd.graph.register_multi_grad_hook([a, b], note_in(log, "all"))
    b.sum().backward()
    return log


@scenario
def a_gradient_that_a_function_does_not_have(torch):
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, log = values(torch, 1.0, 2.0), []
    p, q = x * 2, x * 3
    torch.autograd.graph.register_multi_grad_hook([p, q, x], note_in(log, "all"))
    First.apply(p, q).sum().backward()
    return log


@scenario
def one_that_requires_no_gradient(torch):
    return torch.autograd.graph.register_multi_grad_hook([torch.ones(2)], print)


@scenario
def one_that_requires_no_gradient_is_left_out(torch):
    x, log = values(torch, 1.0), []
    torch.autograd.graph.register_multi_grad_hook([torch.ones(2), x], note_in(log, "any"), mode="any")
    (x * 2).sum().backward()
    return log


@scenario
def a_mode_that_does_not_exist(torch):
    return torch.autograd.graph.register_multi_grad_hook([], print, mode="foo")


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


# -- ours alone -------------------------------------------------------------------------------------------------------


def test_gradients_of_leaves_by_grad():
    """torch refuses these: it cannot tell whether a leaf is on the way."""
    w = Watched(fxt, "all")
    found = fxt.autograd.grad((w.c * w.d).sum(), (w.a, w.b))
    assert w.log == [[*listed(found), [3.0, 8.0], [3.0, 8.0]]]


def test_without_a_gradient_the_first_is_waited_for():
    """torch calls the hook with None: see `docs/decisions.md`."""
    x, log = values(fxt, 1.0, 2.0, 3.0, 4.0), []
    a, b = x.split(2)
    fxt.autograd.graph.register_multi_grad_hook([a, b], note_in(log, "any"), mode="any")
    b.sum().backward()
    assert log == [[1.0, 1.0]]


def test_the_handle_is_a_removable_handle():
    handle = fxt.autograd.graph.register_multi_grad_hook([values(fxt, 1.0)], print)
    assert hasattr(handle, "remove")
    assert handle.__enter__() is handle
    pickle.loads(pickle.dumps(handle)).remove()


@pytest.mark.parametrize("mode", ["all", "any"])
def test_in_threads(mode):
    """Each pass calls the hook once, with its own gradients."""
    x = values(fxt, 1.0)
    y = x * 1
    log = []
    fxt.autograd.graph.register_multi_grad_hook([x, y], note_in(log, mode), mode=mode)
    start = threading.Barrier(4)

    def run(factor):
        start.wait(60)
        for _ in range(25):
            (y * factor).sum().backward(retain_graph=True)

    threads = [threading.Thread(target=run, args=(k,)) for k in (1.0, 2.0, 3.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    expected = [[k] if mode == "any" else [[k], [k]] for k in (1.0, 2.0, 3.0, 4.0) for _ in range(25)]
    assert sorted(log) == expected
    assert x.grad.item() == 250.0


def test_a_pass_inside_a_hook():
    w = Watched(fxt, "all")
    total, part = (w.c + w.d).sum(), w.c.sum()
    nested = []

    def run_inside(gradient):
        if not nested:
            nested.append(True)
            part.backward(retain_graph=True)

    w.d.register_hook(run_inside)
    total.backward(retain_graph=True)
    assert w.log == [
        [[3.0, 4.0], [1.0, 2.0], [1.0, 1.0], None],
        [[6.0, 8.0], [2.0, 4.0], [1.0, 1.0], [1.0, 1.0]],
    ]


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_batch_of_cotangents(mode):
    x = values(fxt, 1.0, 2.0)
    y = x * 2
    shapes = []

    def note(gradients):
        given = [gradients] if mode == "any" else gradients
        shapes.append([tuple(g.shape) for g in given])

    fxt.autograd.graph.register_multi_grad_hook([x, y], note, mode=mode)
    fxt.autograd.grad(y, x, fxt.eye(2), is_grads_batched=True)
    assert shapes == [[(2,)] * (1 if mode == "any" else 2)]


def test_nothing_is_kept_after_a_pass():
    x = values(fxt, 1.0)
    y = x * 2
    gradients = []
    fxt.autograd.graph.register_multi_grad_hook(
        [x, y], lambda given: gradients.extend(map(weakref.ref, given))
    )
    y.sum().backward()
    gc.collect()
    assert [reference() for reference in gradients] == [None, None]
