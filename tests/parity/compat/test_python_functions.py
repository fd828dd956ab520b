"""Functions of Python's that Tensors call, functions that were removed, and orders of dimensions."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt


@pytest.mark.parametrize("t", [fxt, torch])
def test_functions_of_entries(t):
    assert t.arange(3).apply_(lambda v: v * 2).tolist() == [0, 2, 4]
    assert t.ones(2, 2).T.map_(t.arange(2.0), lambda a, b: a + b).tolist() == [[1, 2], [1, 2]]
    assert t.ones(2).map2_(t.ones(2), t.arange(2.0), lambda a, b, c: a + b + c).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        t.ones(2, requires_grad=True).apply_(abs)


def test_branches_and_loops():
    x = fxt.tensor(2.0, requires_grad=True)
    fxt.cond(x > 1, lambda v: v**3, lambda v: v, (x,)).backward()
    assert x.grad.item() == 12
    (y,) = fxt.while_loop(lambda v: v < 10, lambda v: (v * x,), (x,))
    assert fxt.autograd.grad(y, x)[0].item() == 32  # of x⁴


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_functions_that_were_removed(name):
    for t in (fxt, torch):
        with pytest.raises(RuntimeError, match="This function was deprecated since version"):
            getattr(t, name)(t.eye(2), t.eye(2))


def test_a_layout_by_the_order_of_dimensions():
    for t in (fxt, torch):
        made = t.empty_permuted((2, 3, 4), (0, 2, 1))
        assert (made.stride(), made.dim_order()) == ((12, 1, 3), (0, 2, 1))
        with pytest.raises(RuntimeError):
            t.empty_permuted((2, 3), (0, 0))
