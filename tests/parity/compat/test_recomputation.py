"""When a checkpointed function is run again, how far, and what is kept then."""

from __future__ import annotations

import contextlib
import gc
import re
import threading
import weakref

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401
from tests.parity.compat.test_checkpoint import checkpoint_of, leaves

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def traced(torch, steps):
    """A function that does steps one after the other, and the list to which it adds the name of each."""
    seen: list[str] = []

    def function(x):
        for step in steps.split():
            seen.append(step)
            x = getattr(x, step)()
        return x

    return function, seen


@scenario
def it_stops_with_the_last_saved_value(torch):
    found = []
    for early_stop in (True, False):
        function, seen = traced(torch, "sin clone exp clone neg")
        x = leaves(torch)[0]
        y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False, early_stop=early_stop)
        y.sum().backward()
        found.append((x.grad, list(seen)))
    return found


@scenario
def the_context_manager_has_the_last_word(torch):
    found = []
    checkpoints = checkpoint_of(torch)
    for outer in (True, False):
        for inner in (True, False):
            function, seen = traced(torch, "sin neg")
            with checkpoints.set_checkpoint_early_stop(outer):
                y = checkpoints.checkpoint(function, leaves(torch)[0], use_reentrant=False, early_stop=inner)
            y.sum().backward()
            found.append(list(seen))
    return found


@scenario
def saved_values_outside_of_backward_are_computed_each_time(torch):
    function, seen = traced(torch, "sin exp")
    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    counts = [len(seen)]
    for _ in range(2):
        kept = y.grad_fn._saved_result
        counts.append(len(seen))
    y.sum().backward(retain_graph=True)
    counts.append(len(seen))
    y.sum().backward()
    counts.append(len(seen))
    return kept, counts, x.grad


@scenario
def one_run_serves_one_pass(torch):
    function, seen = traced(torch, "sin exp cos")
    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    counts = []
    for _ in range(3):
        torch.autograd.grad(y.sum(), x, retain_graph=True)
        counts.append(len(seen))
    return counts


@scenario
def nothing_is_saved_and_nothing_runs_again(torch):
    function, seen = traced(torch, "neg clone")
    x = leaves(torch)[0]
    checkpoint_of(torch).checkpoint(function, x, use_reentrant=False).sum().backward()
    return x.grad, seen


@scenario
def several_results_of_which_one_is_used(torch):
    runs = []

    def function(a):
        runs.append(1)
        return a.sin(), a.exp(), a.cos()

    x = leaves(torch)[0]
    parts = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    parts[1].sum().backward()
    return x.grad, len(runs)


@scenario
def a_part_of_the_graph_is_gone(torch):
    runs = []

    def function(a):
        runs.append(1)
        a.exp().cos()
        return a.sin(), a.exp()

    x = leaves(torch)[0]
    first, second = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    del second
    first.sum().backward()
    return x.grad, len(runs)


@scenario
def results_that_leave_by_another_way(torch):
    kept = []

    def function(a):
        kept.append(a.sin())
        return a.exp()

    x = leaves(torch)[0]
    checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    kept[0].sum().backward()
    return x.grad, len(kept)


@scenario
def within_one_another_three_times(torch):
    checkpoint = checkpoint_of(torch).checkpoint
    runs: list[str] = []

    def named(name, f):
        def function(*args):
            runs.append(name)
            return f(*args)

        return function

    def third(a):
        return a.sin().exp()

    def second(a):
        return checkpoint(named("third", third), a.cos(), use_reentrant=False).exp()

    def first(a):
        return checkpoint(named("second", second), a.sin(), use_reentrant=False).cos()

    x = leaves(torch)[0]
    y = checkpoint(named("first", first), x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x)
    return g, runs


@scenario
def nested_with_second_derivatives(torch):
    checkpoint = checkpoint_of(torch).checkpoint
    x, w = leaves(torch)

    def inner(a):
        return (a * w).sin()

    def outer(a):
        return checkpoint(inner, a.exp(), use_reentrant=False) * a

    y = checkpoint(outer, x, use_reentrant=False)
    g, h = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
    return g, h, torch.autograd.grad((g * h).sum(), (x, w))


@scenario
def gradients_within_the_function(torch):
    def function(a):
        b = a.sin()
        (g,) = torch.autograd.grad(b.sum(), a, create_graph=True)
        return g * b.exp()

    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x * 1, use_reentrant=False)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def in_place_within_the_function(torch):
    def function(a):
        b = a.sin()
        b.mul_(a)
        c = b * 2
        c[:1] = 0
        return c * a

    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def views_and_indexing(torch):
    def function(a):
        b = a.exp()[:1] * a[1:]
        return b.expand(3).sin().reshape(3, 1)

    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def modules_with_dropout(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.Dropout(0.5), torch.nn.Tanh(), torch.nn.Linear(3, 2)
    )
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(model, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    kept = ((y - 0.5).abs() > 1e-6).any()
    shapes = [tuple(p.shape) for p in torch.autograd.grad(y.sum(), [*model.parameters()])]
    return bool(kept) == bool((g != 0).any()), shapes


@scenario
def arguments_that_require_no_gradient(torch):
    x, w = leaves(torch)
    y = checkpoint_of(torch).checkpoint(lambda a, b: (a * w).sin() * b, x.detach(), 3.0, use_reentrant=False)
    return y, torch.autograd.grad(y.sum(), w)


@scenario
def arguments_that_were_modified(torch):
    found = []
    for make in (lambda x: x.detach().clone(), lambda x: x * 1):
        x, w = leaves(torch)
        a = make(x)
        y = checkpoint_of(torch).checkpoint(lambda a, w: (a * w).sin(), a, w, use_reentrant=False)
        a.add_(1)
        try:
            y.sum().backward()
        except RuntimeError as error:
            found.append(str(error)[:76])
    return found


@scenario
def errors_come_through(torch):
    runs = []

    def function(a):
        runs.append(1)
        if len(runs) > 1:
            raise ValueError("the second run")
        return a.sin()

    checkpoint_of(torch).checkpoint(function, leaves(torch)[0], use_reentrant=False).sum().backward()


@scenario
def user_code_catches_errors(torch):
    caught = []

    def function(a):
        try:
            return a.sin().exp()
        except Exception as error:
            caught.append(error)
            raise
        finally:
            caught.append("finally")

    x = leaves(torch)[0]
    checkpoint_of(torch).checkpoint(function, x, use_reentrant=False).sum().backward()
    return x.grad, caught.count("finally")


@scenario
def debugging_excludes_contexts(torch):
    checkpoint_of(torch).checkpoint(
        torch.sin, leaves(torch)[0], use_reentrant=False, debug=True, context_fn=lambda: (1, 2)
    )


@scenario
def debugging_changes_no_gradient(torch):
    x = leaves(torch)[0]
    with checkpoint_of(torch).set_checkpoint_debug_enabled(True):
        checkpoint_of(torch).checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False).sum().backward()
    return x.grad


@scenario
def one_run_serves_a_group_of_passes(torch):
    found = []
    for is_group in (False, True):
        runs = []
        x = leaves(torch)[0]
        parts = checkpoint_of(torch).checkpoint(
            lambda a, runs=runs: runs.append(1) or (a.sin(), a.exp()), x, use_reentrant=False
        )
        with checkpoint_of(torch).GraphExecGroup() if is_group else contextlib.nullcontext():
            for part in parts:
                part.sum().backward()
        found.append((x.grad, len(runs)))
    return found


@scenario
def groups_are_not_nested(torch):
    with checkpoint_of(torch).GraphExecGroup():
        try:
            with checkpoint_of(torch).GraphExecGroup():
                pass
        except RuntimeError as error:
            return str(error).partition(".")[0]


@scenario
def fewer_values_while_the_first_run_goes_on(torch):
    runs = []

    def function(a):
        runs.append(1)
        b = a.sin() if len(runs) == 1 else a * 1
        (g,) = torch.autograd.grad(b.exp().sum(), a, create_graph=True)
        return g

    checkpoint_of(torch).checkpoint(function, leaves(torch)[0], use_reentrant=False).sum().backward()


@scenario.each()
def test_alike(scenario):
    check(scenario)


def differing(torch, **options):
    """The error of a function that does something else when it is run again."""
    runs = []

    def function(a):
        runs.append(1)
        b = a.sin()
        return b.exp().cos() if len(runs) == 1 else b.reshape(2, 1).cos()

    checkpoint = checkpoint_of(torch).checkpoint
    y = checkpoint(function, leaves(torch)[0], use_reentrant=False, **options)
    with pytest.raises(checkpoint_of(torch).CheckpointError) as caught:
        y.sum().backward()
    return str(caught.value)


def test_debugging_lists_the_operations():
    text = differing(fxt, debug=True)
    assert "You are seeing this error because you passed `debug=True` to checkpoint" in text
    first, _, second = text.partition("Operations of the recomputation")
    for part, operations in ((first, "sin exp cos"), (second, "sin view cos")):
        found = re.findall(r"^(.) aten\.(\w+)\.\w+\(.*test_recomputation\.py:\d+", part, re.M)
        assert [name for _, name in found] == operations.split()
        assert [mark for mark, _ in found] == [" ", ">", " "]


def test_the_context_manager_debugs():
    phrase = "You are seeing this error because you passed `debug=True` to checkpoint"
    with fxt.utils.checkpoint.set_checkpoint_debug_enabled(True):
        assert phrase in differing(fxt)
    with fxt.utils.checkpoint.set_checkpoint_debug_enabled(False):
        assert phrase not in differing(fxt, debug=True)


def test_values_found_again_are_checked():
    """What a saved value was modified after is wrong in torch without a word."""

    def function(a):
        b = a.exp()
        c = b * 2
        b.add_(1)
        return c + b.detach() * 0 + a.cos()

    x = leaves(fxt)[0]
    y = fxt.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_call_within_another_keeps_no_argument():
    x = leaves(fxt)[0]
    checkpoint = fxt.utils.checkpoint.checkpoint
    arguments = []

    def outer(a):
        b = a.sin()
        arguments.append(weakref.ref(b._fx_value))
        return checkpoint(fxt.exp, b, use_reentrant=False).cos()

    y = checkpoint(outer, x, use_reentrant=False)
    gc.collect()
    assert arguments[0]() is None
    assert fxt.allclose(fxt.autograd.grad(y.sum(), x)[0], fxt.autograd.grad(x.sin().exp().cos().sum(), x)[0])


def test_threads_go_back_through_one_graph():
    x = leaves(fxt)[0]
    y = fxt.utils.checkpoint.checkpoint(lambda a: (a.sin() * a).exp(), x, use_reentrant=False).sum()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fxt.autograd.grad(y, x, retain_graph=True)[0]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    wanted = fxt.autograd.grad((x.sin() * x).exp().sum(), x)[0]
    assert len(found) == 8
    assert all(fxt.equal(g, wanted) for g in found)


def test_what_is_kept_goes_with_the_graph():
    x = leaves(fxt)[0]
    values = []

    def function(a):
        b = a.sin()
        values.append(weakref.ref(b))
        return b.exp()

    gc.collect()
    gc.disable()
    try:
        y = fxt.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
        assert values[0]() is None
        y.sum().backward()
        assert [value() for value in values] == [None, None]
    finally:
        gc.enable()
