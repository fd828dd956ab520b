"""Direct ways of operations on few plain entries: they give what the general ways give inside of transforms."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as torch

F = torch.nn.functional
MASK = torch.tensor([True, False, True, True, False, False])
ROWS = torch.tensor([[1.0, 0.5, 2.0, 4.0, 0.5, 2.0]] * 3)
CALLS = {
    "median": lambda x: x.median(),
    "nanmedian": lambda x: x.nanmedian(),
    "median of rows": lambda x: x.median(-1).values,
    "median of rows, kept": lambda x: x.median(1, keepdim=True).values,
    "median of columns": lambda x: x.median(0).values,
    "cummax": lambda x: x.cummax(1).values,
    "cummin": lambda x: x.cummin(0).values,
    "clamp": lambda x: x.clamp(-0.5, 1),
    "clamp by an order that is not": lambda x: x.clamp(1.0, -0.5),
    "clamp from 0": lambda x: x.clamp(0, 1.0),
    "masked_fill": lambda x: x.masked_fill(MASK, 2),
    "masked_fill of one": lambda x: x.masked_fill(MASK[:1], float("-inf")),
    "masked_scatter": lambda x: x.masked_scatter(MASK.expand(4, 6).clone(), torch.arange(24.0)),
    "index_add": lambda x: x.index_add(0, torch.tensor([3, 0, 3]), ROWS),
    "index_add, twice": lambda x: x.index_add(0, torch.tensor([3, 0, 3]), ROWS, alpha=2),
    "index_copy": lambda x: x.index_copy(-2, torch.tensor([3, 0, 1]), ROWS),
    "index_fill": lambda x: x.index_fill(1, torch.tensor([0, -1]), 3),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "repeat_interleave of all": lambda x: x.repeat_interleave(3),
    "take": lambda x: x.take(torch.tensor([[0, -1], [7, 7]])),
    "gather": lambda x: x.gather(1, torch.tensor([[0, 5], [1, 1], [2, 0], [3, 3]])),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "max_pool1d, apart": lambda x: F.max_pool1d(x[None], 3, 2, dilation=2),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None], 2, 1),
    "max_pool2d, cut": lambda x: F.max_pool2d(x[None], (3, 4)),
    "max_pool2d, padded": lambda x: F.max_pool2d(x[None], 2, padding=1),
    "max_pool2d, ceil": lambda x: F.max_pool2d(x[None], 4, ceil_mode=True),
}


def entries(kind: str) -> torch.Tensor:
    x = np.random.default_rng(0).standard_normal((4, 6)).astype("f4")
    if kind == "ties":
        x = np.round(x)
        x[x == 0] = np.array([0.0, -0.0] * 24, "f4")[: (x == 0).sum()]
    if kind == "nan":
        x[1, 2] = x[3, 0] = np.nan
    if kind == "infinite":
        x[0] = [np.inf, -np.inf, np.inf, 0, 1, -np.inf]
    made = torch.from_numpy(x)
    return made.mT.contiguous().mT if kind == "transposed" else made


@pytest.mark.parametrize("kind", ["distinct", "ties", "nan", "infinite", "transposed"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_those_of_the_general_way(name, kind):
    call, x = CALLS[name], entries(kind)
    expected = torch.func.jvp(call, (x,), (torch.zeros_like(x),))[0]
    weights = torch.arange(1.0, expected.numel() + 1).reshape(expected.shape)
    slope = torch.func.grad(lambda v: (call(v) * weights).sum())(x)
    for _ in range(2):
        assert call(x).is_contiguous() or name.startswith("clamp")  # which keeps the order
        np.testing.assert_array_equal(call(x).numpy(), expected.numpy())
        np.testing.assert_array_equal(np.signbit(call(x).numpy()), np.signbit(expected.numpy()))
        leaf = x.clone().requires_grad_()
        y = call(leaf)
        np.testing.assert_array_equal(y.detach().numpy(), expected.numpy())
        (y * weights).sum().backward()
        np.testing.assert_array_equal(leaf.grad.numpy(), slope.numpy())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float64])
def test_entries_among_others(dtype):
    x = torch.tensor([[5, 0, 3], [9, 3, 200]]).to(dtype)
    others = torch.tensor([3, 200, 4, 3]).to(dtype)
    for _ in range(2):
        assert torch.isin(x, others).tolist() == [[False, False, True], [False, True, True]]
        assert torch.isin(x, others, invert=True).tolist() == [[True, True, False], [True, False, False]]
        assert not torch.isin(x, others[:0]).any()
    nan = torch.tensor([float("nan"), 1.0])
    assert torch.isin(nan, nan).tolist() == [False, True]


def test_places_of_medians_and_running_extremes():
    x = torch.tensor([[2.0, 1.0, 2.0, 3.0], [4.0, 4.0, 1.0, 4.0]])
    for _ in range(2):
        values, indices = x.median(1)
        assert torch.equal(x.gather(1, indices[:, None])[:, 0], values)
        assert type(x.median(1)) is type(x.double().median(0))
        assert x.cummax(1).indices.tolist() == [[0, 0, 2, 3], [0, 1, 1, 3]]
        assert x.cummin(1).indices.tolist() == [[0, 1, 1, 1], [0, 1, 2, 2]]
        assert x.median(1, out=(values, indices)).values is values


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.index_copy(0, torch.tensor([4]), x[:1]), "out of bounds"),
        (lambda x: x.index_add(0, torch.tensor([-5]), x[:1]), "out of bounds"),
        (lambda x: x.index_fill(0, torch.tensor([4]), 1), "out of bounds"),
        (lambda x: x.take(torch.tensor([24])), "out of range"),
        (lambda x: x.masked_scatter(x == x, torch.ones(3)), "same number of elements"),
        (lambda x: x.masked_fill(x == x, 1e39), "without overflow"),
        (lambda x: x.repeat_interleave(-1), "negative"),
        (lambda x: x.median(2), "out of range"),
        (lambda x: F.max_pool2d(x[None], 7), "too small"),
    ],
)
def test_what_is_wrong_is_refused_every_time(call, message):
    for _ in range(2):
        with pytest.raises((RuntimeError, IndexError), match=message):
            call(entries("distinct"))


def test_results_in_place_are_those_of_new_tensors():
    x, rows, mask = entries("distinct"), ROWS, MASK.expand(4, 6)
    programs = {
        "masked_fill": (mask, 2),
        "masked_scatter": (mask, torch.arange(24.0)),
        "index_add": (0, torch.tensor([3, 0, 3]), rows),
        "index_copy": (0, torch.tensor([3, 0, 1]), rows),
        "index_fill": (1, torch.tensor([0, -1]), 3),
    }
    for name, given in programs.items():
        expected = getattr(x, name)(*given)
        for target in (x.clone(), x.repeat(1, 2)[:, 3:9].copy_(x), x.mT.contiguous().mT):
            version = target._version
            assert getattr(target, name + "_")(*given) is target
            assert torch.equal(target, expected) and target._version == version + 1
        leaf = torch.ones(4, 6, requires_grad=True)
        with pytest.raises(RuntimeError, match="leaf Variable"):
            getattr(leaf, name + "_")(*given)
        with torch.no_grad():
            getattr(leaf, name + "_")(*given)
    with torch.inference_mode():
        made = torch.zeros(3)
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        made.masked_fill_(torch.tensor([True, False, True]), 1)


def test_several_results_have_one_node():
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for _ in range(2):
        values, indices = x.max(1)
        assert indices.grad_fn is None and not indices.requires_grad
        assert values.grad_fn.name() == "MaxBackward0"
        least, greatest = torch.aminmax(x)
        assert least.grad_fn.next_functions == greatest.grad_fn.next_functions
        (values.sum() + least - greatest).backward()
