"""What the documents of torch.autograd (1.8 to 2.8) show and say, one scenario for each example, note and rule.

Forms that later versions of torch do without are in the form that these have. Tensors, Functions and the graph are in
test_documents_graph.
"""

from __future__ import annotations

import warnings

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.documents import (
    adder,
    exp_adder,
    exp_reducer,
    pow_adder_reducer,
    pow_reducer,
    uniform,
)
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
# torch's own, of what it is made of.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


# -- backward and grad ------------------------------------------------------------------------------------------------


@scenario
def backward_takes_a_sequence_and_none_for_scalars(torch):
    x = uniform(torch, 3, requires_grad=True)
    torch.autograd.backward([x.sum(), x * 2], [None, torch.ones(3)])
    return x.grad


@scenario
def backward_wants_grad_tensors_for_what_is_not_scalar(torch):
    torch.autograd.backward([uniform(torch, 3, requires_grad=True) * 2])


@scenario
def backward_accumulates(torch):
    x = uniform(torch, 3, requires_grad=True)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad


@scenario
def backward_with_inputs_ignores_all_others(torch):
    a, b = uniform(torch, 2, requires_grad=True), uniform(torch, 2, requires_grad=True)
    (a * b).sum().backward(inputs=[a])
    return a.grad, b.grad


@scenario
def inputs_may_not_be_empty(torch):
    x = uniform(torch, 2, requires_grad=True)
    torch.autograd.backward(x.sum(), inputs=[])


@scenario
def retain_graph_defaults_to_create_graph(torch):
    x = uniform(torch, 2, requires_grad=True)
    y = (x**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return first, torch.autograd.grad(y, x)


@scenario
def a_graph_that_was_freed(torch):
    x = uniform(torch, 2, requires_grad=True)
    y = (x**3).sum()
    y.backward()
    y.backward()


@scenario
def only_inputs_is_deprecated(torch):
    x = uniform(torch, 2, requires_grad=True)
    with pytest.warns(match="only_inputs argument is deprecated and is ignored now"):
        found = torch.autograd.grad(x.sum(), x, only_inputs=False)
    return found, x.grad


@scenario
def allow_unused(torch):
    x, y = uniform(torch, 2, requires_grad=True), uniform(torch, 2, requires_grad=True)
    found = torch.autograd.grad(x.sum(), [x, y], allow_unused=True)
    zeros = torch.autograd.grad(x.sum(), [x, y], allow_unused=True, materialize_grads=True)
    return found, zeros


@scenario
def unused_inputs_are_an_error(torch):
    x, y = uniform(torch, 2, requires_grad=True), uniform(torch, 2, requires_grad=True)
    torch.autograd.grad(x.sum(), [x, y])


@scenario
def batched_gradients(torch):
    x = uniform(torch, 3, requires_grad=True)
    return torch.autograd.grad(x.exp(), x, torch.eye(3), is_grads_batched=True)


@scenario
def shapes_of_gradients_must_match(torch):
    x = uniform(torch, 3, requires_grad=True)
    torch.autograd.grad(x * 2, x, torch.ones(2))


@scenario
def dtypes_of_gradients_must_match(torch):
    x = uniform(torch, 3, requires_grad=True)
    torch.autograd.grad(x * 2, x, torch.ones(3, dtype=torch.complex64))


@scenario
def gradients_are_tensors_or_none(torch):
    torch.autograd.grad(uniform(torch, 1, requires_grad=True) * 2, [], [1.0])


# -- the functional interface -----------------------------------------------------------------------------------------


@scenario
def jacobian(torch):
    jacobian = torch.autograd.functional.jacobian
    x, pair = uniform(torch, 2, 2), (uniform(torch, 2), uniform(torch, 2))
    return (
        jacobian(exp_reducer, x),
        jacobian(exp_reducer, x, create_graph=True),
        jacobian(exp_adder, pair),
        jacobian(exp_reducer, x, vectorize=True),
        jacobian(exp_reducer, x, vectorize=True, strategy="forward-mode"),
    )


@scenario
def hessian(torch):
    hessian = torch.autograd.functional.hessian
    x, pair = uniform(torch, 2, 2), (uniform(torch, 2), uniform(torch, 2))
    return (
        hessian(pow_reducer, x),
        hessian(pow_reducer, x, create_graph=True),
        hessian(pow_adder_reducer, pair),
        # torch keeps a graph here that was not asked for
        hessian(pow_reducer, x, vectorize=True, outer_jacobian_strategy="forward-mode").detach(),
    )


@scenario
def vjp(torch):
    vjp = torch.autograd.functional.vjp
    x, v = uniform(torch, 4, 4), torch.ones(4)
    pair = uniform(torch, 2), uniform(torch, 2)
    return vjp(exp_reducer, x, v), vjp(exp_reducer, x, v, create_graph=True), vjp(adder, pair, torch.ones(2))


@scenario
def jvp(torch):
    jvp = torch.autograd.functional.jvp
    x, v = uniform(torch, 4, 4), torch.ones(4, 4)
    pair, ones = (uniform(torch, 2), uniform(torch, 2)), (torch.ones(2), torch.ones(2))
    return jvp(exp_reducer, x, v), jvp(exp_reducer, x, v, create_graph=True), jvp(adder, pair, ones)


@scenario
def products_with_hessians(torch):
    x, v = uniform(torch, 2, 2), torch.ones(2, 2)
    pair, some = (uniform(torch, 2), uniform(torch, 2)), (torch.zeros(2), torch.ones(2))
    found = []
    for product in (torch.autograd.functional.vhp, torch.autograd.functional.hvp):
        found += [product(pow_reducer, x, v), product(pow_reducer, x, v, create_graph=True)]
        found.append(product(pow_adder_reducer, pair, some))
    return found


@scenario
def v_is_optional_for_a_single_element(torch):
    functional, x = torch.autograd.functional, uniform(torch, 1)
    return (
        functional.vjp(pow_reducer, uniform(torch, 3)),
        functional.jvp(lambda x: x * x, x),
        functional.vhp(pow_reducer, x),
        functional.hvp(pow_reducer, x),
    )


@scenario
def v_is_not_optional_otherwise(torch):
    torch.autograd.functional.vjp(exp_reducer, uniform(torch, 4, 4))


@scenario
def strict_refuses_independent_results(torch):
    torch.autograd.functional.jacobian(lambda x: torch.ones(2), uniform(torch, 2), strict=True)


@scenario
def independent_results_have_zeros(torch):
    return torch.autograd.functional.jacobian(lambda x: torch.ones(2), uniform(torch, 2))


@scenario
def other_arguments_are_captured(torch):
    constant = uniform(torch, 2)

    def f(input, constant, flag=False):
        return input * constant if flag else input

    return torch.autograd.functional.jacobian(lambda x: f(x, constant, flag=True), uniform(torch, 2))


# -- grad modes -------------------------------------------------------------------------------------------------------


@scenario
def no_grad(torch):
    x = torch.tensor([1.0], requires_grad=True)
    with torch.no_grad():
        y = x * 2

    @torch.no_grad()
    def doubler(x):
        return x * 2

    @torch.no_grad
    def tripler(x):
        return x * 3

    return y.requires_grad, doubler(x).requires_grad, tripler(x).requires_grad


@scenario
def enable_grad(torch):
    x = torch.tensor([1.0], requires_grad=True)
    with torch.no_grad(), torch.enable_grad():
        y = x * 2
    y.backward()

    @torch.enable_grad()
    def doubler(x):
        return x * 2

    with torch.no_grad():
        z = doubler(x)
    return y.requires_grad, x.grad, z.requires_grad


@scenario
def set_grad_enabled(torch):
    x = torch.tensor([1.0], requires_grad=True)
    is_train, found = False, []
    with torch.set_grad_enabled(is_train):
        found.append((x * 2).requires_grad)
    for mode in (False, True):
        torch.set_grad_enabled(mode)
        found.append((x * 2).requires_grad)
    return found


@scenario
def set_multithreading_enabled(torch):
    with torch.autograd.grad_mode.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    return inside, torch.autograd.is_multithreading_enabled()


@scenario
def inference_mode(torch):
    x = torch.ones(1, 2, 3, requires_grad=True)
    with torch.inference_mode():
        y = x * x

    @torch.inference_mode()
    def func(x):
        return x * x

    return y.requires_grad, y.is_inference(), func(x).requires_grad


@scenario
def integers_require_no_gradient(torch):
    return torch.tensor([1], requires_grad=True)


# -- layouts of gradients ---------------------------------------------------------------------------------------------


def gradient_of(x):
    (x * x).sum().backward()
    return x.grad.stride()


@scenario
def layout_rule_1(torch):
    """Of dense memory the gradient has the strides of the parameter."""
    x = torch.empty_strided((2, 3, 4), (1, 8, 2)).fill_(1.0).requires_grad_()
    return gradient_of(x)


@scenario
def layout_rule_2(torch):
    """Otherwise it is contiguous."""
    return gradient_of(torch.empty_strided((2, 3), (10, 2)).fill_(1.0).requires_grad_())


@scenario
def layout_rule_3(torch):
    """A gradient that is there is added to in place."""
    x = uniform(torch, 2, 3, requires_grad=True)
    x.grad = kept = torch.zeros(3, 2).t()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advises against it
        return gradient_of(x), x.grad is kept, kept


@scenario
def layout_rule_4(torch):
    """With create_graph it is replaced by a sum of its strides."""
    x = uniform(torch, 2, 3, requires_grad=True)
    x.grad = kept = torch.zeros(3, 2).t()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a cycle
        (x * x).sum().backward(create_graph=True)
    found = x.grad.stride(), x.grad is kept, kept, x.grad
    x.grad = None
    return found


@scenario
def gradients_set_to_none_before_each_pass(torch):
    model = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(0.5)
    for _ in range(2):
        for param in model.parameters():
            param.grad = None
        model(torch.ones(1, 2)).sum().backward()
    return model.weight.grad


@scenario
def zero_grad_keeps_layouts(torch):
    x = torch.empty_strided((2, 3), (1, 2)).fill_(1.0).requires_grad_()
    x.grad = torch.zeros(2, 3)
    torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False)
    return gradient_of(x)


# -- in place ---------------------------------------------------------------------------------------------------------


@scenario
def what_was_saved_was_modified(torch):
    x = uniform(torch, 2, requires_grad=True)
    y = x * 1
    z = y.exp()
    z.mul_(2)
    try:
        z.sum().backward()
    except RuntimeError as error:
        return str(error).partition(":")[0]


@scenario
def detached_tensors_share_storage(torch):
    x = uniform(torch, 3, requires_grad=True)
    y = x * 1
    d = y.detach()
    d.zero_()
    return y, d.requires_grad, d.is_leaf


@scenario
def detached_tensors_cannot_change_their_size(torch):
    (uniform(torch, 3, requires_grad=True) * 1).detach().resize_(5)


@scenario
def views_cannot_be_detached_in_place(torch):
    (uniform(torch, 3, requires_grad=True) * 1)[:2].detach_()


@scenario
def detach_in_place_makes_a_leaf(torch):
    y = uniform(torch, 3, requires_grad=True) * 2
    y.detach_()
    return y.is_leaf, y.requires_grad, y.grad_fn


# -- Variable ---------------------------------------------------------------------------------------------------------


@scenario
def variables_are_tensors(torch):
    tensor = torch.ones(2)
    var = torch.autograd.Variable(tensor, requires_grad=True)
    plain = torch.autograd.Variable(tensor)
    var.register_hook(lambda g: g * 2)
    (var * 3).sum().backward()
    return isinstance(var, torch.Tensor), var.data, var.detach(), var.grad, plain.requires_grad


@scenario
def factories_take_requires_grad(torch):
    made = [make((2, 3, 4), requires_grad=True) for make in (torch.randn, torch.zeros, torch.ones)]
    return [(t.requires_grad, tuple(t.shape), t.is_leaf) for t in made]


@scenario.each()
@pytest.mark.filterwarnings(
    "ignore:grad and param do not obey"
)  # torch says so in one test of a process only
def test_alike(scenario):
    modes = [(library, library.is_grad_enabled()) for library in (torch, fxt)]
    try:
        check(scenario)
    finally:
        for library, mode in modes:
            library.set_grad_enabled(mode)


# What the documents print, of numbers drawn at random by torch, with the names of the nodes that there are now.
JACOBIAN = """\
tensor([[[1.4917, 2.4352],
         [0.0000, 0.0000]],

        [[0.0000, 0.0000],
         [2.4369, 2.3799]]])"""


def test_printed():
    for library in (torch, fxt):
        x = library.tensor([[1.4917, 2.4352], [2.4369, 2.3799]]).log()
        assert repr(library.autograd.functional.jacobian(exp_reducer, x)) == JACOBIAN
        x = library.tensor([1.0, 1.0], requires_grad=True)
        assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
