"""Checkpoints beside what else looks at a graph: hooks, modes, profiles, anomalies, tangents, transforms."""

from __future__ import annotations

import pytest

import fxgrad as fx
import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401
from tests.parity.compat.test_checkpoint import checkpoint_of, leaves

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


@scenario
def functions_of_the_users(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    runs = []

    def function(a):
        runs.append(1)
        return Cube.apply(a.sin())

    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x), len(runs)


@scenario
def hooks_of_the_users_within(torch):
    packed = []

    def pack(t):
        packed.append("pack")
        return t.detach()

    def unpack(t):
        packed.append("unpack")
        return t

    def function(a):
        b = a.sin()
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            c = b.exp()
        return c.cos()

    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    y.sum().backward()
    return x.grad, packed


@scenario
def hooks_are_disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        checkpoint_of(torch).checkpoint(lambda a: a.sin(), leaves(torch)[0], use_reentrant=False)


@scenario
def under_save_on_cpu(torch):
    x, w = leaves(torch)
    with torch.autograd.graph.save_on_cpu():
        y = checkpoint_of(torch).checkpoint(lambda a: (a * w).sin().exp(), x * 2, use_reentrant=False)
    return torch.autograd.grad(y.sum(), (x, w))


@scenario
def hooks_of_tensors_and_nodes_within(torch):
    seen = []

    def function(a):
        b = a.sin()
        b.register_hook(lambda g: seen.append("tensor") or g * 2)
        c = b.exp()
        c.grad_fn.register_prehook(lambda g: seen.append("node") or g)
        return c

    x = leaves(torch)[0]
    checkpoint_of(torch).checkpoint(function, x, use_reentrant=False).sum().backward()
    return x.grad, seen


@scenario
def grad_modes_within(torch):
    def function(a):
        with torch.no_grad():
            b = a.sin()
        with torch.enable_grad():
            c = a.exp()
        return b * c

    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def backward_runs_under_no_grad(torch):
    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False)
    with torch.no_grad():
        y.sum().backward()
    return x.grad


@scenario
def profiles_see_both_runs(torch):
    x = leaves(torch)[0]
    with torch.autograd.profiler.profile() as profile:
        y = checkpoint_of(torch).checkpoint(lambda a: (a.sin() * a).exp(), x, use_reentrant=False)
        y.sum().backward()
    names = "aten::sin", "aten::exp"
    return {event.key: event.count for event in profile.key_averages() if event.key in names}


@scenario
def anomalies_in_the_second_run(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = checkpoint_of(torch).checkpoint(lambda a: (a / a).exp(), x, use_reentrant=False)
        y.sum().backward()


@scenario
def tangents_of_gradients(torch):
    forward_ad = torch.autograd.forward_ad
    found = []
    for of_tangent in (True, False):
        x, t = leaves(torch)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, t.detach())
            y = checkpoint_of(torch).checkpoint(lambda a: (a.sin() * a).exp(), dual, use_reentrant=False)
            if of_tangent:
                found.append(torch.autograd.grad(forward_ad.unpack_dual(y).tangent.sum(), x))
            else:
                g = forward_ad.unpack_dual(torch.autograd.grad(y.sum(), x)[0])
                found.append((g.primal, g.tangent))
    return found


@scenario
def batched_gradients(torch):
    x = leaves(torch)[0]
    y = checkpoint_of(torch).checkpoint(lambda a: (a.sin() * a).exp(), x, use_reentrant=False)
    return torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)


@scenario.each()
def test_alike(scenario):
    check(scenario)


def test_inside_transforms_of_the_functional_api():
    x = leaves(fxt)[0].detach()
    block = lambda a: (a.sin() * a).exp()  # noqa: E731
    checkpointed = lambda a: fxt.utils.checkpoint.checkpoint(block, a, use_reentrant=False)  # noqa: E731
    for transform in (
        lambda f: fx.grad(lambda a: f(a).sum()),
        lambda f: fx.vmap(fx.grad(f)),
        lambda f: fx.grad(lambda a: fx.grad(lambda b: f(b).sum())(a).sum()),
    ):
        assert fxt.allclose(transform(checkpointed)(x), transform(block)(x))
