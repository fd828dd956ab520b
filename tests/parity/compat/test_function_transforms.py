"""torch.autograd.Function under the transforms of torch.func, by setup_context, jvp, vmap and generate_vmap_rule."""

from __future__ import annotations

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def product(torch, rule=True, **others):
    """a·b with derivatives that are twice the true ones, so that one can tell that they are used."""

    class Product(torch.autograd.Function):
        generate_vmap_rule = rule

        @staticmethod
        def forward(a, b):
            return a * b, 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            ctx.factor = 2

        @staticmethod
        def backward(ctx, g, _):
            a, b = ctx.saved_tensors
            return g * b * ctx.factor, g * a * ctx.factor

        @staticmethod
        def jvp(ctx, s, t):
            a, b = ctx.saved_tensors
            return (s * b + t * a) * ctx.factor, None

    for name, method in others.items():
        setattr(Product, name, staticmethod(method))
    return lambda a, b: Product.apply(a, b)[0]


def exponential(torch):
    class Exponential(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a):
            return a.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0]

    return Exponential.apply


def inputs(torch):
    return torch.tensor([0.5, -1.0, 2.0]), torch.tensor([3.0, 0.2, -0.7])


@scenario
def grad_and_grad_of_grad(torch):
    f, grad, (x, y) = product(torch), torch.func.grad, inputs(torch)
    return (
        grad(lambda a: f(a, y).sum())(x),
        grad(lambda a: grad(lambda b: f(b, b).sum())(a).sum())(x),
        grad(lambda a: (f(a, y) * f(a, a)).sum())(x),
    )


@scenario
def history_outside(torch):
    f, grad, (x, y) = product(torch), torch.func.grad, inputs(torch)
    y.requires_grad_()
    g = grad(lambda a: (f(a, y) ** 2).sum())(x)
    return g, torch.autograd.grad(g.sum(), y)


@scenario
def pushforwards(torch):
    f, jvp, (x, y) = product(torch), torch.func.jvp, inputs(torch)
    return jvp(f, (x, y), (y, x)), jvp(lambda a: f(a, y), (x,), (x,)), jvp(exponential(torch), (x,), (y,))


@scenario
def batches(torch):
    f, vmap, (x, y) = product(torch), torch.func.vmap, inputs(torch)
    return (
        vmap(f)(x, y),
        vmap(f, in_dims=(0, None))(x, y),
        vmap(vmap(f, in_dims=(None, 0)), in_dims=(0, None))(x, y),
        vmap(exponential(torch))(x),
    )


@scenario
def gradients_of_batches_and_batches_of_gradients(torch):
    f, func, (x, y) = product(torch), torch.func, inputs(torch)
    e = exponential(torch)
    return (
        func.vmap(func.grad(f))(x, y),
        func.vmap(func.grad(f, argnums=(0, 1)), in_dims=(0, None))(x, y[0]),
        func.grad(lambda a: func.vmap(f)(a, y).sum())(x),
        func.grad(lambda b: func.vmap(f, in_dims=(0, None))(x, b).sum())(y),
        func.vmap(func.grad(func.grad(e)))(x),
        func.grad(lambda a: func.vmap(func.grad(e))(a).sum())(x),
    )


@scenario
def history_outside_of_batches(torch):
    f, (x, y) = product(torch), inputs(torch)
    x.requires_grad_()
    y.requires_grad_()
    out = torch.func.vmap(f, in_dims=(0, None))(x, y)
    (g,) = torch.autograd.grad((out * out).sum(), x, create_graph=True)
    return out, g, torch.autograd.grad(g.sum(), (x, y))


@scenario
def jacobians_and_hessians(torch):
    f, func, (x, y) = product(torch), torch.func, inputs(torch)
    return (
        func.jacrev(lambda a: f(a, y))(x),
        func.jacfwd(lambda a: f(a, y))(x),
        func.jacrev(func.jacrev(lambda a: f(a, a).sum()))(x),
        func.jacfwd(exponential(torch))(x),
    )


@scenario
def a_rule_for_batches_of_ones_own(torch):
    seen = []

    def rule(info, in_dims, a, b):
        seen.append((type(info).__name__, info.batch_size, info.randomness, in_dims))
        b = b if in_dims[1] == 0 or b.dim() == 0 else b[None]
        return (a * b * 10, 3), (0, None)

    f, func, (x, y) = product(torch, rule=False, vmap=rule), torch.func, inputs(torch)
    return (
        func.vmap(f)(x, y),
        func.vmap(f, in_dims=(0, None), randomness="same")(x, y[0]),
        func.grad(lambda a: func.vmap(f)(a, y).sum())(x),
        func.vmap(func.grad(f))(x, y),
        seen,
    )


@scenario.each()
def test_alike(scenario):
    check(scenario)


class Plain:
    """The parts of a Function without setup_context."""

    @staticmethod
    def forward(ctx, a):
        return a * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def plain(torch):
    return type("Foo", (Plain, torch.autograd.Function), {}).apply


MISUSES = {
    "grad without setup_context": lambda t, x, y: t.func.grad(lambda a: plain(t)(a).sum())(x),
    "vmap without setup_context": lambda t, x, y: t.func.vmap(plain(t))(x),
    "jvp without setup_context": lambda t, x, y: t.func.jvp(plain(t), (x,), (x,)),
    "vmap without a rule": lambda t, x, y: t.func.vmap(product(t, rule=False))(x, y),
    "vmap with two rules": lambda t, x, y: t.func.vmap(product(t, vmap=lambda *a: None))(x, y),
    "a rule without out_dims": lambda t, x, y: t.func.vmap(product(t, rule=False, vmap=lambda i, d, a, b: a))(
        x, y
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name):
    def run(torch):
        try:
            return MISUSES[name](torch, *inputs(torch))
        except RuntimeError as error:
            return str(error).partition("\n")[0][:100]

    check(run)


def test_attributes_of_ctx_are_batched_with_generate_vmap_rule():
    class Scale(fxt.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.other = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.other, None

    x, y = inputs(fxt)
    found = fxt.vmap(fxt.func.grad(Scale.apply))(x, y)
    assert (found == y).all()
