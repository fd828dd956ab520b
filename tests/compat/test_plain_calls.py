"""Calls on plain Tensors, which are made directly: they are what the same calls are where there is more to decide."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad.compat as torch

VIEWS = {
    "view": lambda x: x.view(4, 6),
    "open": lambda x: x.view(2, -1),
    "reshape": lambda x: x.reshape(24),
    "tuple": lambda x: x.reshape((3, 8)),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, -1),
    "movedim": lambda x: x.movedim(0, 2),
    "mT": lambda x: x.mT,
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(5, -1, -1, 4),
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(2, -1),
    "entry": lambda x: x[1],
    "part": lambda x: x[..., 1:3],
    "new": lambda x: x[:, None],
    "both": lambda x: x[0, None, 1:],
}
OPERANDS = {
    "contiguous": lambda: torch.arange(24.0).reshape(2, 3, 4),
    "transposed": lambda: torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0),
    "strided": lambda: torch.arange(96.0).reshape(4, 3, 8)[::2, :, ::2],
    "integers": lambda: torch.arange(24).reshape(2, 3, 4),
    "half": lambda: torch.arange(24.0).reshape(2, 3, 4).to(torch.bfloat16),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_any_strides_are_the_same_the_second_time(name):
    """The first call finds out how, the next ones know it; operands of other strides and dtypes come between."""
    make, seen = VIEWS[name], {}
    for _ in range(2):
        for kind, operand in OPERANDS.items():
            x = operand()
            try:
                y = make(x)
            except RuntimeError as error:
                found = str(error).splitlines()[0]
            else:
                shares = y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
                assert shares or (name in ("reshape", "tuple", "flatten") and not x.is_contiguous())
                found = y.shape, y.stride(), y.storage_offset(), y.dtype, y.tolist()
            assert seen.setdefault(kind, found) == found


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_the_history_of_their_base(name):
    make = VIEWS[name]
    for _ in range(2):
        leaf = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
        base = leaf * 1
        view = make(base)
        with torch.no_grad():
            unrecorded = make(base)
        assert unrecorded.grad_fn is None and view.grad_fn.next_functions[0][0] is not None
        assert view._is_view() and view._base is base
        base.mul_(3)
        view.sum().backward()
        expected = torch.zeros(2, 3, 4)
        counts = make(torch.arange(24).reshape(2, 3, 4)).flatten()
        expected.view(-1).index_add_(0, counts, torch.ones(counts.numel()) * 3)
        assert torch.equal(leaf.grad, expected)
        with pytest.raises(RuntimeError, match=r"is a view|being modified inplace|in-place"):
            unrecorded.add_(1)


def test_a_view_of_a_view_of_a_changed_base():
    x = torch.ones(4, 4, requires_grad=True)
    y = x * 2
    for _ in range(2):
        row = y[1]
        pair = row[1:3]
        y.mul_(2)
        pair.mul_(5)
        assert row.grad_fn is not None and pair._base is y
    y.sum().backward()
    expected = torch.full((4, 4), 8.0)
    expected[1, 1:3] = 8.0 * 25
    assert torch.equal(x.grad, expected)


@settings(max_examples=25)
@given(st.data())
def test_joins_are_numpy_s(data):
    ndim = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(0, 3), min_size=ndim, max_size=ndim)))
    count, axis = data.draw(st.integers(1, 4)), data.draw(st.integers(-ndim, ndim - 1))
    arrays = [np.arange(float(np.prod(shape))).reshape(shape) + 10 * i for i in range(count)]
    leaves = [torch.from_numpy(a).requires_grad_() for a in arrays]
    order = data.draw(st.permutations(range(ndim)))
    for _ in range(2):
        for name, join in (("cat", np.concatenate), ("stack", np.stack)):
            made = getattr(torch, name)([x.permute(*order) for x in leaves], axis)
            expected = join([a.transpose(order) for a in arrays], axis)
            np.testing.assert_array_equal(made.detach().numpy(), expected)
            assert made.is_contiguous() and made.data_ptr() not in [x.data_ptr() for x in leaves if x.numel()]
            weights = torch.arange(float(made.numel())).reshape(made.shape)
            for x, gradient in zip(leaves, torch.autograd.grad((made * weights).sum(), leaves)):
                where = torch.eye(count)[[y is x for y in leaves].index(True)]
                parts = [torch.full(x.permute(*order).shape, float(w)) for w in where]
                mask = getattr(torch, name)(parts, axis)
                assert gradient.sum().item() == (mask * weights).sum().item()


def test_joins_that_do_not_fit_are_refused_every_time():
    x, y = torch.ones(2, 3), torch.ones(3, 2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
            torch.cat([x, y])
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            torch.stack([x, y], dim=1)
        with pytest.raises(TypeError, match="must be int, not bool"):
            torch.cat([x, y.t()], dim=True)
        assert torch.cat([x, y.t()], axis=1).shape == (2, 6)
        assert torch.cat([x, y.t().double()]).dtype is torch.float64
        assert torch.cat((torch.ones(0), x)).shape == (2, 3)


def test_rows_at_places():
    table = torch.arange(12.0).reshape(4, 3).requires_grad_()
    places = torch.tensor([[3, -1], [0, 0]])
    for _ in range(2):
        rows = table[places]
        assert rows.tolist() == table.detach().numpy()[places.numpy()].tolist()
        (gradient,) = torch.autograd.grad(rows.sum(), table)
        assert gradient[:, 0].tolist() == [2, 0, 0, 2]
        with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
            table[torch.tensor([4])]
        rows = table[places]
        places[0, 0] = 3
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            rows.sum().backward()


def test_what_is_written_is_counted_and_broadcast():
    x = torch.zeros(3, 4)
    saved = (torch.ones(3, 4, requires_grad=True) * x).sum()
    x[1, ::2] = torch.tensor([1.0, 2.0])
    x[-1] = 7
    x[:, 3] = torch.tensor(5, dtype=torch.int64)
    assert x.tolist() == [[0, 0, 0, 5], [1, 0, 2, 5], [7, 7, 7, 5]] and x._version == 3
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.backward()
    weights = torch.ones(3, requires_grad=True)
    x[:, 0] = weights
    assert x.grad_fn is not None
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        weights[0] = 1.0
    with torch.no_grad():
        weights[0] = 2.0
    with torch.inference_mode():
        hidden = torch.zeros(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        hidden[0] = 1.0
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1).expand(3)[:] = torch.ones(3)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(2, dtype=torch.uint8)[0] = 300


def test_warnings_of_keys_show_the_line():
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            x[[slice(None), 0]]
            x[[slice(None), 0]] = 1.0
            _ = torch.zeros(2, 3, 4).T
        assert [w.filename for w in found] == [__file__] * 3


def test_views_in_threads():
    x, wrong = torch.arange(24.0).reshape(4, 6).requires_grad_(), []

    def use(start: int) -> None:
        for i in range(200):
            part = torch.stack([x[i % 4], x.t()[:, (i + start) % 4]]).view(3, 4)
            if part.shape != (3, 4) or part[0, 0].item() != 6.0 * (i % 4):
                wrong.append(i)

    threads = [threading.Thread(target=use, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)
