"""Nodes against torch: their classes and names, also in the graphs of gradients, and what they know."""

from __future__ import annotations

import gc
import re
import weakref
from dataclasses import replace

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import flat, leaves_of
from tests.parity.compat.questions import differentiable
from tests.parity.compat.saving import values
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


def graph_of(node, depth=6):
    """The names of the classes of nodes, as a tree."""
    if node is None or not depth:
        return None
    return type(node).__name__, [graph_of(below, depth - 1) for below, _ in node.next_functions]


# -- classes ----------------------------------------------------------------------------------------------------------


@scenario
def classes(torch):
    x = values(torch, 1.0, 2.0)
    made = [
        x * x,
        x + 1,
        x.exp(),
        x.sum(),
        x[0],
        x.clone(),
        x.view(1, 2),
        x.softmax(0),
        x @ x,
        -x,
        x.unbind()[1],
    ]
    nodes, base = [y.grad_fn for y in made], torch.autograd.graph.Node
    return [(type(n).__name__, n.name(), isinstance(n, base), issubclass(type(n), base)) for n in nodes]


@scenario
def one_class_for_each_name(torch):
    x = values(torch, 1.0, 2.0)
    first, second, other = (x * x).grad_fn, (x * 3).grad_fn, x.exp().grad_fn
    return type(first) is type(second), type(first) is type(other)


@scenario
def leaves(torch):
    x = values(torch, 1.0, 2.0)
    leaf = (x * x).grad_fn.next_functions[0][0]
    return (
        type(leaf).__name__, leaf.name(), leaf.variable is x, leaf._sequence_nr(), leaf.next_functions,
        isinstance(leaf, torch.autograd.graph.Node), leaf is x.exp().grad_fn.next_functions[0][0],
        leaf._input_metadata[0].dtype == x.dtype, tuple(leaf._input_metadata[0].shape),
    )  # fmt: skip


@scenario
def modified_in_place(torch):
    x = values(torch, 1.0, 2.0)
    y = x.clone()
    view = y[:1]
    view.mul_(2)
    return type(y.grad_fn).__name__, graph_of(y.grad_fn.next_functions[0][0]), y.grad_fn.name()


@scenario
def functions(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    node = Double.apply(values(torch, 1.0)).grad_fn
    return (
        type(node).__name__, node.name(), isinstance(node, torch.autograd.graph.Node),
        type(node) is Double._backward_cls, node.saved_tensors, node._raw_saved_tensors,
        tuple(node._input_metadata[0].shape),
    )  # fmt: skip


@scenario
def the_class_itself(torch):
    node = torch.autograd.graph.Node
    return isinstance(3, node), isinstance(values(torch, 1.0), node), issubclass(int, node)


@scenario
def made_by_hand(torch):
    with pytest.raises(TypeError, match="abstract"):
        torch.autograd.graph.Node()
    with pytest.raises(TypeError, match="cannot create 'ExpBackward0' instances"):
        type(values(torch, 1.0).exp().grad_fn)()


# -- identity ---------------------------------------------------------------------------------------------------------


@scenario
def identity(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    z = y.exp()
    node = y.grad_fn
    first, second = x.split(1)
    return (
        y.grad_fn is node, z.grad_fn.next_functions[0][0] is node, node == y.grad_fn, hash(node) == hash(y.grad_fn),
        {node: 1}[z.grad_fn.next_functions[0][0]], first.grad_fn is second.grad_fn, node.requires_grad,
        z.grad_fn._sequence_nr() > node._sequence_nr(),
    )  # fmt: skip


@scenario
def metadata(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    y.grad_fn.metadata["seen"] = 1
    return y.grad_fn.metadata, (y * 1).grad_fn.next_functions[0][0].metadata, (x * 2).grad_fn.metadata


@scenario
def results(torch):
    x = values(torch, 1.0, 2.0, 3.0)
    parts = x.split([1, 2])
    y, z = x.reshape(3, 1) * torch.ones(2, dtype=torch.float64), x.exp()
    return [
        [(tuple(m.shape), str(m.dtype), m.device.type) for m in t.grad_fn._input_metadata]
        for t in (parts[1], y, z)
    ]


@scenario
def backward_after_a_look(torch):
    """Nodes that were looked at work like the others."""
    x = values(torch, 1.0, 2.0)
    y = x * x
    z = y.exp() * y
    names = graph_of(z.grad_fn)
    z.sum().backward(retain_graph=True)
    gradient = x.grad.clone()
    (again,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(again.sum(), x, retain_graph=True)
    return names, gradient, again, second, torch.autograd.grad(z.sum(), y)


@scenario
def checkpoints_after_a_look(torch):
    x, seen = values(torch, 1.0, 2.0), []

    def block(t):
        y = t.sin()
        seen.append(type(y.grad_fn).__name__)
        return y.exp()

    y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
    names = graph_of(y.grad_fn)
    y.sum().backward()
    return names, seen, x.grad


# -- graphs of gradients ----------------------------------------------------------------------------------------------


def gradient_graphs(torch, *functions):
    found = []
    for function in functions:
        x = values(torch, 0.5, 2.0)
        (gradient,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        found.append(graph_of(gradient.grad_fn))
    return found


@scenario
def gradients(torch):
    return gradient_graphs(
        torch,
        lambda x: x * x,
        torch.sin,
        torch.exp,
        torch.abs,
        torch.log,
        lambda x: x * x.exp(),
        lambda x: x.sin().exp(),
    )


@scenario
def outermost_nodes_of_gradients(torch):
    functions = [
        lambda x: x**3, lambda x: x**2 * 3, lambda x: x.sqrt() * x, lambda x: x / x, lambda x: 2 * x.exp(),
        lambda x: x.reshape(2, 1) @ x.reshape(1, 2), lambda x: x.mean() * x, lambda x: torch.atan(x) ** 2,
    ]  # fmt: skip
    return [name for name, _ in gradient_graphs(torch, *functions)]


@scenario
def operations_in_the_backward_of_a_function(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.exp()

    x = values(torch, 1.0)
    (gradient,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    return graph_of(gradient.grad_fn)


@scenario
def the_node_of_grad(torch):
    x = values(torch, 1.0, 2.0)
    (x * x.exp()).sum().backward(create_graph=True)
    first = type(x.grad.grad_fn).__name__
    (x * x.exp()).sum().backward(create_graph=True)
    return first, graph_of(x.grad.grad_fn, 1), type(x.grad.grad_fn.next_functions[0][0]).__name__


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


# Operations of which torch counts overloads that are told apart by nothing here: methods in place that are operations
# of their own there, a number in place of a Tensor of values, dimensions to be squeezed; and four that it composes.
UNCOUNTED = {
    "fill", "frobenius_norm", "gru", "index_fill", "masked_fill", "nn.functional.cross_entropy", "scatter",
    "special.ndtr", "squeeze", ".conj_physical_", ".fill_", ".polygamma_", ".scatter_", ".squeeze_", ".swapaxes_",
    ".t_", ".transpose_", ".unsqueeze_",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_overloads_are_counted_as_in_torch():
    found = set()
    for case in gathered():
        if not differentiable(case):
            continue
        nodes = []
        for library in (torch, fxt):
            try:
                made = flat(replace(case, then=None).call(library, leaves_of(case, library)))
            except Exception:  # one that torch refuses on this machine
                break
            nodes.append([None if y.grad_fn is None else y.grad_fn.name() for y in made])
        if len(nodes) == 2 and nodes[0] != nodes[1]:
            theirs, ours = ([n and re.sub(r"\d+$", "", n) for n in names] for names in nodes)
            if theirs == ours:
                found.add(case.name)
    assert found == UNCOUNTED


# -- ours -------------------------------------------------------------------------------------------------------------


def test_nodes_may_be_referred_to_weakly():
    y = values(fxt, 1.0).exp()
    node = weakref.ref(y.grad_fn)
    assert node() is y.grad_fn
    enabled = gc.isenabled()
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        if enabled:
            gc.enable()


def test_the_metadata_of_a_result_that_is_gone():
    x = values(fxt, 1.0, 2.0)
    y = x.exp().sin()
    assert y.grad_fn.next_functions[0][0]._input_metadata[0].shape == (2,)  # it has saved its result
    z = (x + 1).sum()
    with pytest.raises(RuntimeError, match="AddBackward0: its result is gone"):
        z.grad_fn.next_functions[0][0]._input_metadata  # noqa: B018
