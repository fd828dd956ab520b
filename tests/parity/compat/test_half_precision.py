"""Half precision is rounded once: numbers are not rounded to it before they multiply or divide."""

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import outcome

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


FILLS = {
    "masked_fill": lambda T, x, v: x.masked_fill(x > 0, v),
    "masked_fill_": lambda T, x, v: x.clone().masked_fill_(x > 0, v),
    "fill_": lambda T, x, v: x.clone().fill_(v),
    "full": lambda T, x, v: T.full((2,), v, dtype=x.dtype),
    "full of one": lambda T, x, v: T.full((1,), v, dtype=x.dtype),
    "full_like": lambda T, x, v: T.full_like(x, v),
    "new_full": lambda T, x, v: x.new_full((2,), v),
    "x[0] = v": lambda T, x, v: x.clone().__setitem__(0, v),
    "x[places] = v": lambda T, x, v: x.clone().__setitem__(T.tensor([0, 2]), v),
    "x[mask] = v": lambda T, x, v: x.clone().__setitem__(x > 0, v),
    "index_fill": lambda T, x, v: x.index_fill(0, T.tensor([0]), v),
    "scatter": lambda T, x, v: x.scatter(0, T.tensor([0]), v),
}


@pytest.mark.parametrize("number", [65504.0, -65519.0, 1e30, -1e39, float("inf")])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("fill", FILLS)
def test_numbers_beyond_half_precision_fill_or_are_refused_as_in_torch(fill, dtype, number):
    def entries(T):
        try:
            found = FILLS[fill](T, numbers(T, dtype)[:4], number)
        except RuntimeError as error:
            return str(error).partition("\n")[0]
        return None if found is None else found.double().tolist()

    assert entries(fxt) == entries(torch)


# -- numbers that half precision cannot hold ------------------------------------------
def calls_with(t, x, v) -> dict:
    """Calls of functions with a number beside a Tensor of half precision."""
    f, places = t.nn.functional, t.tensor([0])
    return {
        "clamp": lambda: t.clamp(x, max=v),
        "clamp_min": lambda: t.clamp_min(x, v),
        "clamp_": lambda: x.clone().clamp_(max=v),
        "pad": lambda: f.pad(x, (1, 1), value=v),
        "threshold": lambda: f.threshold(x, 0.5, v),
        "hardtanh": lambda: f.hardtanh(x, -1.0, abs(v)),
        "hardshrink": lambda: f.hardshrink(x, v),
        "add": lambda: t.add(x, x, alpha=v),
        "sub_": lambda: x.clone().sub_(x, alpha=v),
        "rsub": lambda: t.rsub(x, x, alpha=v),
        "+": lambda: x + v,
        "*": lambda: x * v,
        "addcmul": lambda: t.addcmul(x, x, x, value=v),
        "addmv": lambda: t.addmv(x, x[:, None].expand(2, 2), x, beta=v),
        "masked_fill": lambda: x.masked_fill(x > 0, v),
        "index_fill": lambda: x.index_fill(0, places, v),
        "fill_diagonal_": lambda: t.zeros(2, 2, dtype=x.dtype).fill_diagonal_(v),
        "full": lambda: t.full((2,), v, dtype=x.dtype),
        "setitem": lambda: x.clone().__setitem__(0, v),
        "where": lambda: t.where(x > 0, x, v),
        "leaky_relu": lambda: f.leaky_relu(x, v),
        "softshrink": lambda: f.softshrink(x, abs(v)),
        "logit": lambda: t.logit(x, v),
    }


@pytest.mark.parametrize("number", [1e5, -1e5, 100000, 1e38, float("inf"), 65504.0])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_out_of_range_are_refused_where_torch_refuses_them(dtype, number):
    ours, theirs = (
        calls_with(t, t.tensor([1.0, -2.0], dtype=getattr(t, dtype)), number) for t in (fxt, torch)
    )
    for name, call in theirs.items():
        for _ in range(2):  # again, by what is known of the first call
            assert (outcome(ours[name])[1] is None) == (outcome(call)[1] is None), name
