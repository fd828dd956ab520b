"""Saved-tensor hooks against torch: what they are called with, how often, and what becomes of it."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.saving import doubling, noting, rounded, same, values
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore:Using backward:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
]


# -- calls ------------------------------------------------------------------------------------------------------------


@scenario
def operands_and_results(torch):
    log = []
    x = values(torch, 1.0, 2.0)
    b = x * 3
    with noting(torch, log):
        (b * b).exp()
        x.sum()
        x + b
        x * 3
        x / 2
    return sorted(log)


@scenario
def nothing_is_saved_without_gradients(torch):
    log = []
    x = values(torch, 1.0, 2.0)
    with noting(torch, log):
        x.detach().exp()
        with torch.no_grad():
            x * x
    return log


@scenario
def the_very_operands(torch):
    found = []
    x = values(torch, 1.0, 2.0)
    b = x * 3
    c = torch.tensor([4.0, 5.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: found.extend([t is x, t is b, t is c]), same):
        x * b
        b * c
        x.sin()
    return sum(found), len(found)


@scenario
def parameters_are_parameters(torch):
    kinds = []
    weight = torch.nn.Parameter(torch.ones(2))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kinds.append(type(t).__name__), same):
        weight * torch.ones(2)
        torch.ones(2) * weight.exp()
        weight * weight
    return sorted(kinds)


@scenario
def unpacked_once_by_each_use(torch):
    log = []
    x = values(torch, 1.0, 2.0)
    with noting(torch, log):
        y = x * x
    log.clear()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return log, x.grad


@scenario
def what_is_packed_and_forgotten(torch):
    log = []
    x = values(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append("packed"), t.tolist())[1], lambda kept: torch.tensor(kept)
    ):
        y = (x * x).exp().sum()
    gradient = torch.autograd.grad(y, x)
    return log, gradient


@scenario
def any_object(torch):
    store = {}

    def pack(t):
        store[len(store)] = t.detach().clone()
        return len(store) - 1

    x = values(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, store.pop):
        y = (x.sin() * x).sum()
    y.backward()
    return store, x.grad


@scenario
def the_grad_mode_of_unpacking(torch):
    modes = []

    def unpack(t):
        modes.append(torch.is_grad_enabled())
        return t

    x = values(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        y = (x**3).sum()
    torch.autograd.grad(y, x, retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    node = y.grad_fn.next_functions[0][0]
    saved = [node._saved_self]
    with torch.no_grad():
        saved.append(node._saved_self)
    return modes, saved


@scenario
def operations_in_place(torch):
    log = []
    x = values(torch, 2.0)
    y = x.clone()
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append(rounded(t)), t.detach().clone())[1], same
    ):
        y.exp_()
        y.sin_()
        y.mul_(y)
        y.mul_(3)
        y[:1].exp_()
    y.sum().backward()
    return log, x.grad


@scenario
def packed_operands_in_place_are_what_they_were(torch):
    x = values(torch, 2.0, 3.0)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        y.sin_()
        y.exp_()
        y.index_put_((torch.tensor([0]),), y[1:] * y[:1])
    y.sum().backward()
    return x.grad


@scenario
def several_results(torch):
    x = values(torch, 3.0, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        high, _ = x.sort()
        q, r = torch.linalg.qr(x.reshape(3, 1) * torch.ones(3, 2) + torch.eye(3)[:, :2])
        _, s, _ = torch.linalg.svd(x.reshape(1, 3), full_matrices=False)
    (high[0] * q.abs().sum() * r.abs().sum() + s.sum()).backward()
    return x.grad


@scenario
def many_operations(torch):
    F = torch.nn.functional
    x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), same):
        y = F.layer_norm(x, (4,)).softmax(1) @ x.t()
        y = y + F.gelu(x[:, :3]) * x.std() - torch.logsumexp(x, 1)
        y = y + x[torch.tensor([0, 2, 1])][:, :3] + torch.where(x > 0, x, x * x)[:, 1:] + x.cumsum(0)[:, :3]
        y = y + F.conv1d(x.reshape(1, 3, 4), torch.ones(3, 3, 2)).reshape(3, 3)
        y = (
            y
            + torch.linalg.solve(x[:, :3] + 4 * torch.eye(3), x[:, 1:])
            + x.prod()
            + x.norm()
            + x.max(1).values
        )
        loss = F.mse_loss(y, torch.zeros(3, 3)) + F.cross_entropy(y, torch.tensor([0, 1, 2]))
    loss.backward()
    return loss, x.grad


# -- values -----------------------------------------------------------------------------------------------------------


@scenario
def what_is_unpacked_is_used(torch):
    x = values(torch, 1.0, 2.0)
    with doubling(torch):
        y = x * x
    y.sum().backward()
    return x.grad


@scenario
def double_backward(torch):
    found = []
    for first in (False, True):
        for second in (False, True):
            a = values(torch, 3.0)
            outer, inner = (doubling(torch) if on else torch.enable_grad() for on in (first, second))
            with outer:
                y = (a**3).sum()
            with inner:
                (gradient,) = torch.autograd.grad(y, a, create_graph=True)
                gradient.sum().backward()
            found.append(a.grad)
    return found


@scenario
def history_goes_through_packed_values(torch):
    x = values(torch, 1.0, 2.0)
    b = x.sin()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        y = (b * b * x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    return first, second


@scenario
def saved_values_have_their_history(torch):
    x = values(torch, 1.0, 2.0)
    b = x * 3
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        y = (x * b).exp()
    product = y.grad_fn.next_functions[0][0]
    left, right, result = product._saved_self, product._saved_other, y.grad_fn._saved_result
    return (
        left is x, left.is_leaf, left.requires_grad, right is b, right.grad_fn is b.grad_fn,
        result.grad_fn is y.grad_fn, torch.autograd.grad(left.sum() * 2, x),
    )  # fmt: skip


@scenario
def other_dtype(torch):
    x = values(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.to(torch.float16), lambda t: t.to(torch.float32)
    ):
        y = (x * x).sum()
    y.backward()
    return x.grad


@scenario
def complex_values(torch):
    z = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), same):
        y = (z * z.exp()).abs().sum()
    y.backward()
    return z.grad


@scenario
def modified_afterwards(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        z = y * y
    y.mul_(3)
    z.sum().backward()
    return x.grad


@scenario
def on_cpu(torch):
    x = values(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu():
        y = (x**2).sum()
    with torch.autograd.graph.save_on_cpu(pin_memory=False, device_type="cuda"):
        y = y * x.exp().sum()
    y.backward()
    return x.grad, issubclass(torch.autograd.graph.save_on_cpu, torch.autograd.graph.saved_tensors_hooks)


# -- which pair -------------------------------------------------------------------------------------------------------


@scenario
def the_innermost_pair(torch):
    log = []
    x = values(torch, 1.0)
    with noting(torch, log, "outer"):
        x.exp()
        with noting(torch, log, "inner"):
            x.exp()
        x.exp()
    x.exp()
    return [name for name, *_ in log]


@scenario
def as_a_base_class(torch):
    log = []

    class Noting(torch.autograd.graph.saved_tensors_hooks):
        def __init__(self):
            super().__init__(lambda t: log.append(rounded(t)), same)

    x = values(torch, 1.0)
    hooks = Noting()
    with hooks:
        with hooks:
            x.exp()
        x.sin()
    with hooks as entered:
        x.sin()
    return log, entered


@scenario
def exits_out_of_order(torch):
    log = []
    x = values(torch, 1.0)
    first, second = noting(torch, log, "first"), noting(torch, log, "second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    x.exp()
    second.__exit__(None, None, None)
    x.exp()
    return [name for name, *_ in log]


@scenario
def hooks_within_a_hook(torch):
    log = []

    def pack(t):
        with noting(torch, log, "inner"), torch.enable_grad():
            t * t
        return t.detach()

    x = values(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, same):
        y = x.exp() * x
    y.backward()
    return [name for name, *_ in log], x.grad


@scenario
def operations_within_a_hook(torch):
    x = values(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2 - t, lambda t: (t + t) / 2):
        y = (x.exp() * x).sum()
    y.backward()
    return x.grad


# -- refusals ---------------------------------------------------------------------------------------------------------


@scenario
def no_tensor(torch):
    x = values(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 1, same):
        y = x * x
    y.backward()


@scenario
def no_tensor_asked_for(torch):
    x = values(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 1, same):
        y = x * x
    return y.grad_fn._saved_self


@scenario
def a_hook_that_packs_fails(torch):
    def pack(t):
        raise ValueError("no room")

    x = values(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, same):
        return x**2


@scenario
def a_hook_that_unpacks_fails(torch):
    def unpack(t):
        raise IndexError("lost")

    x = values(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(same, unpack):
        y = x**2
    y.backward()


@scenario
def freed(torch):
    x = values(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), same):
        y = x**2
    y.backward()
    y.backward()


@scenario
def disabled(torch):
    with (
        torch.autograd.graph.disable_saved_tensors_hooks("not here"),
        torch.autograd.graph.saved_tensors_hooks(same, same),
    ):
        return None


@scenario
def disabled_save_on_cpu(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"), torch.autograd.graph.save_on_cpu():
        return None


@scenario
def disabled_within(torch):
    with (
        torch.autograd.graph.disable_saved_tensors_hooks("outer"),
        torch.autograd.graph.disable_saved_tensors_hooks("inner"),
        torch.autograd.graph.saved_tensors_hooks(same, same),
    ):
        return None


@scenario
def disabled_again_after(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("outer"):
        with torch.autograd.graph.disable_saved_tensors_hooks("inner"):
            pass
        with torch.autograd.graph.saved_tensors_hooks(same, same):
            return None


@scenario
def enabled_again_after(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("outer"):
        pass
    x = values(torch, 1.0)
    with doubling(torch):
        y = x * x
    y.backward()
    return x.grad


@scenario
def disabled_where_there_are_hooks(torch):
    with doubling(torch), torch.autograd.graph.disable_saved_tensors_hooks("too late"):
        return None


@scenario
def disabled_as_a_decorator(torch):
    @torch.autograd.graph.disable_saved_tensors_hooks("not in here")
    def inner():
        with doubling(torch):
            pass

    return inner()


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


# -- ours -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
def test_what_is_packed_is_freed_by_backward(library):
    class Packed:
        pass

    alive = []

    def pack(t):
        packed = Packed()
        packed.value = t.detach()
        alive.append(weakref.ref(packed))
        return packed

    x = values(library, 1.0, 2.0)
    with library.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed.value):
        y = (x.exp() * x).sum()
    assert all(ref() is not None for ref in alive)
    y.backward()
    gc.collect()
    assert len(alive) == 3
    assert all(ref() is None for ref in alive)


@pytest.mark.parametrize("hook", ["pack", "unpack"])
def test_hooks_have_to_be_callable(hook):
    pair = (1, same) if hook == "pack" else (same, 1)
    with pytest.raises(TypeError, match=f"{hook}_hook"), fxt.autograd.graph.saved_tensors_hooks(*pair):
        pass


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
def test_a_hook_may_not_modify_what_it_is_given(library):
    x = values(library, 1.0, 2.0)
    with (
        library.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), same),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        x.clone() ** 2


def test_each_thread_has_its_own_hooks():
    log, found = [], []

    def work():
        x = values(fxt, 1.0)
        (x * x).backward()
        found.append(x.grad.tolist())

    with noting(fxt, log):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(20)
    assert found == [[2.0]]
    assert log == []


def test_a_hook_that_leaves_hooks_behind_leaves_nothing():
    log = []
    x = values(fxt, 1.0)

    def pack(t):
        noting(fxt, log).__enter__()
        return t.detach()

    with fxt.autograd.graph.saved_tensors_hooks(pack, same):
        y = x.exp() * x
    x.exp()
    y.backward()
    assert log == []


def test_hooks_are_off_at_no_cost():
    from fxgrad.core.interpreter import CURRENT, EVAL

    with doubling(fxt):
        assert CURRENT.get() is not EVAL
    assert CURRENT.get() is EVAL
