"""gradcheck and gradgradcheck against torch: what they accept, what they refuse, and in which words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("double"),
]


def gradcheck(torch, *args, **options):
    return torch.autograd.gradcheck(*args, **options)


def leaf(torch, *values):
    return torch.tensor(values or (0.5, 2.0), requires_grad=True)


def complex_leaf(torch):
    return torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)


def custom(torch, forward, backward, jvp=None):
    """A Function whose backward is `backward(ctx, *gradients)`."""

    class Custom(torch.autograd.Function):
        pass

    Custom.forward = staticmethod(forward)
    Custom.backward = staticmethod(backward)
    if jvp is not None:
        Custom.jvp = staticmethod(jvp)
    return Custom.apply


def wrong_backward(torch):
    return custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 3)


def wrong_forward(torch):
    return custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, lambda ctx, t: t * 3)


def not_conjugated(torch):
    return custom(torch, lambda ctx, x: x * (1 + 2j), lambda ctx, g: g * (1 + 2j))


# -- what passes ------------------------------------------------------------------------------------------------------

ALL = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}
PASSING = {
    "elementwise": lambda torch, **o: gradcheck(torch, torch.sin, (leaf(torch),), **o),
    "one Tensor": lambda torch, **o: gradcheck(torch, torch.exp, leaf(torch), **o),
    "two inputs": lambda torch, **o: gradcheck(torch, torch.mul, (leaf(torch), leaf(torch, 3.0, 4.0)), **o),
    "two outputs": lambda torch, **o: gradcheck(torch, lambda x: (x * x, x.sum()), (leaf(torch),), **o),
    "list of outputs": lambda torch, **o: gradcheck(torch, lambda x: [x * 2, x * 3], (leaf(torch),), **o),
    "constants among inputs": lambda torch, **o: gradcheck(
        torch, lambda x, i, n: x * i * n, (leaf(torch), torch.tensor([1, 2]), 3.0), **o
    ),
    "an integer output": lambda torch, **o: gradcheck(
        torch, lambda x: (x * x, x.long()), (leaf(torch),), **o
    ),
    "the input itself": lambda torch, **o: gradcheck(torch, lambda x: x, (leaf(torch),), **o),
    "in place": lambda torch, **o: gradcheck(torch, lambda x: x.clone().mul_(2), (leaf(torch),), **o),
    "transposed": lambda torch, **o: gradcheck(
        torch, lambda x: x.sin(), (torch.ones(3, 2).t().requires_grad_(),), **o
    ),
    "complex": lambda torch, **o: gradcheck(torch, lambda z: z * z, (complex_leaf(torch),), **o),
    "complex to real": lambda torch, **o: gradcheck(torch, lambda z: z.abs(), (complex_leaf(torch),), **o),
    "real to complex": lambda torch, **o: gradcheck(torch, lambda x: x * (1 + 2j), (leaf(torch),), **o),
    "complex and real": lambda torch, **o: gradcheck(
        torch, lambda z, x: (z * x, z.abs()), (complex_leaf(torch), leaf(torch)), **o
    ),
    "no dimension": lambda torch, **o: gradcheck(
        torch, lambda x: x**3, (torch.tensor(2.0, requires_grad=True),), **o
    ),
    "no element": lambda torch, **o: gradcheck(
        torch, lambda x: x * 2, (torch.ones(0, requires_grad=True),), **o
    ),
}


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, ALL, ALL | {"fast_mode": True}], ids=str)
@pytest.mark.parametrize("case", PASSING)
def test_passing(case, options):
    assert PASSING[case](fxt, **options) is True
    assert PASSING[case](torch, **options) is True


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_fwd_over_rev": True}], ids=str)
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("case", ["elementwise", "two inputs", "complex"])
def test_passing_twice(case, scattered, options):
    def run(torch):
        args = {
            "elementwise": (torch.sin, (leaf(torch),)),
            "two inputs": (torch.mul, (leaf(torch), leaf(torch, 3.0, 4.0))),
            "complex": (lambda z: z * z * z, (complex_leaf(torch),)),
        }[case]
        return torch.autograd.gradgradcheck(*args, gen_non_contig_grad_outputs=scattered, **options)

    assert run(fxt) is True
    assert run(torch) is True


# -- what fails -------------------------------------------------------------------------------------------------------


@scenario
def wrong_gradient(torch):
    gradcheck(torch, wrong_backward(torch), (leaf(torch),))


@scenario
def wrong_gradient_in_fast_mode(torch):
    gradcheck(torch, wrong_backward(torch), (leaf(torch),), fast_mode=True)


@scenario
def wrong_gradient_returns_false(torch):
    return gradcheck(torch, wrong_backward(torch), (leaf(torch),), raise_exception=False)


@scenario
def wrong_gradient_of_the_second(torch):
    wrong = wrong_backward(torch)
    gradcheck(torch, lambda x, y: (x * y, wrong(y)), (leaf(torch), leaf(torch, 3.0, 4.0)))


@scenario
def wrong_tangent(torch):
    gradcheck(torch, wrong_forward(torch), (leaf(torch),), check_forward_ad=True)


@scenario
def wrong_tangent_in_fast_mode(torch):
    gradcheck(torch, wrong_forward(torch), (leaf(torch),), check_forward_ad=True, fast_mode=True)


@scenario
def wrong_tangent_alone(torch):
    gradcheck(torch, wrong_forward(torch), (leaf(torch),), check_forward_ad=True, check_backward_ad=False)


@scenario
def wrong_tangent_not_looked_at(torch):
    return gradcheck(torch, wrong_forward(torch), (leaf(torch),))


@scenario
def wrong_complex_gradient(torch):
    gradcheck(torch, not_conjugated(torch), (complex_leaf(torch),))


@scenario
def wrong_complex_gradient_in_fast_mode(torch):
    gradcheck(torch, not_conjugated(torch), (complex_leaf(torch),), fast_mode=True)


@scenario
def wrong_complex_gradient_of_real(torch):
    wrong = not_conjugated(torch)
    gradcheck(torch, lambda x: wrong(x * (1 + 0j)), (leaf(torch),))


@scenario
def wrong_second_derivative(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0].detach() ** 2

    function = custom(torch, forward, backward)
    first = gradcheck(torch, function, (leaf(torch),))
    return first, torch.autograd.gradgradcheck(function, (leaf(torch),))


@scenario
def not_differentiable_but_dependent(torch):
    gradcheck(torch, lambda x: x.detach() * 2, (leaf(torch),))


@scenario
def constant(torch):
    return gradcheck(torch, lambda x: torch.ones(2), (leaf(torch),))


@scenario
def gradient_without_output_gradient(torch):
    gradcheck(torch, custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2 + 1e-9), (leaf(torch),))


@scenario
def tolerances(torch):
    function = custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2.01)
    return [
        gradcheck(torch, function, (leaf(torch),), raise_exception=False, **options)
        for options in ({}, {"atol": 0.1}, {"rtol": 0.1}, {"rtol": 1e-3, "atol": 1e-4}, {"eps": 1e-3})
    ]


@pytest.mark.filterwarnings("ignore:Backwards compatibility:UserWarning")
@pytest.mark.parametrize("library", [torch, fxt], ids=lambda library: library.__name__)
def test_undefined_gradients_not_taken_for_zeros(library):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, g, h):
        undefined = 1e-9 if g is None or h is None else 0.0
        return (0 if g is None else g * 2) + (0 if h is None else h * 3) + undefined

    function = custom(library, forward, backward)
    with pytest.raises(RuntimeError, match=r"undefined output grads|undefined or zero"):
        gradcheck(library, function, (leaf(library),))
    assert gradcheck(library, function, (leaf(library),), check_undefined_grad=False)


def unsteady(torch, amount):
    """A Function whose gradient differs from one call to the next."""
    calls = []

    def backward(ctx, g):
        calls.append(g)
        return g * (2 + amount * (len(calls) % 3))

    return custom(torch, lambda ctx, x: x * 2, backward)


@pytest.mark.parametrize("fast", [False, True])
def test_nondeterminism(fast):
    def run(torch):
        return gradcheck(torch, unsteady(torch, 1e-9), (leaf(torch),), fast_mode=fast)

    check(run)

    def tolerated(torch):
        return gradcheck(torch, unsteady(torch, 1e-9), (leaf(torch),), nondet_tol=1e-6, fast_mode=fast)

    check(tolerated)


# -- misuse -----------------------------------------------------------------------------------------------------------

MISUSES = {
    "nothing requires a gradient": lambda torch: gradcheck(torch, torch.sin, (torch.ones(2),)),
    "overlapping": lambda torch: gradcheck(torch, torch.sin, (leaf(torch, 1.0).expand(3),)),
    "no mode": lambda torch: gradcheck(torch, torch.sin, (leaf(torch),), check_backward_ad=False),
    "batched without backward": lambda torch: gradcheck(
        torch,
        torch.sin,
        (leaf(torch),),
        check_batched_grad=True,
        check_backward_ad=False,
        check_forward_ad=True,
    ),
    "batched without forward": lambda torch: gradcheck(
        torch, torch.sin, (leaf(torch),), check_batched_forward_grad=True
    ),
    "input modified": lambda torch: gradcheck(torch, lambda x: x.mul_(2), (leaf(torch),)),
    "error of the user": lambda torch: gradcheck(
        torch, custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g[5]), (leaf(torch),)
    ),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse(misuse):
    check(MISUSES[misuse])


@scenario.each()
def test_as_torch(scenario):
    check(scenario)


def test_single_precision_is_warned_of():
    def run(torch):
        x = torch.tensor([0.5, 2.0], dtype=torch.float32, requires_grad=True)
        with pytest.warns(UserWarning) as caught:
            result = gradcheck(torch, lambda x: x * x, (x,), eps=1e-2, atol=1e-1)
        return result, [str(w.message) for w in caught if "precision" in str(w.message)]

    check(run)


def test_the_error_is_a_class_of_its_own():
    from fxgrad.compat.autograd.gradcheck import GradcheckError

    assert issubclass(GradcheckError, RuntimeError)
    with pytest.raises(GradcheckError):
        gradcheck(fxt, wrong_backward(fxt), (leaf(fxt),))


def test_inputs_are_left_as_they_were():
    x = leaf(fxt)
    before = x.detach().numpy().copy()
    with pytest.raises(ZeroDivisionError):
        gradcheck(fxt, lambda x: x * x if x.detach().numpy()[0] == before[0] else 1 / 0, (x,))
    np.testing.assert_array_equal(x.detach().numpy(), before)
