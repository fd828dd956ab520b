"""Complex autograd by torch's convention: gradients are conjugate Wirtinger derivatives, wherever they come out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch about its own jit

Z = np.array([0.3 - 1.2j, -0.7 + 0.4j, 1.1 + 0.9j])
W = np.array([1.0 + 2.0j, -0.5 + 0.1j, 0.3 - 0.8j])

# Functions of (library, complex Tensor) with a complex result: holomorphic, of the conjugate, and neither.
FUNCTIONS = {
    "square": lambda torch, z: z * z,
    "exponential": lambda torch, z: torch.exp(z * (0.3 + 0.2j)),
    "conjugate": lambda torch, z: z.conj() * 2,
    "modulus": lambda torch, z: torch.complex(z.abs(), z.real * z.imag),
    "mixture": lambda torch, z: z * z.conj() * z + torch.sin(z),
    "angle": lambda torch, z: torch.polar(z.abs(), z.angle() * 2),
    "real and back": lambda torch, z: torch.view_as_complex(torch.view_as_real(z) * 3) * z.real,
}
functions = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())


def leaf(torch, values=Z):
    return torch.from_numpy(np.array(values)).requires_grad_()


def check(program):
    """Run a program, a function of the library, under both; it returns Tensors."""
    ours, theirs = ([t.detach().resolve_conj().numpy() for t in program(library)] for library in (fxt, torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@functions
def test_backward_of_a_real_number(function):
    def program(torch):
        z = leaf(torch)
        y = function(torch, z)
        (y.real * 0.7 + y.imag).sum().backward()
        return [z.grad]

    check(program)


@functions
def test_grad_outputs(function):
    def program(torch):
        z = leaf(torch)
        return torch.autograd.grad(function(torch, z), z, torch.from_numpy(W.copy()))

    check(program)


@functions
def test_backward_of_a_complex_tensor(function):
    def program(torch):
        z = leaf(torch)
        function(torch, z).backward(torch.from_numpy(W.copy()))
        return [z.grad]

    check(program)


@functions
def test_double_backward(function):
    def program(torch):
        z, w = leaf(torch), leaf(torch, W)
        (g,) = torch.autograd.grad(function(torch, z), z, w, create_graph=True)
        cotangent = torch.from_numpy(W.conj().copy())
        return torch.autograd.grad(g, (z, w), cotangent, allow_unused=True, materialize_grads=True)

    check(program)


@functions
def test_third_order(function):
    def program(torch):
        z = leaf(torch)
        y = function(torch, z).abs().sum()
        for _ in range(2):
            (g,) = torch.autograd.grad(y, z, create_graph=True)
            y = (g.real * 0.3 - g.imag * g.real).sum()
        return torch.autograd.grad(y, z)

    check(program)


def test_hooks_see_and_replace_gradients():
    def program(torch):
        seen = []
        z = leaf(torch)
        y = z * (1 + 2j)
        y.retain_grad()
        z.register_hook(lambda g: seen.append(g.clone()))
        y.register_hook(lambda g: g * 1j)
        (y * y.conj() * (2 - 1j)).imag.sum().backward()
        return [*seen, y.grad, z.grad]

    check(program)


def test_real_parameters_get_real_gradients():
    def program(torch):
        x, z = leaf(torch, Z.real), leaf(torch)
        y = (x * z * (1 + 1j)).sum()
        return torch.autograd.grad(y, (x, z), torch.tensor(1 - 2j, dtype=torch.complex128))

    check(program)


def test_gradient_of_a_complex_scalar_needs_a_cotangent():
    def program(torch):
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs"):
            (leaf(torch) ** 2).sum().backward()
        return []

    check(program)


@functions
def test_functional_vjp_and_jvp(function):
    def program(torch):
        z, w = torch.from_numpy(Z.copy()), torch.from_numpy(W.copy())
        vjp = torch.autograd.functional.vjp(lambda z: function(torch, z), z, w)
        jvp = torch.autograd.functional.jvp(lambda z: function(torch, z), z, w)
        return [*vjp, *jvp]

    check(program)


@functions
def test_func_transforms(function):
    def program(torch):
        z, w = torch.from_numpy(Z.copy()), torch.from_numpy(W.copy())
        value, pullback = torch.func.vjp(lambda z: function(torch, z), z)
        (gradient,) = pullback(w)
        jvp = torch.func.jvp(lambda z: function(torch, z), (z,), (w,))
        return [value, gradient, *jvp, torch.func.grad(lambda z: function(torch, z).abs().sum())(z)]

    check(program)


@functions
def test_forward_mode(function):
    def program(torch):
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.from_numpy(Z.copy()), torch.from_numpy(W.copy()))
            return [*forward_ad.unpack_dual(function(torch, dual))]

    check(program)


def test_custom_functions_get_and_give_torch_gradients():
    def program(torch):
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, z, factor):
                ctx.save_for_backward(factor)
                return z * factor

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0].conj(), None

        z = leaf(torch)
        factor = torch.from_numpy(W.copy())
        y = Scale.apply(z, factor)
        return torch.autograd.grad((y * y).abs().sum(), z)

    check(program)
