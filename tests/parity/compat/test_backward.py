"""`backward` and `grad` against torch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")  # torch, of its reference cycle


def leaf(torch, *shape, dtype="float32"):
    return torch.ones(*shape, dtype=getattr(torch, dtype), requires_grad=True)


def values(torch, *entries, **options):
    return torch.tensor(entries, requires_grad=True, **options)


# -- outputs and their gradients ------------------------------------------------------------------------------------


@scenario
def several_outputs_are_summed(torch):
    x = values(torch, 1.0, 2.0)
    torch.autograd.backward([(x * x).sum(), x * 3], [None, torch.tensor([1.0, 10.0])])
    return x.grad


@scenario
def one_output_twice(torch):
    x = values(torch, 1.0, 2.0)
    y = (x * x).sum()
    torch.autograd.backward([y, y])
    return x.grad


@scenario
def no_outputs(torch):
    return torch.autograd.backward([])


@scenario
def an_output_is_a_leaf(torch):
    x = leaf(torch, 1)
    x.backward()
    return x.grad, torch.autograd.grad(x, x), torch.autograd.grad(x, [x, x])


@scenario
def gradients_of_another_precision(torch):
    x = leaf(torch, 3)
    (x * 2).backward(torch.ones(3, dtype=torch.float64))
    (x * 2).backward(torch.ones(3, dtype=torch.int64))
    return x.grad


@scenario
def accumulated_over_passes(torch):
    x = values(torch, 1.0, 2.0)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad


@scenario
def under_no_grad(torch):
    x = leaf(torch, 2)
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()
        modes = torch.is_grad_enabled()
    return x.grad, modes, torch.is_grad_enabled()


@scenario
def one_element_of_several_axes(torch):
    x = leaf(torch, 1, 1)
    (x * 3).backward()
    return x.grad


@scenario
def complex_gradients_are_conjugated(torch):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    seen = []
    z.register_hook(seen.append)
    y = z * z
    y.retain_grad()
    y.backward(torch.tensor([1j, 2 + 0j]))
    (g,) = torch.autograd.grad((z * z.conj()).real.sum(), z)
    return z.grad, seen, y.grad, g


@scenario
def several_elements(torch):
    leaf(torch, 3).exp().backward()


@scenario
def several_elements_for_grad(torch):
    x = leaf(torch, 3)
    torch.autograd.grad(x.exp(), x)


@scenario
def a_complex_element(torch):
    (leaf(torch, 1, dtype="complex64") * 2).backward()


@scenario
def an_output_without_history(torch):
    torch.ones(1).backward()


@scenario
def the_second_output_without_history(torch):
    torch.autograd.backward([leaf(torch, 1), torch.ones(1)])


@scenario
def an_integer_output(torch):
    torch.autograd.backward([(leaf(torch, 1) * 1).to(torch.int64)])


@scenario
def a_gradient_of_another_shape(torch):
    (leaf(torch, 3) * 2).backward(torch.ones(2))


@scenario
def a_complex_gradient_of_a_real_output(torch):
    (leaf(torch, 3) * 2).backward(torch.ones(3, dtype=torch.complex64))


@scenario
def a_real_gradient_of_a_complex_output(torch):
    (leaf(torch, 3, dtype="complex64") * 2).backward(torch.ones(3))


@scenario
def fewer_gradients_than_outputs(torch):
    x = leaf(torch, 3)
    torch.autograd.backward([x * 2, x * 3], [torch.ones(3)])


@scenario
def a_gradient_that_is_no_tensor(torch):
    (leaf(torch, 1) * 2).backward([1.0])


@scenario
def an_output_that_is_no_tensor(torch):
    torch.autograd.backward(3)


# -- freed graphs ---------------------------------------------------------------------------------------------------


@scenario
def a_freed_graph(torch):
    y = leaf(torch, 3).exp().sum()
    y.backward()
    y.backward()


@scenario
def a_shared_part_is_freed(torch):
    y = leaf(torch, 3).exp()
    y.sum().backward()
    (y * 2).sum().backward()


@scenario
def a_retained_graph(torch):
    x = leaf(torch, 3)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@scenario
def nodes_that_keep_nothing_are_passed_twice(torch):
    x = leaf(torch, 2)
    y = (x + 1).sum().neg()
    y.backward()
    y.backward()
    return x.grad


@scenario
def create_graph_retains(torch):
    x = values(torch, 2.0)
    y = x * x * x
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    (k,) = torch.autograd.grad(h, x)
    return g, h, k, torch.autograd.grad(y, x)


@scenario
def create_graph_without_retaining(torch):
    x = values(torch, 2.0)
    y = x.exp()
    (g,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return g.requires_grad, torch.autograd.grad(y, x)


@scenario
def backward_of_backward(torch):
    x = values(torch, 2.0, 3.0)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    return first, first.grad_fn.name(), x.grad


@scenario
def gradients_have_a_history_of_their_gradients(torch):
    x, v = values(torch, 2.0, 3.0), values(torch, 1.0, 0.5)
    (g,) = torch.autograd.grad(x * x, x, v, create_graph=True)
    return torch.autograd.grad(g.sum(), [x, v])


# -- inputs -----------------------------------------------------------------------------------------------------------


@scenario
def inputs_of_several_kinds(torch):
    x, w = values(torch, 1.0, 2.0), values(torch, 3.0, 4.0)
    y = x * w
    return torch.autograd.grad((y * y).sum() + x.sum(), [w, y, x])


@scenario
def only_what_leads_to_inputs_is_run(torch):
    x, w = leaf(torch, 2), leaf(torch, 2)
    passed = []
    a, b = x.sin(), w.cos()
    for name, t in (("a", a), ("b", b)):
        t.grad_fn.register_prehook(lambda g, name=name: passed.append(name))
    torch.autograd.grad((a * b).sum(), w)
    return passed, x.grad, w.grad


@scenario
def an_unused_input(torch):
    x = leaf(torch, 1)
    torch.autograd.grad(x * 2, [x, leaf(torch, 2)])


@scenario
def an_unused_input_is_allowed(torch):
    x = leaf(torch, 1)
    return torch.autograd.grad(x * 2, [leaf(torch, 2), x], allow_unused=True)


@scenario
def an_unused_input_is_zero(torch):
    x = leaf(torch, 1)
    return torch.autograd.grad(x * 2, [leaf(torch, 2, dtype="float64"), x], materialize_grads=True)


@scenario
def zeros_or_an_error(torch):
    x = leaf(torch, 1)
    torch.autograd.grad(x * 2, x, materialize_grads=True, allow_unused=False)


@scenario
def an_input_without_gradient(torch):
    torch.autograd.grad(leaf(torch, 1) * 2, [torch.ones(1)], allow_unused=True)


@scenario
def no_inputs_of_grad(torch):
    torch.autograd.grad(leaf(torch, 1), [])


@scenario
def no_inputs_of_backward(torch):
    leaf(torch, 1).backward(inputs=[])


@scenario
def backward_to_some_leaves(torch):
    x, w = leaf(torch, 2), leaf(torch, 2)
    (x * w).sum().backward(inputs=w)
    return x.grad, w.grad


@scenario
def backward_to_an_unused_leaf(torch):
    x, w = leaf(torch, 2), leaf(torch, 2)
    x.sum().backward(inputs=[w])
    return x.grad, w.grad


@scenario
def backward_to_what_is_no_leaf(torch):
    x = leaf(torch, 2)
    y = x * 2
    z = (y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    z.backward(inputs=y)
    return y.grad, x.grad, y.retains_grad


@scenario
def backward_to_a_constant(torch):
    leaf(torch, 1).backward(inputs=[torch.ones(1)])


# -- edges ----------------------------------------------------------------------------------------------------------


@scenario
def edges_of_outputs_and_inputs(torch):
    x = values(torch, 3.0)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge(y)
    start = torch.autograd.graph.get_gradient_edge(x)
    found = torch.autograd.grad(y * 3, edge), torch.autograd.grad(edge, x, retain_graph=True)
    torch.autograd.backward(edge, torch.ones(1), inputs=[start])
    return found, x.grad, edge.output_nr, start.node.variable is x, edge.node is y.grad_fn, len(edge)


@scenario
def an_edge_made_by_hand(torch):
    x = leaf(torch, 3, 2)
    parts = x.unbind(0)
    edge = torch.autograd.graph.GradientEdge(parts[1].grad_fn, 1)
    return torch.autograd.grad(parts[1].sum() * 2 + parts[0].sum(), edge)


@scenario
def an_edge_outlives_its_tensor(torch):
    x = values(torch, 3.0)
    edge = torch.autograd.graph.get_gradient_edge(x * x)
    return torch.autograd.grad(edge, x, torch.tensor([2.0]))


@scenario
def no_edge_without_gradient(torch):
    torch.autograd.graph.get_gradient_edge(torch.ones(1))


# -- batches of gradients -------------------------------------------------------------------------------------------


@scenario
def batched_gradients(torch):
    x = values(torch, 1.0, 2.0)
    w = values(torch, 3.0, 4.0)
    y = x.sin() * w
    basis = torch.eye(2)
    return torch.autograd.grad(
        y, [x, w], basis, is_grads_batched=True, retain_graph=True
    ), torch.autograd.grad([y, x * x], x, [basis, 2 * basis], is_grads_batched=True)


@scenario
def batched_gradients_with_a_graph(torch):
    x = values(torch, 1.0, 2.0)
    (jacobian,) = torch.autograd.grad(x * x * x, x, torch.eye(2), is_grads_batched=True, create_graph=True)
    return jacobian, torch.autograd.grad(jacobian.sum(), x)


@scenario
def batched_gradients_of_unused_inputs(torch):
    x, w = leaf(torch, 2), leaf(torch, 3)
    options = dict(is_grads_batched=True, retain_graph=True)
    return torch.autograd.grad(
        x * 2, [x, w], torch.eye(2), allow_unused=True, **options
    ), torch.autograd.grad(x * 2, [w, x], torch.eye(2), materialize_grads=True, **options)


# -- deprecated arguments -------------------------------------------------------------------------------------------


@scenario
def former_names(torch):
    x = leaf(torch, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.autograd.backward(x * 2, grad_variables=torch.ones(2))
        found = torch.autograd.grad(x.sum(), x, only_inputs=False)
    return x.grad, found, [(w.category.__name__, str(w.message)) for w in caught]


@scenario
def both_names(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.backward(leaf(torch, 2), torch.ones(2), grad_variables=torch.ones(2))


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


def test_gradients_share_no_memory_with_each_other():
    x, w = leaf(fxt, 3), leaf(fxt, 3)
    for first, second in (
        fxt.autograd.grad((x + w).sum(), [x, w]),
        fxt.autograd.grad(x + w, [x, w], fxt.ones(3)),
    ):
        first.mul_(2)
        np.testing.assert_array_equal(second.numpy(), np.ones(3))


def test_as_many_gradients_as_outputs():
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):  # torch ignores the second
        fxt.autograd.backward([leaf(fxt, 1)], [fxt.ones(1), fxt.ones(1)])
