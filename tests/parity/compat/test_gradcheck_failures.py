"""What gradcheck says first of functions that are wrong in one way or several, under all its options, as torch does."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import check, double  # noqa: F401

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def function(library, forward, backward=None, jvp=None, setup=None):
    methods = {"forward": forward, "backward": backward, "jvp": jvp, "setup_context": setup}
    members = {name: staticmethod(method) for name, method in methods.items() if method is not None}
    return type(
        "Foo", (library.autograd.Function,), members | {"generate_vmap_rule": setup is not None}
    ).apply


def doubled(library, backward=lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 2):
    return function(library, lambda ctx, x: x * 2, backward, jvp)


def pair(library, backward, jvp=lambda ctx, t: (t * 2, t * 3), materialize=True):
    """(2x, 3x)."""

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    return function(library, forward, backward, jvp)


def unsteady(amount, calls=None):
    """A backward or jvp whose factor differs from one call to the next."""
    calls = [] if calls is None else calls

    def method(ctx, g):
        calls.append(g)
        return g * (2 + amount * (len(calls) % 3))

    return method


def only_one_by_one(ctx, g):
    """Another factor where the sum is no number."""
    try:
        float(g.sum())
    except (RuntimeError, TypeError):
        return g * 5
    return g * 2


def of(value, factor):
    return 0 if value is None else value * factor


def leaf(library, *values, **options):
    return library.tensor(values or (0.5, 2.0), requires_grad=True, **options)


def ignoring_zero(ctx, s, t):
    """The tangent of 2x + 3y, and more where one of them is not there."""
    return of(s, 2) + of(t, 3) + (0.1 if s is None or t is None else 0)


def sum_of_two(library, jvp):
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2 + y * 3

    backward = lambda ctx, g: (None, None) if g is None else (g * 2, g * 3)  # noqa: E731
    return function(library, forward, backward, jvp)


def nothing(ctx, inputs, output):
    """For Functions that save nothing."""


# What is wrong: (function of a library, its inputs).
WRONG = {
    "nothing": lambda t: (doubled(t), (leaf(t),)),
    "nothing, of two": lambda t: (t.mul, (leaf(t), leaf(t, 1.0, 3.0))),
    "nothing, complex": lambda t: (t.mul, (leaf(t, 1 + 2j, 0.5 - 1j), leaf(t, 1 + 2j, 0.5 - 1j))),
    "backward": lambda t: (doubled(t, lambda ctx, g: g * 3), (leaf(t),)),
    "jvp": lambda t: (doubled(t, jvp=lambda ctx, s: s * 3), (leaf(t),)),
    "both": lambda t: (doubled(t, lambda ctx, g: g * 3, lambda ctx, s: s * 3), (leaf(t),)),
    "both, of the second input": lambda t: (
        function(t, lambda ctx, x, y: x * 2 + y * 3, lambda ctx, g: (g * 2, g), lambda ctx, s, u: s * 2 + u),
        (leaf(t), leaf(t, 1.0, 3.0)),
    ),
    "both, of the second output": lambda t: (
        pair(t, lambda ctx, g, h: g * 2 + h, lambda ctx, s: (s * 2, s)),
        (leaf(t),),
    ),
    "with setup_context": lambda t: (
        function(t, lambda x: x * 2, lambda ctx, g: g * 3, lambda ctx, s: s * 2, nothing),
        (leaf(t),),
    ),
    "a little unsteady": lambda t: (doubled(t, unsteady(1e-9)), (leaf(t),)),
    "unsteady, and backward": lambda t: (doubled(t, unsteady(0.1)), (leaf(t),)),
    "not linear": lambda t: (doubled(t, lambda ctx, g: g * 2 + 1e-9), (leaf(t),)),
    "not linear, of two": lambda t: (pair(t, lambda ctx, g, h: g * 2 + h * 3 + 1e-9), (leaf(t),)),
    "one undefined": lambda t: (
        pair(t, lambda ctx, g, h: of(g, 2) + of(h, 3) + (1e-9 if g is None or h is None else 0), None, False),
        (leaf(t),),
    ),
    "all undefined": lambda t: (
        pair(t, lambda ctx, g, h: t.ones(2) if g is None and h is None else of(g, 2) + of(h, 3), None, False),
        (leaf(t),),
    ),
    "nothing, all undefined": lambda t: (
        pair(t, lambda ctx, g, h: None if g is None and h is None else of(g, 2) + of(h, 3), None, False),
        (leaf(t),),
    ),
    "an error where one is undefined": lambda t: (
        pair(t, lambda ctx, g, h: g * 2 + h * 3, None, False),
        (leaf(t),),
    ),
    "no tangent taken for another than zero": lambda t: (
        sum_of_two(t, ignoring_zero),
        (leaf(t), leaf(t, 1.0, 3.0)),
    ),
    "no tangent taken for zero": lambda t: (
        sum_of_two(t, lambda ctx, s, u: of(s, 2) + of(u, 3)),
        (leaf(t), leaf(t, 1.0, 3.0)),
    ),
    "an error where no tangent is": lambda t: (
        sum_of_two(t, lambda ctx, s, u: s * 2 + u * 3),
        (leaf(t), leaf(t, 1.0, 3.0)),
    ),
    "backward of a batch": lambda t: (doubled(t, lambda ctx, g: g * 2 + 0 * g.sum().item()), (leaf(t),)),
    "jvp of a batch": lambda t: (doubled(t, jvp=only_one_by_one), (leaf(t),)),
    "the dtype": lambda t: (doubled(t, lambda ctx, g: (g * 2).to(t.float32)), (leaf(t),)),
    "the shape": lambda t: (doubled(t, lambda ctx, g: (g * 2)[:1]), (leaf(t),)),
    "no gradient": lambda t: (doubled(t, lambda ctx, g: None), (leaf(t),)),
    "no backward": lambda t: (function(t, lambda ctx, x: x * 2, None, lambda ctx, s: s * 2), (leaf(t),)),
    "no jvp": lambda t: (function(t, lambda ctx, x: x * 2, lambda ctx, g: g * 2), (leaf(t),)),
    "a shape that depends on values": lambda t: (lambda x: t.cat([x, x]) if x[0] >= 0.5 else x, (leaf(t),)),
    "a shape that depends on more": lambda t: (lambda x: t.cat([x, x]) if x[0] > 0.5 else x, (leaf(t),)),
    "a shape of a matrix": lambda t: (
        lambda x: x[:1] if x[1, 0] > 0.5 else x,
        (t.full((2, 2), 0.5, requires_grad=True),),
    ),
    "a dtype that depends on values": lambda t: (lambda x: x.to(t.float32) if x[0] > 0.5 else x, (leaf(t),)),
    "nothing but a gradient that depends on values": lambda t: (
        lambda x: x * 2 if x[0] >= 0.5 else x.detach() * 2,
        (leaf(t),),
    ),
    "a function that asks for gradients": lambda t: (
        lambda x: x * 2 if x.requires_grad else x * 3,
        (leaf(t),),
    ),
    "not differentiable": lambda t: (lambda x: x.detach() * 2, (leaf(t),)),
    "nothing, beside a constant": lambda t: (lambda x: (x * x, x.detach() * 2), (leaf(t),)),
    "nothing, the input itself": lambda t: (lambda x: x, (leaf(t),)),
    "nothing, a view": lambda t: (lambda x: x[:1], (leaf(t),)),
    "nothing, no element": lambda t: (lambda x: x[:0] * 2, (leaf(t),)),
    "modified": lambda t: (lambda x: x.mul_(2), (leaf(t),)),
    "conjugated": lambda t: (
        function(t, lambda ctx, z: z * 2j, lambda ctx, g: g * 2j, lambda ctx, s: s * 2j),
        (leaf(t, 1 + 2j),),
    ),
    "the tangent conjugated": lambda t: (
        function(t, lambda ctx, z: z * 2j, lambda ctx, g: g * -2j, lambda ctx, s: s * -2j),
        (leaf(t, 1 + 2j),),
    ),
    "a real output beside a complex one": lambda t: (
        lambda z, x: (z * x, doubled(t, lambda ctx, g: g * 3)(x)),
        (leaf(t, 1 + 2j, 0.5 - 1j), leaf(t)),
    ),
    "not a number": lambda t: (t.sqrt, (leaf(t, -1.0, 1.0),)),
    "infinite": lambda t: (t.log, (leaf(t, 0.0, 1.0),)),
    "single precision": lambda t: (t.sin, (leaf(t, dtype=t.float32),)),
    "no Tensor": lambda t: (lambda x: 1.0, (leaf(t),)),
    "None": lambda t: (lambda x: (x * 2, None), (leaf(t),)),
}
ALL = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}
OPTIONS = {
    "default": {},
    "fast": {"fast_mode": True},
    "forward": {"check_forward_ad": True},
    "forward only": {"check_forward_ad": True, "check_backward_ad": False},
    "forward, fast": {"check_forward_ad": True, "fast_mode": True},
    "batched": {"check_batched_grad": True},
    "forward, batched": {"check_forward_ad": True, "check_batched_forward_grad": True},
    "all": ALL,
    "all, fast": ALL | {"fast_mode": True},
    "all, returned": ALL | {"raise_exception": False},
    "undefined not looked at": {"check_forward_ad": True, "check_undefined_grad": False},
    "large steps": {"eps": 1e-3},
    "large tolerance": {"atol": 0.1, "rtol": 0.1},
    "unsteadiness tolerated": {"nondet_tol": 1e-6},
    "masked": {"masked": True},
}


# Where torch fails by a mistake of its own: it counts what is not differentiable in fast forward mode alone.
TORCHS_OWN = {"nothing, beside a constant": ("forward, fast", "all, fast")}


def verdict(library, check_function, name, options):
    """What the check returns, or says first."""
    try:
        made, inputs = WRONG[name](library)
        return check_function(library)(made, inputs, **options)
    except Exception as error:
        text = str(error).partition("\n")[0].lstrip("('")
        for end in (" Please look at", " With set_materialize", ", got: ", "index: "):
            text = text.partition(end)[0]
        known = (
            NotImplementedError,
            AssertionError,
            IndexError,
            TypeError,
            ValueError,
            AttributeError,
            RuntimeError,
        )
        kind = next(cls.__name__ for cls in known if isinstance(error, cls))
        return type(error).__name__ == "GradcheckError" or kind, text


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", WRONG)
def test_gradcheck(name, options):
    if options in TORCHS_OWN.get(name, ()):
        assert verdict(fxt, lambda t: t.autograd.gradcheck, name, OPTIONS[options]) is True
        return
    ours, theirs = (
        verdict(library, lambda t: t.autograd.gradcheck, name, OPTIONS[options]) for library in (fxt, torch)
    )
    assert ours == theirs


SECOND = {
    "default": {},
    "fast": {"fast_mode": True},
    "forward over reverse": {"check_fwd_over_rev": True},
    "batched": {"check_batched_grad": True},
    "scattered": {"gen_non_contig_grad_outputs": True},
    "returned": {"raise_exception": False},
    "no mode": {"check_rev_over_rev": False},
    "undefined without reverse": {"check_rev_over_rev": False, "check_fwd_over_rev": True},
    "batched without reverse": {
        "check_rev_over_rev": False,
        "check_fwd_over_rev": True,
        "check_undefined_grad": False,
        "check_batched_grad": True,
    },
    "forward over reverse only": {
        "check_rev_over_rev": False,
        "check_fwd_over_rev": True,
        "check_undefined_grad": False,
    },
}
# Functions whose own derivatives gradgradcheck does not look at, or looks at as torch does.
TWICE = [
    "nothing",
    "nothing, of two",
    "nothing, complex",
    "backward",
    "both, of the second input",
    "not linear",
    "one undefined",
    "all undefined",
    "an error where one is undefined",
    "the shape",
    "no backward",
    "a shape that depends on values",
    "nothing, the input itself",
    "nothing, a view",
    "nothing, no element",
    "modified",
    "not a number",
    "no Tensor",
]


@pytest.mark.parametrize("options", SECOND)
@pytest.mark.parametrize("name", TWICE)
def test_gradgradcheck(name, options):
    ours, theirs = (
        verdict(library, lambda t: t.autograd.gradgradcheck, name, SECOND[options])
        for library in (fxt, torch)
    )
    assert ours == theirs


def test_inputs_of_forward_mode():
    """All differentiable inputs are duals, and require no gradient."""

    def run(library):
        seen = []

        def watch(x, y, n):
            tangents = [library.autograd.forward_ad.unpack_dual(v).tangent for v in (x, y)]
            seen.append(
                (*(t is not None for t in tangents), x.requires_grad, y.requires_grad, n.requires_grad)
            )
            return x * y * n

        inputs = leaf(library), leaf(library, 1.0, 3.0), library.ones(2)
        options = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False}
        library.autograd.gradcheck(watch, inputs, **options)
        return sorted(set(seen))

    check(run)
