"""How Tensors lie in memory inside transforms, what a mapping rule is told of that, and what a write inside them does
to histories further out, under torch and fxgrad.compat."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, check_alike, outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
scenario = Scenarios()


# -- layout of the sample ------------------------------------------
def layout(t) -> tuple:
    return tuple(t.stride()), t.storage_offset(), t.is_contiguous()


def seen_inside(library, f, x, *dims):
    """The layout of f(sample) inside `vmap`, one level for each dimension."""
    found = []

    def function(t):
        found.append(layout(f(t)))
        return t

    for d in reversed(dims):
        function = library.func.vmap(function, d)
    function(x)
    return found


SAMPLES = {
    "itself": lambda t: t,
    "transpose": lambda t: t.t(),
    "slice": lambda t: t[1:],
    "select": lambda t: t[:, 1],
    "expand": lambda t: t[None].expand(2, *t.shape),
    "diagonal": lambda t: t.diagonal(),
    "unfold": lambda t: t.unfold(0, 2, 1),
    "detach": lambda t: t.detach(),
    "modified": lambda t: t.mul_(2),
    "zeroed": lambda t: t.zero_(),
    "modified through a view": lambda t: (t[0].mul_(2), t)[1],
    "transposed in place": lambda t: t.t_(),
    "contiguous": lambda t: t.contiguous(),
    "contiguous transpose": lambda t: t.t().contiguous(),
    "strided anew": lambda t: t.as_strided((2,), (1,)),
    "new strides": lambda t: t.new_empty_strided((2, 3), (1, 2)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_layout_of_samples(name):
    for dims in ((0,), (1,), (2,), (0, 0), (0, 2), (2, 1), (3, 0)):
        found = []
        for library in (fxt, torch):
            x = (
                library.arange(210.0).view(2, 3, 5, 7)
                if len(dims) > 1
                else library.arange(42.0).view(2, 3, 7)
            )
            found.append(seen_inside(library, SAMPLES[name], x.clone(), *dims))
        assert found[0] == found[1], dims


@scenario
def layouts_through_other_levels(library):
    F, x, found = library.func, library.arange(30.0).view(2, 3, 5).transpose(0, 1), []

    def note(t):
        found.append(layout(t[1:]))
        return t.sum()

    F.grad(note)(x)
    F.jvp(note, (x,), (x,))
    F.vmap(F.grad(note), 1)(x)
    F.vmap(lambda t: F.jvp(note, (t,), (t,))[1], 2)(x)
    F.grad(lambda t: F.vmap(note, 1)(t).sum())(x)
    return found


@scenario
def views_that_do_not_fit(library):
    library.func.vmap(lambda t: t.view(-1), 1)(library.rand(2, 3, 5))


@scenario
def views_that_fit(library):
    vmap, x = library.func.vmap, library.arange(30.0).view(2, 3, 5)
    first, last = vmap(lambda t: t.view(-1))(x), vmap(lambda t: t.view(-1), 2)(x)
    return first, last, last._base is x._base, vmap(lambda t: t.reshape(-1), 1)(x)._base is None


@scenario
def other_memory_formats(library):
    library.func.vmap(lambda t: t.is_contiguous(memory_format=library.channels_last))(
        library.rand(2, 3, 4, 5, 6)
    )


@scenario
def contiguous_in_other_memory_formats(library):
    library.func.vmap(lambda t: t.contiguous(memory_format=library.channels_last))(
        library.rand(2, 3, 4, 5, 6)
    )


@scenario
def new_strides_of_a_batch(library):
    x, vmap = library.randn(4, 3), library.func.vmap
    sizes = (((2, 3, 5), (0, 5, 1)), ((2, 3), (1, 2)), ((2, 3), (10, 3)), ((), ()), ((3,), (0,)))
    return [
        (
            tuple(vmap(lambda t, s=s: t.new_empty_strided(*s))(x).stride()),
            tuple(vmap(vmap(lambda t, s=s: t.new_empty_strided(*s)))(x).stride()),
        )
        for s in sizes
    ]


# -- as_strided counts in memory ------------------------------------------
STRIDED = [
    ([2], [1], None), ([2, 2], [1, 2], 0), ([2], [3], 2), ([3], [4], None), ([2, 2], [4, 1], None), ([8], [1], 0),
    ([2], [1], 5), ([0], [1], 40),
]  # fmt: skip
SOURCES = {
    "argument": lambda x, f, d, vmap: vmap(f, d)(x),
    "part": lambda x, f, d, vmap: vmap(f, d)(x[:, 1:]),
    "view inside": lambda x, f, d, vmap: vmap(lambda t: f(t[1:]), d)(x),
    "modified": lambda x, f, d, vmap: vmap(lambda t: f(t.mul_(2)))(x.clone()),
    "nested": lambda x, f, d, vmap: vmap(vmap(lambda t: f(t[None]), d % 2), d)(x),
}


@pytest.mark.parametrize("source", SOURCES)
def test_as_strided(source):
    for size, stride, offset in STRIDED:
        for d in range(3):

            def function(library, d=d, given=(size, stride, offset)):
                x = library.arange(24.0).view(2, 3, 4)
                return SOURCES[source](x, lambda t: t.as_strided(*given), d, library.func.vmap)

            check(function)


@scenario
def gradients_by_as_strided(library):
    x = library.arange(24.0).view(2, 3, 4).requires_grad_()
    w = library.arange(1.0, 5.0).view(2, 2)
    inside = library.func.vmap(library.func.grad(lambda t: ((t * t).as_strided((2,), (2,), 0)).sum()), 1)(
        x.detach()
    )
    total = (library.func.vmap(lambda t: t.as_strided((2, 2), (4, 1)), 1)(x) * w).sum()
    return inside, library.autograd.grad(total, x)


@scenario
def written_by_as_strided(library):
    x = library.ones(2, 3, 4, requires_grad=True)
    y = x.clone()
    library.func.vmap(lambda t: t.as_strided((2,), (1,), 0).mul_(3))(y)
    return y, library.autograd.grad((y * y).sum(), x)


# -- in_dims of a Function's own rule ------------------------------------------
@scenario
def dimensions_as_given(library):
    seen = []

    class Product(library.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def vmap(info, in_dims, x, y):
            seen.append((in_dims, tuple(x.shape), tuple(x.stride())))
            x, y = (t if d is None else t.movedim(d, -1) for t, d in zip((x, y), in_dims))
            return Product.apply(x, y), x.dim() - 1

    F, x, y = library.func, library.arange(24.0).view(2, 3, 4), library.ones(2, 3)
    results = [F.vmap(Product.apply, dims)(x, y) for dims in ((2, None), (-1, None))]
    results.append(F.vmap(Product.apply, (1, 1))(x[..., 0], y))
    results.append(F.vmap(F.grad(lambda a, b: Product.apply(a, b).sum()), (2, None))(x, y))
    return results, seen


@scenario
def dimensions_of_a_made_rule(library):
    class Scaled(library.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y.sum(), (g * x).sum().expand_as(y)

        @staticmethod
        def jvp(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y.sum() + x * b.sum()

    F, x = library.func, library.arange(24.0).view(2, 3, 4) / 8
    results = []
    for dims in ((0, 0), (1, 1), (2, 2), (2, 1)):
        y = library.ones(2, 3, 4) if dims[0] == dims[1] else library.ones(2, 4)
        mapped = F.vmap(Scaled.apply, dims)
        results += [
            mapped(x, y),
            F.grad(lambda a, b, mapped=mapped: (mapped(a, b) ** 2).sum(), (0, 1))(x, y),
            F.jvp(mapped, (x, y), (x, y))[1],
        ]
    return results


# -- writes that are not recorded, and histories further out ------------------------------------------
def silently(body):
    """A function of a vector with a step under `no_grad`."""

    def make(library):
        def function(t):
            u = t * t
            with library.no_grad():
                body(u)
            return (u * t).sum()

        return function

    return make


def unrecorded_view(change):
    """A view is made under `no_grad`, and then something is changed."""

    def make(library):
        def function(t):
            u = t * 1
            with library.no_grad():
                v = u[0:1]
            change(u, v)
            return (u * t).sum() + v.sum()

        return function

    return make


def pieces_modified(library):
    def function(t):
        u = t * 1
        u.unbind()[0].mul_(2)
        return (u * t).sum()

    return function


FUNCTIONS = {
    "multiplied": silently(lambda u: u.mul_(2)),
    "through a view": silently(lambda u: u[0:1].mul_(2)),
    "zeroed": silently(lambda u: u.zero_()),
    "copied": silently(lambda u: u.copy_(u * 3)),
    "an entry set": silently(lambda u: u.__setitem__(0, 5.0)),
    "twice": silently(lambda u: (u.mul_(2), u[1:].add_(1))),
    "a view modified": unrecorded_view(lambda u, v: v.mul_(2)),
    "its base modified": unrecorded_view(lambda u, v: u.mul_(2)),
    "through a detached Tensor": lambda library: (
        lambda t: (lambda u: (u.detach().mul_(2), (u * t).sum())[1])(t * t)
    ),
    "pieces": pieces_modified,
}
LEVELS = {
    "tape": lambda F, f, x: f(x),
    "vmap": lambda F, f, x: F.vmap(f)(x[None]).sum(),
    "vmap of vmap": lambda F, f, x: F.vmap(F.vmap(f))(x[None, None]).sum(),
    "jvp": lambda F, f, x: sum(F.jvp(f, (x,), (x.detach() * 0 + 1,))),
    "vjp": lambda F, f, x: F.vjp(f, x)[0],
    "grad": lambda F, f, x: F.grad(f)(x).sum(),
    "grad of vmap": lambda F, f, x: F.grad(lambda y: F.vmap(f)(y[None]).sum())(x).sum(),
    "vmap of grad": lambda F, f, x: F.vmap(F.grad(f))(x[None]).sum(),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("level", LEVELS)
def test_writes_that_are_not_recorded(level, function):
    def gradient(library):
        x = (library.arange(3.0) + 1).requires_grad_()
        return library.autograd.grad(LEVELS[level](library.func, FUNCTIONS[function](library), x), x)

    ours, theirs = outcome(gradient, fxt), outcome(gradient, torch)
    if theirs[0] == "raises":
        assert ours[:2] == theirs[:2]
    else:
        check_alike(ours, theirs)


RESULTS = {
    "a view": lambda vmap, y: vmap(lambda s: s[0:1])(y),
    "moved": lambda vmap, y: vmap(lambda s: s[0:1], 1, 1)(y),
    "nested": lambda vmap, y: vmap(vmap(lambda s: s.view_as(s)), 1, 1)(y),
}


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("level", [name for name in LEVELS if name != "vmap of vmap"])
def test_results_of_vmap_modified_inside_another_level(level, result):
    def gradients(library):
        x, w = (library.arange(4.0) + 1).requires_grad_(), library.tensor(3.0, requires_grad=True)

        def function(t):
            y = (t * 1).reshape(2, 2)
            RESULTS[result](library.func.vmap, y)[0].mul_(w * w)
            return (y * y).sum()

        return library.autograd.grad(LEVELS[level](library.func, function, x), (x, w))

    check(gradients)


# -- leaves and captured Tensors ------------------------------------------
@scenario
def a_leaf_that_is_a_view(library):
    x = library.arange(4.0).view(2, 2).requires_grad_()
    x[0].mul_(2)


@scenario
def a_leaf_that_is_a_view_in_vmap(library):
    library.func.vmap(lambda t: t.mul_(2))(library.arange(4.0).view(2, 2).requires_grad_())


@scenario
def the_base_of_a_leaf(library):
    base = library.arange(4.0)
    x = base.view(2, 2).requires_grad_()
    base.mul_(2)
    return x, base, library.autograd.grad((x * x).sum(), x)


@scenario
def what_was_computed_of_a_modified_argument(library):
    x = library.arange(4.0).requires_grad_()
    y = x * 1
    (twice, same), _ = library.func.jvp(lambda t: (t.copy_(t * 2) * 2, t), (y,), (library.ones(4),))
    return same, library.autograd.grad((twice * same).sum() + y.sum(), x), y._version


@scenario
def modifications_are_counted(library):
    x = library.ones(2, 3)
    library.func.vmap(lambda t: t.mul_(2).add_(1)[0].neg_())(x)
    return x, x._version


@scenario
def what_is_the_same_for_all_entries(library):
    w, x = library.ones(3), library.ones(2, 4)
    repeated = [library.func.vmap(f, (0, None))(x, w) for f in (lambda t, w: w, lambda t, w: w[1:])]
    w.mul_(2)
    return [(r, r._base is w, tuple(r.stride())) for r in repeated]


@scenario.each()
def test_as_torch(scenario):
    check(scenario)


def test_what_is_the_same_for_all_entries_is_placed():
    """torch fails here."""
    w = fxt.ones(3)
    for place in (1, -1):
        repeated = fxt.func.vmap(lambda t, w: w, (0, None), place)(fxt.ones(2, 4), w)
        assert (tuple(repeated.shape), repeated._base is w) == ((3, 2), True)


def test_captured_tensors_are_refused_in_torch_s_words():
    outside = fxt.ones(3)
    for transform in (
        lambda f: fxt.func.grad(f)(fxt.ones(3)),
        lambda f: fxt.func.jvp(f, (outside,), (outside,)),
    ):
        for change in (outside.add_, outside.copy_, outside.sub_):
            with pytest.raises(RuntimeError, match=r"would mutate a captured Tensor\. This is not supported"):
                transform(lambda x, change=change: change(x).sum())
    with pytest.raises(
        RuntimeError, match=r"^vmap: inplace arithmetic\(self, \*extra_args\) is not possible because"
    ):
        fxt.func.vmap(lambda x: outside.copy_(x))(fxt.ones(2, 3))
    assert outside.tolist() == [1, 1, 1]
