"""The jvp of a Function against torch: inputs modified in place, views and inputs as they are among the outputs."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import check, check_alike, double, outcome  # noqa: F401

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def nothing(ctx, inputs, output):
    """For outputs that need no marks."""


def mark_first(ctx, inputs, output):
    ctx.mark_dirty(inputs[0])


def mark_both(ctx, inputs, output):
    ctx.mark_dirty(*inputs)


# forward(x, y), setup_context, and some jvp(s, t), right ones and wrong ones.
FUNCTIONS = {
    "modified": (
        lambda x, y: x.mul_(2),
        mark_first,
        {
            "right": lambda s, t: s.mul_(2),
            "not in place": lambda s, t: s * 2,
            "as it is": lambda s, t: s,
            "a view": lambda s, t: s.mul_(2).view_as(s),
            "a part": lambda s, t: s[:1],
            "none": lambda s, t: None if s.any() else s.mul_(2),
            "two": lambda s, t: (s.mul_(2), t),
        },
    ),
    "only marked": (
        lambda x, y: x,
        mark_first,
        {"right": lambda s, t: s.mul_(2), "touched": lambda s, t: s.add_(0), "as it is": lambda s, t: s},
    ),
    "modified, and another": (
        lambda x, y: (x.mul_(2), x * y),
        mark_first,
        {
            "right": lambda s, t: (s.mul_(2), s + t),
            "not in place": lambda s, t: (s * 2, s + t),
            "exchanged": lambda s, t: (t.mul_(2), s * 1),
        },
    ),
    "both modified": (
        lambda x, y: (x.mul_(2), y.mul_(3)),
        mark_both,
        {"right": lambda s, t: (s.mul_(2), t.mul_(3)), "one": lambda s, t: (s.mul_(2), t)},
    ),
    "both modified, exchanged": (
        lambda x, y: (y.mul_(3), x.mul_(2)),
        mark_both,
        {"right": lambda s, t: (t.mul_(3), s.mul_(2)), "not exchanged": lambda s, t: (s.mul_(2), t.mul_(3))},
    ),
    "modified, and a view of it": (
        lambda x, y: (x.mul_(2), x.view_as(x)),
        mark_first,
        {
            "right": lambda s, t: (s.mul_(2), s.view_as(s)),
            "no view": lambda s, t: (s.mul_(2), s * 1),
            "a view of another": lambda s, t: (s.mul_(2), t.view_as(t)),
        },
    ),
    "no input is marked": (
        lambda x, y: x * 1,
        lambda ctx, inputs, output: ctx.mark_dirty(output),
        {"any": lambda s, t: s * 1},
    ),
    "as it is": (
        lambda x, y: x,
        nothing,
        {
            "right": lambda s, t: s.view_as(s),
            "as it is": lambda s, t: s,
            "no view": lambda s, t: s * 2,
            "a view of another": lambda s, t: t.view_as(t),
            "a part": lambda s, t: s[:1],
        },
    ),
    "another, and as it is": (
        lambda x, y: (x + y, x),
        nothing,
        {"right": lambda s, t: (s + t, s.view_as(s)), "no view": lambda s, t: (s + t, s * 2)},
    ),
    "a view": (
        lambda x, y: x.view_as(x),
        nothing,
        {
            "right": lambda s, t: s.view_as(s),
            "no view": lambda s, t: s * 1,
            "another": lambda s, t: t.view_as(t),
        },
    ),
    "a view of a view": (
        lambda x, y: x[:2][:1],
        nothing,
        {
            "right": lambda s, t: s[:2][:1],
            "no view": lambda s, t: s[:1] * 1,
            "too large": lambda s, t: s.view_as(s),
        },
    ),
    "two views": (
        lambda x, y: (x[:1], x[1:]),
        nothing,
        {"right": lambda s, t: (s[:1], s[1:]), "no view": lambda s, t: (s[:1], s[1:] * 1)},
    ),
    "a new one": (
        lambda x, y: x * y,
        nothing,
        {
            "right": lambda s, t: s + t,
            "too small": lambda s, t: (s + t)[:1],
            "no Tensor": lambda s, t: 3.0,
            "two": lambda s, t: (s, t),
        },
    ),
    "one without derivative": (
        lambda x, y: (x * 2, y * 2),
        lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]),
        {"right": lambda s, t: (s * 2, None), "a tangent": lambda s, t: (s * 2, t * 2)},
    ),
    "an integer": (
        lambda x, y: (x * 2, y.long()),
        nothing,
        {"right": lambda s, t: (s * 2, None), "a tangent": lambda s, t: (s * 2, t * 2)},
    ),
    "no Tensor": (
        lambda x, y: (x * 2, 3),
        nothing,
        {
            "right": lambda s, t: (s * 2, None),
            "one only": lambda s, t: s * 2,
            "no Tensor": lambda s, t: (3, None),
        },
    ),
}
CASES = [(name, how) for name, (_, _, rules) in FUNCTIONS.items() for how in rules]


def applied(library, name, how, with_ctx=False):
    """The application of a Function, with or without setup_context."""
    forward, setup, rules = FUNCTIONS[name]

    def forward_with_ctx(ctx, x, y):
        output = forward(x, y)
        setup(ctx, (x, y), output)
        return output

    methods = {"forward": forward_with_ctx} if with_ctx else {"forward": forward, "setup_context": setup}
    methods["jvp"] = lambda ctx, s, t: rules[how](s, t)
    members = {key: staticmethod(method) for key, method in methods.items()}
    members["generate_vmap_rule"] = not with_ctx
    return type("Foo", (library.autograd.Function,), members).apply


def inputs(library):
    return library.tensor([1.0, 2.0]), library.tensor([3.0, 5.0])


def directions(library):
    return library.tensor([0.5, 0.25]), library.tensor([2.0, 4.0])


def unpacked(library, results):
    """The values and tangents of results."""
    if isinstance(results, tuple):
        return tuple(unpacked(library, r) for r in results)
    pair = isinstance(results, library.Tensor) and library.autograd.forward_ad.unpack_dual(results)
    return tuple(pair) if pair else results


BEFORE = {"a copy": lambda x: x.clone(), "a view": lambda x: x.clone().view_as(x), "the dual": lambda x: x}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("with_ctx", [True, False], ids=["ctx", "setup_context"])
@pytest.mark.parametrize(("name", "how"), CASES)
def test_of_duals(name, how, with_ctx, before):
    def run(library):
        function, forward_ad = applied(library, name, how, with_ctx), library.autograd.forward_ad
        with forward_ad.dual_level():
            pairs = zip(inputs(library), directions(library))
            x, y = (BEFORE[before](forward_ad.make_dual(*pair)) for pair in pairs)
            results = function(x, y)
            first = results[0] if isinstance(results, tuple) else results
            return unpacked(library, results), unpacked(library, (x, y)), first is x

    check(run)


@pytest.mark.parametrize("before", ["a copy", "a view"])
@pytest.mark.parametrize(("name", "how"), CASES)
def test_of_func_jvp(name, how, before):
    def run(library):
        function = applied(library, name, how)

        def call(x, y):
            results = function(BEFORE[before](x), BEFORE[before](y))
            return (
                tuple(r for r in results if isinstance(r, library.Tensor))
                if isinstance(results, tuple)
                else results
            )

        both = library.func.jvp(call, inputs(library), directions(library))
        jacobian = library.func.jacfwd(call, argnums=(0, 1))(*inputs(library))
        return both, jacobian

    check(run)


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_dual_alone(name, position):
    """The other one is given zeros, and shares the tangent of an output with which it shares its memory."""

    def run(library):
        how = next(iter(FUNCTIONS[name][2]))
        function, forward_ad = applied(library, name, how), library.autograd.forward_ad
        with forward_ad.dual_level():
            given = [x.clone() for x in inputs(library)]
            given[position] = forward_ad.make_dual(given[position], directions(library)[position])
            return unpacked(library, function(*given)), unpacked(library, tuple(given))

    check(run)


def test_a_modified_input_without_derivative_has_the_tangent_zero():
    """torch leaves the tangent that its former value had."""

    class Rounded(fxt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            return x.round_()

        @staticmethod
        def jvp(ctx, t):
            return None

    forward_ad = fxt.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(fxt.tensor([1.2]), fxt.tensor([1.0])).clone()
        y = Rounded.apply(x)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [0.0]
        assert forward_ad.unpack_dual(x * 2).tangent.tolist() == [0.0]


@pytest.mark.parametrize("transform", ["vmap", "vjp"])
def test_duals_inside_a_transform(transform):
    """The tangents of duals from outside go by the user's jvp, in torch for Functions with a rule for vmap."""

    def run(library):
        class Tripled(library.autograd.Function):
            generate_vmap_rule = True
            forward = staticmethod(lambda x: x * 2)
            setup_context = staticmethod(nothing)
            backward = staticmethod(lambda ctx, g: g * 5)
            jvp = staticmethod(lambda ctx, t: t * 3)

        forward_ad = library.autograd.forward_ad
        with forward_ad.dual_level():
            x = forward_ad.make_dual(library.ones(3, 2), library.ones(3, 2))
            if transform == "vmap":
                return forward_ad.unpack_dual(library.vmap(Tripled.apply)(x)).tangent
            return forward_ad.unpack_dual(library.func.vjp(Tripled.apply, x)[0]).tangent

    check(run)


# -- history ----------------------------------------------------------------------------------------------------------

RETURNED = {
    "as it is": (lambda x: x, nothing),
    "modified": (lambda x: x.mul_(2), mark_first),
    "a part": (lambda x: x[:1], nothing),
    "a part and an integer": (lambda x: (x[:1], x.long()), nothing),
    "two parts": (lambda x: (x[:1], x[1:]), nothing),
    "as it is, without derivative": (lambda x: x, lambda ctx, i, output: ctx.mark_non_differentiable(output)),
    "a part without derivative": (
        lambda x: x[:1],
        lambda ctx, i, output: ctx.mark_non_differentiable(output),
    ),
    "modified, without derivative": (
        lambda x: x.mul_(2),
        lambda ctx, i, output: (ctx.mark_dirty(i[0]), ctx.mark_non_differentiable(output)),
    ),
    "modified, and a view of it": (lambda x: (x.mul_(2), x.view_as(x)), mark_first),
    "modified, and a number": (lambda x: (x.mul_(2), 3), mark_first),
}
GIVEN = {
    "without gradient": lambda x: x,
    "a leaf": lambda x: x.requires_grad_(),
    "no leaf": lambda x: x.requires_grad_() * 1,
    "a view": lambda x: (x.requires_grad_() * 1).view_as(x),
    "a view of a leaf": lambda x: x.requires_grad_()[:],
    "integers": lambda x: x.long(),
}


def told(result):
    """An outcome; of an error without torch's advice where to ask."""
    if result is None or result[0] != "raises":
        return result
    return *result[:2], result[2].partition(" You can ask on the forum")[0]


def check_told(scenario):
    check_alike(told(outcome(scenario, fxt)), told(outcome(scenario, torch)))


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "no_grad"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", RETURNED)
def test_what_is_returned(name, given, recorded):
    """Whether an output is the input or a view of it, has a history, and may be modified."""

    def run(library):
        forward, setup = RETURNED[name]
        members = {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(setup),
            "backward": staticmethod(lambda ctx, *gs: gs[0].sum().expand(2)),
        }
        function = type("Foo", (library.autograd.Function,), members).apply
        x = GIVEN[given](library.tensor([1.0, 2.0]))
        with library.set_grad_enabled(recorded):
            results = function(x)
        y = results[0] if isinstance(results, tuple) else results
        facts = y is x, y._is_view(), y._base is x, y.requires_grad, y.is_leaf, x.requires_grad, x.is_leaf
        return facts, y, x

    def modified(library):
        forward, setup = RETURNED[name]
        members = {"forward": staticmethod(forward), "setup_context": staticmethod(setup)}
        results = type("Foo", (library.autograd.Function,), members).apply(
            GIVEN[given](library.tensor([1.0, 2.0]))
        )
        y = results[0] if isinstance(results, tuple) else results
        y.mul_(library.ones(len(y), requires_grad=y.dtype.is_floating_point))

    check_told(run)
    if recorded:
        check_told(modified)


def test_a_saved_output_without_derivative_requires_no_gradient():
    def run(library):
        seen = []

        class Foo(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                rounded = x * 2
                ctx.mark_non_differentiable(rounded)
                ctx.save_for_backward(rounded, x)
                return rounded, x * 3

            @staticmethod
            def backward(ctx, _, g):
                seen.extend(t.requires_grad for t in ctx.saved_tensors)
                return g

        x = library.ones(2, requires_grad=True)
        Foo.apply(x)[1].sum().backward(create_graph=True)
        return seen

    check_alike(outcome(run, fxt), outcome(run, torch))
