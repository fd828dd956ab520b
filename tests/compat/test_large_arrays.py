"""Elementwise operations on so many entries that threads compute them together."""

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.core.costs import SHARED_ENTRIES
from fxgrad.kernels.native import threads

OPERATIONS = {
    "tanh": torch.tanh,
    "exp": torch.exp,
    "log, with infinities and NaN": torch.log,
    "sum of two": lambda x: x + x,
    "with a number": lambda x: 3 - x,
    "with a broadcast row": lambda x: x * x[0],
    "transposed": lambda x: x.T + x.T,
    "mixed order": lambda x: x + x.reshape(x.shape[::-1]).T,
    "sign": torch.sign,
}
SHAPES = [(64, SHARED_ENTRIES // 64 + 1), (1 + SHARED_ENTRIES // 700, 701)]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients_do_not_depend_on_the_number_of_threads(name, dtype, shape, monkeypatch):
    data = torch.tensor(np.random.default_rng(0).standard_normal(shape), dtype=dtype)
    found = []
    for number in (1, 3):
        monkeypatch.setattr(threads, "thread_count", lambda number=number: number)
        x = data.clone().requires_grad_()
        y = OPERATIONS[name](x)
        y.backward(torch.ones_like(y))
        found.append((y.detach().numpy(), OPERATIONS[name](data).numpy(), x.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    if name in ("tanh", "exp") and dtype is not torch.float16:
        np.testing.assert_array_equal(found[1][0], getattr(np, name)(data.numpy()))


def test_nothing_warns():
    with np.errstate(all="raise"):
        assert torch.log(torch.full((SHARED_ENTRIES + 1,), -1.0)).isnan().all()
