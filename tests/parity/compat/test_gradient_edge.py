"""`GradientEdge`s against torch, wherever `backward` and `grad` take them, and `increment_version`."""

from __future__ import annotations

import gc
import weakref

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore:Using backward:UserWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning"),
]


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


def edge_of(torch, tensor):
    return torch.autograd.graph.get_gradient_edge(tensor)


class Edges:
    """x → y → z, and their edges."""

    def __init__(self, torch):
        self.x = values(torch, 1.0, 2.0)
        self.y = self.x * 2
        self.z = (self.y * self.y).sum()
        self.of_x, self.of_y, self.of_z = (edge_of(torch, t) for t in (self.x, self.y, self.z))


@scenario
def inputs_of_grad(torch):
    e = Edges(torch)
    grad = torch.autograd.grad
    return [
        grad(e.z, e.of_y, retain_graph=True),
        grad(e.z, [e.of_x, e.of_y], retain_graph=True),
        grad(e.z, (e.of_x, e.y), retain_graph=True, create_graph=True),
    ]


@scenario
def outputs_of_grad(torch):
    e = Edges(torch)
    grad = torch.autograd.grad
    return [
        grad(e.of_z, e.x, retain_graph=True),
        grad([e.of_z], [e.of_x], [None], retain_graph=True),
        grad(e.of_y, e.x, torch.ones(2), retain_graph=True),
        grad([e.of_z, e.of_y], e.of_x, [torch.tensor(3.0), torch.ones(2)], retain_graph=True),
        grad(e.of_x, e.x, torch.ones(2)),
    ]


@scenario
def outputs_of_backward(torch):
    e = Edges(torch)
    torch.autograd.backward(e.of_z, retain_graph=True)
    torch.autograd.backward([e.of_z, e.of_y], [None, torch.ones(2)], retain_graph=True)
    torch.autograd.backward(e.of_x, torch.ones(2), retain_graph=True)
    torch.autograd.backward(e.of_z, create_graph=True)
    return e.x.grad, e.x.grad.requires_grad


@scenario
def inputs_of_backward(torch):
    e = Edges(torch)
    e.z.backward(inputs=e.of_x, retain_graph=True)
    torch.autograd.backward(e.of_z, inputs=[e.of_x], retain_graph=True)
    e.z.backward(inputs=[e.of_y, e.x], retain_graph=True)
    e.z.backward(inputs=[e.of_y])
    return e.x.grad, e.y.grad


@scenario
def inputs_that_are_not_reached(torch):
    e = Edges(torch)
    other = edge_of(torch, values(torch, 1.0) * 2)
    torch.autograd.backward(e.of_z, inputs=[other], retain_graph=True)
    return torch.autograd.grad(e.z, [other, e.of_x], allow_unused=True), e.x.grad


@scenario
def no_inputs(torch):
    e = Edges(torch)
    return torch.autograd.backward(e.of_z, inputs=[])


@scenario
def an_output_that_is_no_number(torch):
    e = Edges(torch)
    return torch.autograd.grad(e.of_y, e.x)


@scenario
def a_gradient_of_another_shape(torch):
    e = Edges(torch)
    return torch.autograd.grad(e.of_y, e.x, torch.ones(3))


@scenario
def edges_made_by_hand(torch):
    e = Edges(torch)
    edge = torch.autograd.graph.GradientEdge
    y, z = edge(e.y.grad_fn, 0), edge(e.z.grad_fn, 0)
    return [
        torch.autograd.grad(z, e.x, retain_graph=True),
        torch.autograd.grad(e.z, y, retain_graph=True),
        torch.autograd.grad(y, e.x, torch.ones(2)),
        tuple(y)[1:],
    ]


@scenario
def an_edge_made_by_hand_and_no_gradient(torch):
    e = Edges(torch)
    return torch.autograd.grad(torch.autograd.graph.GradientEdge(e.y.grad_fn, 0), e.x)


@scenario
def edges_to_earlier_nodes(torch):
    e = Edges(torch)
    edge = torch.autograd.graph.GradientEdge((e.y.exp() + 1).grad_fn.next_functions[0][0], 0)
    return [
        torch.autograd.grad(edge, e.x, torch.ones(2), retain_graph=True),
        torch.autograd.grad(edge, e.x, torch.eye(2), is_grads_batched=True),
    ]


@scenario
def one_of_several_results(torch):
    x = values(torch, 1.0, 2.0, 3.0, 4.0)
    a, b = x.split(2)
    of_a, of_b = edge_of(torch, a), edge_of(torch, b)
    z = (a * 2 + b * 3).sum()
    return [
        (of_a.output_nr, of_b.output_nr, of_a.node is of_b.node),
        torch.autograd.grad(z, [of_a, of_b], retain_graph=True),
        torch.autograd.grad([of_a, of_b], x, [torch.ones(2), torch.full((2,), 5.0)]),
    ]


@scenario
def before_and_after_in_place(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    before = edge_of(torch, y)
    y.mul_(3)
    after = edge_of(torch, y)
    z = y.sum()
    return [
        before.node is after.node,
        torch.autograd.grad(z, before, retain_graph=True),
        torch.autograd.grad(z, after, retain_graph=True),
        torch.autograd.grad(before, x, torch.ones(2)),
    ]


@scenario
def of_a_view_before_and_after_its_base_changes(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    v = y[:1]
    before = edge_of(torch, v)
    y.mul_(2)
    after = edge_of(torch, v)
    grad = torch.autograd.grad
    return grad(after, x, torch.ones(1), retain_graph=True), grad(before, x, torch.ones(1))


@scenario
def after_detach_in_place(torch):
    x = values(torch, 1.0, 2.0)
    y = (x * 2).sum()
    edge = edge_of(torch, y)
    y.detach_()
    return torch.autograd.grad(edge, x)


@scenario
def of_a_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = values(torch, 1.0, 2.0)
    edge = edge_of(torch, Double.apply(x))
    gc.collect()
    return torch.autograd.grad(edge, x, torch.ones(2)), edge.node.name()


@scenario
def of_complex_numbers(torch):
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    edge = edge_of(torch, x * 2)
    return torch.autograd.grad(edge, x, torch.ones(2, dtype=torch.complex64) * 1j)


@scenario
def batches_and_graphs_of_gradients(torch):
    e = Edges(torch)
    w = e.y * 3
    (g,) = torch.autograd.grad((w * w).sum(), e.of_y, create_graph=True)
    return [
        torch.autograd.grad(w, e.of_y, torch.eye(2), is_grads_batched=True, retain_graph=True),
        torch.autograd.grad(g.sum(), e.of_x),
    ]


@scenario
def of_a_leaf(torch):
    x = values(torch, 1.0, 2.0)
    edge = edge_of(torch, x)
    return edge.node.name(), edge.output_nr, len(edge), edge == edge_of(torch, x)


@scenario
def what_an_edge_keeps_alive(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    edges = edge_of(torch, x), edge_of(torch, y)
    references = weakref.ref(x), weakref.ref(y)
    z = y.sum()
    del x, y
    gc.collect()
    z.backward()
    return [reference() is None for reference in references], references[0]().grad, len(edges)


@scenario
def of_what_requires_no_gradient(torch):
    return edge_of(torch, torch.ones(2))


# -- versions ---------------------------------------------------------------------------------------------------------


@scenario
def versions_are_counted(torch):
    increment = torch.autograd.graph.increment_version
    x = values(torch, 1.0, 2.0)
    y = x * 2
    v = y[:1]
    d = y.detach()
    seen = []
    for given in (y, [y, x], (), v, d, iter([x])):
        increment(given)
        seen.append([t._version for t in (x, y, v, d)])
    return seen


@scenario
def a_version_that_was_saved(torch):
    x = values(torch, 1.0, 2.0)
    y = x * x
    torch.autograd.graph.increment_version(x)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return None


@scenario
def inference_tensors_have_none(torch):
    with torch.inference_mode():
        t = torch.ones(2)
    return torch.autograd.graph.increment_version(t)


@scenario
def versions_of_no_tensor(torch):
    return torch.autograd.graph.increment_version(3)


@scenario
def versions_of_a_list_of_no_tensors(torch):
    return torch.autograd.graph.increment_version([torch.ones(1), 3])


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


# -- ours alone -------------------------------------------------------------------------------------------------------


def test_zeros_for_an_edge_that_is_not_reached():
    """torch refuses to make them."""
    e = Edges(fxt)
    other = edge_of(fxt, values(fxt, 1.0, 1.0, 1.0) * 2)
    found = fxt.autograd.grad(e.z, [other, e.of_x], materialize_grads=True)
    assert [g.tolist() for g in found] == [[0.0, 0.0, 0.0], [8.0, 16.0]]


@pytest.mark.parametrize("number", [1, -1])
def test_a_result_that_a_node_does_not_have(number):
    """torch crashes."""
    e = Edges(fxt)
    edge = fxt.autograd.graph.GradientEdge(e.y.grad_fn, number)
    with pytest.raises(IndexError, match=f"MulBackward0 has no output number {number}"):
        fxt.autograd.grad(e.z, edge)
    with pytest.raises(IndexError, match=f"MulBackward0 has no output number {number}"):
        fxt.autograd.backward(edge, fxt.ones(2))


def test_a_shape_that_is_not_known():
    e = Edges(fxt)
    edge = fxt.autograd.graph.GradientEdge((e.y * 2 + 1).grad_fn.next_functions[0][0], 0)
    with pytest.raises(RuntimeError, match="the shape of the output of MulBackward0 is not known"):
        fxt.autograd.grad(edge, e.x)


def test_what_is_no_tensor():
    with pytest.raises(TypeError, match="expected a Tensor, but got int"):
        edge_of(fxt, 3)
