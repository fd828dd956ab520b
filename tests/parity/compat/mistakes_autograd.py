"""Mistakes with gradients, leaves and operations in place."""

from __future__ import annotations

import numpy as np

from tests.parity.compat.scenarios import Scenarios

mistake = Scenarios()


def leaf(t, *entries):
    return t.tensor(entries or (1.0, 2.0, 3.0), requires_grad=True)


# -- backward ------------------------------------------


@mistake
def backward_twice(t):
    y = leaf(t).exp().sum()
    y.backward()
    y.backward()


@mistake
def two_losses_over_one_freed_part(t):
    shared = leaf(t).exp() * 2
    shared.sum().backward()
    shared.exp().sum().backward()


@mistake
def grad_of_a_freed_graph(t):
    x = leaf(t)
    y = x.tanh().sum()
    y.backward()
    t.autograd.grad(y, x)


@mistake
def backward_of_many(t):
    (leaf(t) * 2).backward()


@mistake
def backward_of_a_constant(t):
    t.ones(3).sum().backward()


@mistake
def backward_under_no_grad(t):
    x = leaf(t)
    with t.no_grad():
        y = x.sum()
    y.backward()


@mistake
def backward_of_a_detached(t):
    leaf(t).detach().sum().backward()


@mistake
def backward_with_a_wrong_shape(t):
    (leaf(t) * 2).backward(t.ones(2))


@mistake
def backward_with_a_number(t):
    (leaf(t) * 2).backward(1.0)


@mistake
def backward_with_an_array(t):
    (leaf(t) * 2).backward(np.ones(3))


@mistake
def backward_of_several_with_one_gradient(t):
    x = leaf(t)
    t.autograd.backward([x.sum(), x.exp().sum()], [t.tensor(1.0)])


@mistake
def backward_without_inputs(t):
    leaf(t).sum().backward(inputs=[])


@mistake
def backward_of_complex(t):
    t.tensor(1j, requires_grad=True).exp().backward()


@mistake
def backward_of_what_is_no_tensor(t):
    t.autograd.backward(3.0)


@mistake
def implicit_gradient_of_integers(t):
    t.tensor([1, 2]).sum().backward()


# -- grad ------------------------------------------


@mistake
def grad_of_an_unused_input(t):
    x, z = leaf(t), leaf(t)
    t.autograd.grad(x.sum(), [x, z])


@mistake
def grad_of_a_constant_input(t):
    t.autograd.grad(leaf(t).sum(), t.ones(3))


@mistake
def grad_without_inputs(t):
    t.autograd.grad(leaf(t).sum(), [])


@mistake
def grad_of_a_copy_that_was_not_used(t):
    x = leaf(t)
    t.autograd.grad(x.sum(), x * 1)


@mistake
def second_grad_without_a_graph(t):
    x = leaf(t)
    (g,) = t.autograd.grad((x**3).sum(), x)
    t.autograd.grad(g.sum(), x)


@mistake
def grad_of_many(t):
    x = leaf(t)
    t.autograd.grad(x * 2, x)


@mistake
def grad_with_a_wrong_shape(t):
    x = leaf(t)
    t.autograd.grad(x * 2, x, t.ones(1, 3))


@mistake
def batched_gradients_of_a_wrong_shape(t):
    x = leaf(t)
    t.autograd.grad(x * 2, x, t.ones(3, 4), is_grads_batched=True)


@mistake
def materialized_but_not_allowed(t):
    x = leaf(t)
    t.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


@mistake
def gradient_none(t):
    x = leaf(t)
    x.grad.zero_()


@mistake
def gradient_is_no_tensor(t):
    x = leaf(t)
    x.grad = 1.0


@mistake
def gradient_of_another_shape(t):
    x = leaf(t)
    x.grad = t.ones(2)


@mistake
def gradient_of_another_dtype(t):
    x = leaf(t)
    x.grad = t.ones(3, dtype=t.float64)


# -- leaves ------------------------------------------


@mistake
def requires_grad_of_integers(t):
    t.tensor([1, 2], requires_grad=True)


@mistake
def requires_grad_of_integers_later(t):
    t.tensor([1, 2]).requires_grad_()


@mistake
def requires_grad_of_booleans(t):
    t.zeros(2, dtype=t.bool).requires_grad = True


@mistake
def requires_grad_off_of_a_result(t):
    (leaf(t) * 2).requires_grad_(False)


@mistake
def requires_grad_set_off_of_a_result(t):
    y = leaf(t) * 2
    y.requires_grad = False


@mistake
def retain_grad_of_a_constant(t):
    t.ones(3).retain_grad()


@mistake
def hook_of_a_constant(t):
    t.ones(3).register_hook(print)


@mistake
def accumulation_hook_of_a_result(t):
    (leaf(t) * 2).register_post_accumulate_grad_hook(print)


@mistake
def hook_that_changes_the_shape(t):
    y = leaf(t) * 2
    y.register_hook(lambda g: g.sum())
    y.sum().backward()


@mistake
def hook_that_returns_a_number(t):
    y = leaf(t) * 2
    y.register_hook(lambda g: 2.0)
    y.sum().backward()


# -- in place ------------------------------------------


@mistake
def leaf_in_place(t):
    leaf(t).add_(1)


@mistake
def leaf_augmented(t):
    x = leaf(t)
    x += 1


@mistake
def entry_of_a_leaf(t):
    x = leaf(t)
    x[0] = 1.0


@mistake
def view_of_a_leaf_in_place(t):
    leaf(t)[:2].mul_(2)


@mistake
def modified_after_it_was_saved(t):
    y = leaf(t) * 2
    z = y * y
    y += 1
    z.sum().backward()


@mistake
def result_modified_after_it_was_saved(t):
    y = leaf(t).exp()
    y.mul_(2)
    y.sum().backward()


@mistake
def part_modified_after_the_whole_was_saved(t):
    y = leaf(t) * 2
    z = y.sin()
    y[0] = 5.0
    z.sum().backward()


@mistake
def constant_modified_after_it_was_saved(t):
    w = t.ones(3)
    y = leaf(t) * w
    w.zero_()
    y.sum().backward()


@mistake
def weights_modified_before_backward(t):
    w = t.ones(3, 3, requires_grad=True)
    y = (t.ones(2, 3) @ w) @ w
    with t.no_grad():
        w -= 0.1
    y.sum().backward()


@mistake
def one_of_several_views_in_place(t):
    a, _ = (leaf(t, 1.0, 2.0) * 2).unbind()
    a.mul_(2)


@mistake
def no_grad_view_in_place(t):
    y = leaf(t) * 2
    with t.no_grad():
        v = y[:2]
    v.mul_(2)


@mistake
def expanded_in_place(t):
    t.ones(1).expand(3).add_(1)


@mistake
def in_place_to_another_shape(t):
    t.ones(3).add_(t.ones(2, 3))


@mistake
def in_place_to_another_dtype(t):
    t.tensor([1, 2]).add_(1.5)


@mistake
def assignment_of_a_wrong_shape(t):
    t.zeros(3)[:2] = t.ones(3)


@mistake
def out_with_a_gradient(t):
    x = leaf(t)
    t.add(x, 1, out=t.empty(3))


@mistake
def set_data_of_another_kind(t):
    leaf(t).data = 3.0


@mistake
def inference_tensor_saved(t):
    with t.inference_mode():
        w = t.ones(3)
    (leaf(t) * w).sum().backward()


@mistake
def inference_tensor_in_place(t):
    with t.inference_mode():
        w = t.ones(3)
    w.add_(1)


@mistake
def inference_tensor_requires_grad(t):
    with t.inference_mode():
        w = t.ones(3)
    w.requires_grad_()
