"""torch.autograd.Function in eager mode: what forward, backward, jvp and ctx do, and how they fail."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def made(torch, forward, backward=None, name="Foo", **others):
    """A Function of these methods."""
    methods = {"forward": forward, "backward": backward, **others}
    members = {k: staticmethod(v) for k, v in methods.items() if v is not None}
    return type(name, (torch.autograd.Function,), members)


def x_of(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def exponential(torch):
    def forward(ctx, a):
        result = a.exp()
        ctx.save_for_backward(result)
        return result

    return made(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])


def squared(torch):
    def forward(ctx, a, n):
        ctx.save_for_backward(a)
        ctx.n = n
        return a**n

    return made(torch, forward, lambda ctx, g: (g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None))


@scenario
def gradients(torch):
    x = x_of(torch)
    y = squared(torch).apply(x, 3)
    return y, torch.autograd.grad(y.sum(), x)


OF_NODES = """
    order rule parents residuals operation plain code lasti hooks count avals site tape saved kept freed places operands
    attributes pushing node kind value name metadata next_functions
"""


@scenario
def attributes_of_every_name(torch):
    """Also such as the Node has for its own purposes."""
    names = OF_NODES.split()

    def forward(ctx, a):
        for i, name in enumerate(names):
            if name not in ("metadata", "next_functions"):
                setattr(ctx, name, i)
        ctx.save_for_backward(a)
        return a * 2

    def backward(ctx, g):
        found.append([(name, getattr(ctx, name)) for name in names[:-2]])
        return g * ctx.saved_tensors[0] * ctx.count

    found = []
    x = x_of(torch)
    y = made(torch, forward, backward).apply(x)
    return torch.autograd.grad(y.sum(), x), found


@scenario
def the_node_shows_the_attributes_of_ctx(torch):
    def forward(ctx, a):
        ctx.factor = 3
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(a)
        return a * 3

    node = made(torch, forward, lambda ctx, g: g * ctx.factor).apply(x_of(torch)).grad_fn
    return (
        node.factor,
        node.needs_input_grad,
        node.saved_tensors,
        node.name(),
        type(node).__name__,
        "factor" in dir(node),
        hasattr(node, "missing"),
    )


@scenario
def ctx_is_asked_for_what_it_has_not(torch):
    return made(torch, lambda ctx, a: ctx.derive_pullback).apply(x_of(torch))


@scenario
def ctx_is_a_node(torch):
    classes = torch.autograd.function.BackwardCFunction, torch.autograd.function.FunctionCtx

    def forward(ctx, a):
        found.extend([isinstance(ctx, cls) for cls in classes])
        found.append(ctx.name())
        ctx.metadata["note"] = 1
        return a * 2

    def backward(ctx, g):
        found.extend([ctx.metadata["note"], len(ctx.next_functions)])
        return g

    found = []
    made(torch, forward, backward).apply(x_of(torch)).sum().backward()
    return found


@scenario
def second_derivatives(torch):
    x = x_of(torch)
    found = []
    for y in (squared(torch).apply(x, 3), exponential(torch).apply(x)):
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        found += [g, h, torch.autograd.grad(h.sum(), x)]
    return found


@scenario
def the_node(torch):
    x = x_of(torch)
    y = squared(torch).apply(x, 3)
    node = y.grad_fn
    return (
        type(node).__name__, node.name(), node.n, node.needs_input_grad, node._forward_cls.__name__,
        len(node.next_functions), y.output_nr, node.saved_tensors[0] is x,
    )  # fmt: skip


@scenario
def what_ctx_knows(torch):
    seen = []

    def forward(ctx, a, b, c):
        seen.append((ctx.needs_input_grad, torch.is_grad_enabled(), a.requires_grad))
        ctx.save_for_backward(a, None, b)
        return a * b * c

    def backward(ctx, g):
        a, none, b = ctx.saved_tensors
        seen.append((none, a.requires_grad, torch.is_grad_enabled(), ctx.needs_input_grad))
        return g * b, None, None

    x = x_of(torch)
    made(torch, forward, backward).apply(x, x.detach(), 2).sum().backward()
    return seen, x.grad


@scenario
def vjp_is_another_name(torch):
    x = x_of(torch)
    return torch.autograd.grad(made(torch, lambda ctx, a: a * 2, vjp=lambda ctx, g: g * 5).apply(x).sum(), x)


@scenario
def outputs_of_all_kinds(torch):
    x = x_of(torch)
    seen = []

    def backward(ctx, *grads):
        seen.append(grads)
        return grads[0]

    F = made(torch, lambda ctx, a: (a * 2, 3, None, "s"), backward)
    y, *rest = F.apply(x)
    y.sum().backward()
    return y, rest, seen, x.grad


@scenario
def gradients_that_are_not_there(torch):
    x, seen = x_of(torch), []

    def backward(ctx, g, h):
        seen.append((g, h))
        return g * 2

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3

    for f in (lambda ctx, a: (a * 2, a * 3), forward):
        seen.append(torch.autograd.grad(made(torch, f, backward).apply(x)[0].sum(), x))
    return seen


@scenario
def gradients_are_fitted_to_the_inputs(torch):
    x = x_of(torch)
    expand = made(torch, lambda ctx, a: a * 2, lambda ctx, g: torch.ones(3, 2))
    convert = made(torch, lambda ctx, a: a * 2, lambda ctx, g: g.float())
    return [torch.autograd.grad(F.apply(x).sum(), x) for F in (expand, convert)]


@scenario
def complex_gradients(torch):
    z = torch.tensor([1 + 2j, -0.5j], requires_grad=True)

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    F = made(torch, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0].conj())
    return torch.autograd.grad(F.apply(z).abs().sum(), z), torch.autograd.grad((z * z).abs().sum(), z)


@scenario
def outputs_without_gradient(torch):
    def forward(ctx, a):
        index, twice = a.argmax(), a * 2
        ctx.mark_non_differentiable(index, twice)
        return a * 3, index, twice

    x = x_of(torch)
    ys = made(torch, forward, lambda ctx, *gs: gs[0]).apply(x)
    return ys, torch.autograd.grad(ys[0].sum(), x), made(torch, lambda ctx, a: a.long()).apply(x)


@scenario
def an_input_is_returned(torch):
    x = x_of(torch)
    F = made(torch, lambda ctx, a: a, lambda ctx, g: g * 3)
    y = F.apply(x)
    plain = torch.ones(2)
    return y is x, y, y._is_view(), y._base is x, torch.autograd.grad(y.sum(), x), F.apply(plain) is plain


@scenario
def an_input_that_was_returned_cannot_be_modified(torch):
    made(torch, lambda ctx, a: a, lambda ctx, g: g).apply(x_of(torch).clone()).add_(1)


def doubling(torch):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(2)

    return made(torch, forward, lambda ctx, g: g * 2)


@scenario
def an_input_is_modified(torch):
    x = x_of(torch)
    y = x.clone()
    z = doubling(torch).apply(y)
    return z is y, y._version > 0, y.grad_fn.name(), torch.autograd.grad((y * y).sum(), x)


@scenario
def a_view_is_modified(torch):
    x = x_of(torch)
    y = x.clone()
    view = y[:1]
    z = doubling(torch).apply(view)
    return z is view, y, y.grad_fn.name(), torch.autograd.grad((y * y).sum(), x)


@scenario
def a_leaf_is_modified(torch):
    doubling(torch).apply(x_of(torch))


@scenario
def a_modified_input_is_not_returned(torch):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(2).clone()

    made(torch, forward, lambda ctx, g: g).apply(x_of(torch).clone())


@scenario
def a_view_is_returned(torch):
    x = x_of(torch)
    y = made(torch, lambda ctx, a: a.view(-1), lambda ctx, g: g * 2).apply(x)
    return y._is_view(), y, torch.autograd.grad(y.sum(), x)


@scenario
def a_view_that_was_returned_cannot_be_modified(torch):
    made(torch, lambda ctx, a: a.view(-1), lambda ctx, g: g * 2).apply(x_of(torch).clone()).mul_(2)


@scenario
def nor_its_base_if_it_is_used(torch):
    x = x_of(torch).clone()
    y = made(torch, lambda ctx, a: a.view(-1), lambda ctx, g: g * 2).apply(x)
    x.mul_(2)
    return y + 1


@scenario
def several_views_that_were_returned(torch):
    F = made(torch, lambda ctx, a: (a.view(-1), a[:1]), lambda ctx, g, h: g)
    F.apply(x_of(torch).clone())[0].mul_(2)


@scenario
def keywords_and_defaults(torch):
    x = x_of(torch)
    F = made(torch, lambda ctx, a, b=2.0: a * b, lambda ctx, g: (g, None))
    return F.apply(x), F.apply(x, b=3.0)


@scenario
def nothing_is_recorded_under_no_grad(torch):
    x = x_of(torch)
    with torch.no_grad():
        y = squared(torch).apply(x, 2)
    return y, y.grad_fn, squared(torch).apply(x.detach(), 2).grad_fn


@scenario
def backward_twice(torch):
    x = x_of(torch)
    F = made(torch, lambda ctx, a: a * 2, lambda ctx, g: g * 2)
    y = F.apply(x)
    return [torch.autograd.grad(y, x, torch.ones(2)) for _ in range(2)]


@scenario
def backward_twice_with_saved_tensors(torch):
    x = x_of(torch)
    y = squared(torch).apply(x, 2)
    torch.autograd.grad(y, x, torch.ones(2))
    torch.autograd.grad(y, x, torch.ones(2))


@scenario
def saved_tensors_of_a_graph_that_is_gone(torch):
    y = squared(torch).apply(x_of(torch), 2)
    y.sum().backward()
    return y.grad_fn.saved_tensors


@scenario
def once_differentiable(torch):
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: g * ctx.saved_tensors[0] * 2)

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    x = x_of(torch)
    y = made(torch, forward, backward).apply(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    try:
        g.sum().backward()
    except RuntimeError as error:
        return g.detach(), "differentiate twice" in str(error)


@scenario
def tangents(torch):
    fw = torch.autograd.forward_ad

    def forward(ctx, a, n):
        ctx.save_for_forward(a)
        ctx.n = n
        return a**n

    def jvp(ctx, t, n):
        return t * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1)

    F = made(torch, forward, jvp=jvp)
    x = torch.tensor([1.0, 2.0])
    with fw.dual_level():
        return tuple(fw.unpack_dual(F.apply(fw.make_dual(x, x + 1), 3)))


@scenario
def tangents_that_are_not_there(torch):
    fw, seen = torch.autograd.forward_ad, []

    def jvp(ctx, t, u):
        seen.append((t, u))
        return t, u

    F = made(torch, lambda ctx, a, b: (a * 2, b * 2), jvp=jvp)
    x = torch.tensor([1.0, 2.0])
    with fw.dual_level():
        return [fw.unpack_dual(y).tangent for y in F.apply(fw.make_dual(x, x), x)], seen


@scenario
def with_setup_context(torch):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:1], output)
        ctx.given = len(inputs)

    def backward(ctx, g):
        a, y = ctx.saved_tensors
        return g * 2 * a + 0 * y, None

    x = x_of(torch)
    F = made(torch, lambda a, b=3.0: a * a, backward, setup_context=setup)
    y = F.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y, y.grad_fn.given, g, torch.autograd.grad(g.sum(), x)


@scenario
def hooks_of_the_node(torch):
    x, seen = x_of(torch), []
    y = squared(torch).apply(x, 2)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.grad_fn.register_prehook(lambda outputs: seen.append(outputs))
    y.sum().backward()
    return seen, x.grad


@scenario.each()
def test_alike(scenario):
    check(scenario)


def modified_and_copied(ctx, a):
    ctx.mark_dirty(a)
    return a.mul_(2), a.clone()


def applied(forward, backward=None, **others):
    return lambda t: made(t, forward, backward, **others).apply(x_of(t)).sum().backward()


def two(ctx, a):
    return a * 2


def dual(jvp):
    def run(torch):
        fw = torch.autograd.forward_ad
        x = torch.ones(2)
        with fw.dual_level():
            made(torch, two, jvp=jvp).apply(fw.make_dual(x, x))

    return run


MISUSES = {
    "too many gradients": applied(two, lambda ctx, g: (g, g)),
    "too few gradients": lambda t: (
        made(t, lambda ctx, a, b: a, lambda ctx, g: g).apply(x_of(t), 3).sum().backward()
    ),
    "a gradient of what is no Tensor": lambda t: (
        made(t, lambda ctx, a, b: a * 2, lambda ctx, g: (g, g)).apply(x_of(t), 3).sum().backward()
    ),
    "a number as a gradient": applied(two, lambda ctx, g: 3.0),
    "a list of gradients": applied(two, lambda ctx, g: [g]),
    "a gradient of another shape": applied(two, lambda ctx, g: fxt_or(g).ones(3)),
    "no forward": lambda t: type("Foo", (t.autograd.Function,), {}).apply(x_of(t)),
    "no backward": applied(two),
    "both backward and vjp": applied(two, lambda ctx, g: g, vjp=lambda ctx, g: g),
    "saving a number": lambda t: made(t, lambda ctx, a: ctx.save_for_backward(3), two).apply(x_of(t)),
    "saving a list": lambda t: made(t, lambda ctx, a: ctx.save_for_backward([a]), two).apply(x_of(t)),
    "saving a number for jvp": lambda t: made(t, lambda ctx, a: ctx.save_for_forward(3), two).apply(x_of(t)),
    "a saved input is modified": lambda t: modified(t, squared(t), 2),
    "a saved output is modified": lambda t: modified(t, exponential(t)),
    "no jvp": dual(None),
    "too many tangents": dual(lambda ctx, t: (t, t)),
    "a number as a tangent": dual(lambda ctx, t: 3),
    "a tangent of another shape": dual(lambda ctx, t: t[:1]),
    "no vmap": lambda t: t.autograd.Function.vmap(1, 2),
    "no setup_context": lambda t: t.autograd.Function.setup_context(1, 2, 3),
    "a view is modified, and there are more outputs": lambda t: made(t, modified_and_copied, two).apply(
        x_of(t).clone()[:1]
    ),
    "an instance is called": lambda t: made(t, two)()(x_of(t)),
}
PARTS = {  # of messages that go on otherwise
    "a saved input is modified": 76,
    "a saved output is modified": 76,
    "a view is modified, and there are more outputs": 400,
    "an instance is called": 76,
}


def fxt_or(tensor):
    """The library of a Tensor."""
    import torch

    return torch if isinstance(tensor, torch.Tensor) else fxt


def modified(torch, function, *args):
    x = x_of(torch) * 1
    y = function.apply(x, *args)
    (x if args else y).add_(1)
    y.sum().backward()


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name):
    def run(torch):
        try:
            return MISUSES[name](torch)
        except Exception as error:
            kinds = (NotImplementedError, RuntimeError, TypeError, AssertionError)
            line = str(error).partition("\n")[0].strip()
            return next(c.__name__ for c in kinds if isinstance(error, c)), line[: PARTS.get(name)]

    check(run)


def test_instances_are_deprecated():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made(fxt, two)()
        assert not fxt.autograd.function.InplaceFunction().inplace
    assert [w.category for w in caught] == [DeprecationWarning] * 2


def test_nested_inputs_and_outputs():
    class Scaled(fxt.autograd.NestedIOFunction):
        @staticmethod
        def forward_extended(ctx, pair, factor):
            ctx.save_for_backward(*pair)
            return {"sum": pair[0] + pair[1], "product": pair[0] * pair[1] * factor}

        @staticmethod
        def backward_extended(ctx, grads):
            a, b = ctx.saved_tensors
            return (grads["sum"] + grads["product"] * b, grads["sum"] + grads["product"] * a), None

    x, y = fxt.tensor(2.0, requires_grad=True), fxt.tensor(3.0, requires_grad=True)
    out = Scaled.apply([x, y], 1.0)
    (out["sum"] + out["product"]).backward()
    assert (out["product"].item(), x.grad.item(), y.grad.item()) == (6.0, 4.0, 3.0)


@pytest.mark.parametrize("function", [exponential, doubling, squared])
def test_a_graph_dies_by_reference_counting(function):
    gc.collect()
    gc.disable()
    try:
        F = function(fxt)
        x = x_of(fxt) * 1
        y = F.apply(x, 2) if function is squared else F.apply(x)
        (g,) = fxt.autograd.grad(y.sum(), x if function is not doubling else y, create_graph=True)
        node, leaf = weakref.ref(y.grad_fn), weakref.ref(x)
        del y, g, x
        assert node() is None
        assert leaf() is None
    finally:
        gc.enable()
