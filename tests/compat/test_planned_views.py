"""Views by plans: what a key or a shape means is found out once for operands of a kind, and never for another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import fxgrad.compat as torch


@given(st.data())
def test_a_key_of_integers_and_slices_is_numpy_s(data):
    shape = data.draw(array_shapes(max_dims=3, max_side=4))
    key = data.draw(basic_indices(shape, allow_newaxis=True))
    entries = key if isinstance(key, tuple) else (key,)
    array = np.arange(float(np.prod(shape))).reshape(shape)
    x = torch.from_numpy(array.copy()).requires_grad_()
    if any(isinstance(e, slice) and e.step is not None and e.step < 0 for e in entries):
        with pytest.raises(ValueError, match="step must be greater than zero"):
            x[key]
        return
    expected, mask = array[key], np.zeros(shape)
    mask[key] = 2.0
    for _ in range(2):  # planned, then by the plan
        part = x[key]
        np.testing.assert_array_equal(part.detach().numpy(), expected)
        assert part.shape == np.shape(expected)
        (gradient,) = torch.autograd.grad((2 * part).sum(), x)
        np.testing.assert_array_equal(gradient.numpy(), mask)
    with torch.no_grad():
        x[key] = -1.0
    array[key] = -1.0
    np.testing.assert_array_equal(x.detach().numpy(), array)


def test_bounds_and_sizes_that_are_tensors_are_read_at_every_call():
    x, n = torch.arange(6.0), torch.tensor(2)
    assert x[:n].tolist() == [0, 1] and x.view(n, -1).shape == (2, 3)
    n.add_(1)
    assert x[:n].tolist() == [0, 1, 2] and x.view(n, -1).shape == (3, 2)


def test_equal_numbers_of_other_types_are_other_keys():
    x = torch.arange(6.0).reshape(2, 3)
    assert x[1, 0].shape == () and x[True, 0].shape == (1, 3)
    assert x[1:2].shape == (1, 3) and x[1:2:1, 0].shape == (1,)
    assert x[np.int64(1), 0].item() == 3.0


def test_views_of_open_sizes_are_made_again_after_their_base_changed():
    x = torch.arange(6.0).requires_grad_()
    base = x * 1
    rows, last = base.view(2, -1), base[..., -1]
    base.mul_(3.0)
    assert rows.tolist() == [[0, 3, 6], [9, 12, 15]] and last.item() == 15.0
    (rows.sum() + last).backward()
    assert x.grad.tolist() == [3, 3, 3, 3, 3, 6]


@pytest.mark.parametrize("used", [[0], [1, 2], [2], [0, 1, 2]])
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("split", ["chunk", "unbind", "split_with_sizes"])
def test_pieces_of_which_some_are_used_have_zeros_elsewhere(split, dim, used):
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    arguments = {"chunk": (3, dim), "unbind": (dim,), "split_with_sizes": ([1, 1, 1], dim)}[split]
    for create_graph in (False, True):  # plain, and by the rule that is recorded
        pieces = getattr(x * 2, split)(*arguments)
        (gradient,) = torch.autograd.grad(sum(pieces[i].sum() for i in used), x, create_graph=create_graph)
        expected = np.zeros((3, 3))
        np.moveaxis(expected, dim, 0)[used] = 2.0
        np.testing.assert_array_equal(gradient.detach().numpy(), expected)


def test_a_dimension_that_is_inserted_has_torch_s_stride():
    x = torch.zeros(4, 6)
    for part, dim, strides in (
        (x, 0, (24, 6, 1)),
        (x[:, 1:2], 2, (6, 1, 1)),
        (x.t(), 1, (1, 24, 6)),
        (x[::2], 1, (12, 6, 1)),
    ):
        assert part.unsqueeze(dim).stride() == strides
    assert x[:1].expand(3, 6).stride() == (0, 1) and x[:, 1:2].expand(4, 5).stride() == (6, 0)


def test_inside_a_function_nothing_is_recorded_and_nothing_has_a_tangent():
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            y = x * x
            seen.append((y.requires_grad, torch.autograd.forward_ad.unpack_dual(y).tangent))
            return y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, ct):
            return 2 * ctx.saved_tensors[0] * ct

        @staticmethod
        def jvp(ctx, t):
            return 3 * t  # not the derivative: it is this rule that is used

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        y = Square.apply(torch.autograd.forward_ad.make_dual(x, torch.ones(2)))
        assert torch.autograd.forward_ad.unpack_dual(y).tangent.tolist() == [3, 3]
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4] and seen == [(False, None)] * 2
