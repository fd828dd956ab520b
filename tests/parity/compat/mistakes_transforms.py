"""Mistakes with optimizers, Functions, transforms and forward mode."""

from __future__ import annotations

from tests.parity.compat.mistakes_autograd import leaf
from tests.parity.compat.scenarios import Scenarios

mistake = Scenarios()


# -- modules and optimizers ------------------------------------------


@mistake
def optimizer_without_parameters(t):
    t.optim.SGD([], lr=0.1)


@mistake
def optimizer_of_one_tensor(t):
    t.optim.SGD(leaf(t), lr=0.1)


@mistake
def optimizer_of_a_result(t):
    t.optim.SGD([leaf(t) * 2], lr=0.1)


@mistake
def optimizer_with_a_negative_rate(t):
    t.optim.Adam([leaf(t)], lr=-1.0)


@mistake
def optimizer_of_one_parameter_twice(t):
    x = leaf(t)
    optimizer = t.optim.SGD([x], lr=0.1)
    optimizer.add_param_group({"params": [x]})


# -- Function ------------------------------------------


def function(t, forward, backward, **members):
    """A Function of these static methods."""
    statics = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (t.autograd.Function,), statics | {k: staticmethod(m) for k, m in members.items()})


@mistake
def function_without_a_backward(t):
    cls = type("Custom", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    cls.apply(leaf(t)).sum().backward()


@mistake
def function_without_a_forward(t):
    type("Custom", (t.autograd.Function,), {}).apply(leaf(t))


@mistake
def function_with_too_many_gradients(t):
    function(t, lambda ctx, x: x * 2, lambda ctx, g: (g, g)).apply(leaf(t)).sum().backward()


@mistake
def function_with_too_few_gradients(t):
    x = leaf(t)
    function(t, lambda ctx, x, y: x * y, lambda ctx, g: g).apply(x, x).sum().backward()


@mistake
def function_with_a_gradient_of_a_wrong_shape(t):
    function(t, lambda ctx, x: x * 2, lambda ctx, g: g[:2]).apply(leaf(t)).sum().backward()


@mistake
def function_with_a_number_for_a_gradient(t):
    function(t, lambda ctx, x: x * 2, lambda ctx, g: 2.0).apply(leaf(t)).sum().backward()


@mistake
def function_saves_what_is_no_tensor(t):
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 2

    function(t, forward, lambda ctx, g: g).apply(leaf(t))


@mistake
def function_returns_what_is_no_tensor(t):
    function(t, lambda ctx, x: "a", lambda ctx, g: g).apply(leaf(t)).sum()


@mistake
def function_twice_differentiated_but_once_differentiable(t):
    x = leaf(t)
    once = t.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    y = function(t, lambda ctx, x: x * 2, once).apply(x)
    (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()


@mistake
def function_without_a_jvp(t):
    fwAD = t.autograd.forward_ad
    with fwAD.dual_level():
        dual = fwAD.make_dual(t.ones(3), t.ones(3))
        function(t, lambda ctx, x: x * 2, lambda ctx, g: g).apply(dual)


@mistake
def function_without_a_vmap(t):
    cls = function(t, lambda x: x * 2, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
    t.func.vmap(cls.apply)(t.ones(3))


@mistake
def function_without_a_setup_in_a_transform(t):
    cls = function(t, lambda ctx, x: x * 2, lambda ctx, g: g)
    t.func.grad(lambda x: cls.apply(x).sum())(t.ones(3))


@mistake
def function_returns_a_dirty_tensor_that_is_no_input(t):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x + 1

    function(t, forward, lambda ctx, g: g).apply(leaf(t) * 2)


# -- vmap and other transforms ------------------------------------------


@mistake
def vmap_over_numbers(t):
    t.func.vmap(t.sin)(2.0)


@mistake
def vmap_over_a_number_tensor(t):
    t.func.vmap(t.sin)(t.tensor(2.0))


@mistake
def vmap_over_different_sizes(t):
    t.func.vmap(t.add)(t.ones(2), t.ones(3))


@mistake
def vmap_over_nothing(t):
    t.func.vmap(lambda x: x, in_dims=None)(t.ones(2))


@mistake
def vmap_over_a_missing_dimension(t):
    t.func.vmap(t.sin, in_dims=2)(t.ones(2, 2))


@mistake
def vmap_with_too_few_in_dims(t):
    t.func.vmap(t.add, in_dims=(0,))(t.ones(2), t.ones(2))


@mistake
def vmap_returns_a_number(t):
    t.func.vmap(lambda x: 2.0)(t.ones(2))


@mistake
def vmap_with_wrong_out_dims(t):
    t.func.vmap(lambda x: x, out_dims=(0, 0))(t.ones(2))


@mistake
def vmap_without_arguments(t):
    t.func.vmap(lambda: 1.0)()


@mistake
def vmap_item(t):
    t.func.vmap(lambda x: x * x.item())(t.ones(2))


@mistake
def vmap_branches(t):
    t.func.vmap(lambda x: x if x > 0 else -x)(t.ones(2))


@mistake
def vmap_nonzero(t):
    t.func.vmap(lambda x: x.nonzero())(t.ones(2, 2))


@mistake
def vmap_random_without_randomness(t):
    t.func.vmap(lambda x: x + t.randn(()))(t.ones(2))


@mistake
def vmap_in_place_into_what_is_not_batched(t):
    total = t.zeros(())
    t.func.vmap(lambda x: total.add_(x))(t.ones(2))


@mistake
def func_grad_of_many(t):
    t.func.grad(lambda x: x * 2)(t.ones(3))


@mistake
def func_grad_of_a_number(t):
    t.func.grad(lambda x: 2.0)(t.ones(3))


@mistake
def func_grad_of_an_integer(t):
    t.func.grad(lambda x: x.sum())(t.tensor([1, 2]))


@mistake
def func_grad_of_an_argument_that_is_no_tensor(t):
    t.func.grad(lambda x: x)(2.0)


@mistake
def func_grad_of_a_missing_argument(t):
    t.func.grad(lambda x: x.sum(), argnums=1)(t.ones(2))


@mistake
def func_jvp_of_different_shapes(t):
    t.func.jvp(t.sin, (t.ones(3),), (t.ones(2),))


@mistake
def func_jvp_of_lists(t):
    t.func.jvp(t.sin, [t.ones(3)], [t.ones(3)])


@mistake
def func_vjp_with_a_wrong_cotangent(t):
    _, pull = t.func.vjp(t.sin, t.ones(3))
    pull(t.ones(2))


# -- forward mode ------------------------------------------


@mistake
def dual_without_a_level(t):
    t.autograd.forward_ad.make_dual(t.ones(2), t.ones(2))


@mistake
def level_within_a_level(t):
    fwAD = t.autograd.forward_ad
    with fwAD.dual_level(), fwAD.dual_level():
        pass


@mistake
def level_left_twice(t):
    t.autograd.forward_ad.exit_dual_level()


@mistake
def dual_of_another_shape(t):
    fwAD = t.autograd.forward_ad
    with fwAD.dual_level():
        fwAD.make_dual(t.ones(2), t.ones(3))


@mistake
def dual_of_integers(t):
    fwAD = t.autograd.forward_ad
    with fwAD.dual_level():
        fwAD.make_dual(t.tensor([1]), t.tensor([1]))


@mistake
def dual_of_a_dual(t):
    fwAD = t.autograd.forward_ad
    with fwAD.dual_level():
        dual = fwAD.make_dual(t.ones(2), t.ones(2))
        fwAD.make_dual(dual, t.ones(2))


# -- gradcheck, functional, checkpoint ------------------------------------------


@mistake
def gradcheck_without_inputs(t):
    t.autograd.gradcheck(t.sin, (t.ones(2, dtype=t.float64),))


@mistake
def gradcheck_of_a_wrong_backward(t):
    cls = function(t, lambda ctx, x: x * 2, lambda ctx, g: g * 3)
    t.autograd.gradcheck(cls.apply, (t.ones(2, dtype=t.float64, requires_grad=True),))


@mistake
def jacobian_of_what_returns_a_number(t):
    t.autograd.functional.jacobian(lambda x: 2.0, t.ones(2))


@mistake
def jacobian_of_what_takes_a_number(t):
    t.autograd.functional.jacobian(t.sin, 2.0)


@mistake
def hessian_of_many(t):
    t.autograd.functional.hessian(lambda x: x * x, t.ones(2))


@mistake
def vjp_with_a_wrong_shape(t):
    t.autograd.functional.vjp(lambda x: x * x, t.ones(2), t.ones(3))


@mistake
def vjp_without_a_vector(t):
    t.autograd.functional.vjp(lambda x: x * x, t.ones(2))


@mistake
def strict_jacobian_of_an_independent(t):
    t.autograd.functional.jacobian(lambda x: t.ones(2), t.ones(2), strict=True)


@mistake
def checkpoint_and_grad(t):
    x = leaf(t)
    y = t.utils.checkpoint.checkpoint(lambda x: x.exp(), x, use_reentrant=True)
    t.autograd.grad(y.sum(), x)


@mistake
def checkpoint_that_computes_something_else(t):
    x, runs = leaf(t), []

    def body(x):
        runs.append(1)
        return x.exp() * x if len(runs) == 1 else x.exp()

    t.utils.checkpoint.checkpoint(body, x, use_reentrant=False).sum().backward()
