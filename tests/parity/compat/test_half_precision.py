"""Half precision is rounded once: numbers are not rounded to it before they multiply or divide."""

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

STEPS = {
    "x * 0.37": lambda T, x: x * 0.37,
    "0.37 * x": lambda T, x: 0.37 * x,
    "mul_": lambda T, x: x.clone().mul_(0.37),
    "out=": lambda T, x: T.mul(x, 0.37, out=T.empty_like(x)),
    "x / 0.37": lambda T, x: x / 0.37,
    "div_": lambda T, x: x.clone().div_(0.37),
    "floor": lambda T, x: T.div(x, 0.3, rounding_mode="floor"),
    "_foreach_mul": lambda T, x: T._foreach_mul([x], 0.37)[0],
    "lerp": lambda T, x: x.lerp(x.flip(0), 0.1),
    "lerp_": lambda T, x: x.clone().lerp_(x.flip(0), 0.1),
    "sigmoid": lambda T, x: x.sigmoid(),
    "erf": lambda T, x: x.erf(),
    "x ** 1.7": lambda T, x: x.abs() ** 1.7,
    "x + 0.37": lambda T, x: x + 0.37,
    "integers": lambda T, x: x * 3 / 7,
}


def numbers(T, dtype):
    return T.tensor(np.sin(np.sqrt(np.arange(1.0, 501.0)))).to(getattr(T, dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("step", STEPS)
def test_numbers_are_as_exact_as_in_torch(step, dtype):
    found, wanted = (STEPS[step](T, numbers(T, dtype)) for T in (fxt, torch))
    assert str(found.dtype) == str(wanted.dtype)
    assert found.double().tolist() == wanted.double().tolist()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_and_transforms_round_once_too(dtype):
    def gradient(T):
        x, w = numbers(T, dtype).requires_grad_(), numbers(T, dtype).flip(0)
        (x * 0.37 / 0.9 * w).sum().backward()
        return x.grad.double().tolist()

    assert gradient(fxt) == gradient(torch)
    x, wanted = numbers(fxt, dtype), (numbers(torch, dtype) * 0.37).double().tolist()
    assert fxt.func.jvp(lambda x: x * 0.37, (x,), (x,))[1].double().tolist() == wanted
    assert fxt.func.vmap(lambda x: x * 0.37)(x).double().tolist() == wanted


def test_numbers_beyond_half_precision_multiply():
    assert (fxt.tensor([1e-4], dtype=fxt.float16) * 1e6).item() == (torch.tensor([1e-4]).half() * 1e6).item()
