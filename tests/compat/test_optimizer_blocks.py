"""Large parameters are updated block by block, with the numbers of an update of the whole."""

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.core import costs

SHAPE = (70, 60)
OPTIMIZERS = {
    "SGD": {},
    "SGD, momentum": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"weight_decay": 0.1},
    "Adam, amsgrad": {"amsgrad": True, "maximize": True},
    "AdamW": {},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Adagrad": {"lr_decay": 0.1},
    "Adadelta": {},
    "Adamax": {"weight_decay": 0.1},
    "NAdam": {},
    "RAdam": {"betas": (0.5, 0.6)},
    "ASGD": {"t0": 1},
    "Rprop": {},
}
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T.copy().T,
    "every other": lambda x: np.repeat(x, 2, 0)[::2],
}


def run(name, block, dtype, layout, monkeypatch, steps=3):
    """The parameter and the state of its optimizer after some steps."""
    monkeypatch.setattr(costs, "CACHE_ENTRIES", block)
    rng = np.random.default_rng(0)
    w = torch.from_numpy(LAYOUTS[layout](rng.standard_normal(SHAPE).astype(dtype))).requires_grad_()
    optimizer = getattr(torch.optim, name.split(",")[0])([w], lr=0.01, **OPTIMIZERS[name])
    for _ in range(steps):
        w.grad = torch.tensor(rng.standard_normal(SHAPE).astype(dtype))
        optimizer.step()
    return {"w": w.detach(), **optimizer.state[w]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_blocks_give_the_numbers_of_the_whole(name, layout, monkeypatch):
    for dtype in (np.float32, np.complex64):
        in_blocks = run(name, 1000, dtype, layout, monkeypatch)
        whole = run(name, 10**9, dtype, layout, monkeypatch)
        assert list(in_blocks) == list(whole)
        for key, x in whole.items():
            a, b = in_blocks[key].numpy(), x.numpy()
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_array_equal(a, b)


def test_a_block_is_updated_once_and_in_place(monkeypatch):
    monkeypatch.setattr(costs, "CACHE_ENTRIES", 1000)
    array = np.ones(4500, np.float32)
    w = torch.from_numpy(array).requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.5)
    for step in (1, 2):
        w.grad = torch.ones(4500)
        optimizer.step()
        assert optimizer.state[w]["step"].item() == step
    assert w.detach().numpy() is array or np.shares_memory(w.detach().numpy(), array)
    np.testing.assert_allclose(array, 0, atol=1e-6)
