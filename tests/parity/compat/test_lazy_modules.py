"""Lazy modules against torch: before their first call, by that call, by a state."""

from __future__ import annotations

import copy

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()


def shapes_of(module):
    """The shapes of the parameters, by name."""
    return {name: tuple(p.shape) for name, p in module.named_parameters()}


@scenario
def before_the_first_call(T):
    layer = T.nn.LazyLinear(3)
    kinds = [type(p).__name__ for p in layer.parameters()]
    return repr(layer), kinds, layer.has_uninitialized_params(), repr(layer.weight), list(layer.state_dict())


@scenario
def by_the_first_call(T):
    net = T.nn.Sequential(T.nn.LazyConv2d(2, 3), T.nn.LazyBatchNorm2d(), T.nn.Flatten(), T.nn.LazyLinear(4))
    optimizer = T.optim.SGD(net.parameters(), 0.1)
    net(T.ones(2, 3, 5, 5)).sum().backward()
    optimizer.step()
    names = [type(module).__name__ for module in net]
    hooks = [len(module._forward_pre_hooks) for module in net]
    return names, repr(net), shapes_of(net), hooks, [p.grad is not None for p in net.parameters()]


@scenario
def by_a_state(T):
    layer, other = T.nn.LazyLinear(2), T.nn.Linear(3, 2)
    layer.load_state_dict(other.state_dict())
    shapes = shapes_of(layer)
    y = layer(T.ones(1, 3))
    return shapes, repr(layer), T.equal(y, other(T.ones(1, 3)))


@scenario
def copies_and_dtypes(T):
    layer = copy.deepcopy(T.nn.LazyConv1d(2, 1)).double()
    layer(T.ones(1, 3, 4).double())
    return str(layer.weight.dtype), type(layer).__name__


@scenario
def a_lazy_module_of_ones_own(T):
    class Scale(T.nn.modules.lazy.LazyModuleMixin, T.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = T.nn.parameter.UninitializedParameter()
            self.register_buffer("count", T.nn.parameter.UninitializedBuffer())

        def initialize_parameters(self, x):
            with T.no_grad():
                self.factor.materialize(x.shape)
                self.count.materialize(())
                self.factor.fill_(2.0)
                self.count.fill_(1.0)

        def forward(self, x):
            return x * self.factor + self.count

    module = Scale()
    found = module(T.ones(2))
    return (
        found.tolist(),
        [type(t).__name__ for t in (module.factor, module.count)],
        module.factor.requires_grad,
    )


@pytest.mark.filterwarnings("ignore:Lazy modules:UserWarning")
@scenario.each()
def test_alike(scenario):
    check(scenario)


@pytest.mark.parametrize("code", ["T.nn.LazyLinear(2).weight.shape", "T.nn.LazyConv2d(2, 3)(T.ones(3))"])
def test_misuse(code):
    errors = []
    for T in (fxt, torch):
        with pytest.raises(RuntimeError) as caught:
            eval(code, {"T": T})
        errors.append(str(caught.value).partition("\n  at:")[0])
    assert errors[0] == errors[1]
