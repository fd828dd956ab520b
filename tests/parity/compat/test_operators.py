"""Python's operators and conversions on Tensors: the same code under torch and fxgrad.compat."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

BOTH = pytest.mark.parametrize("t", [torch, fxt], ids=["torch", "fxgrad"])


@BOTH
def test_conversions(t):
    x = t.tensor([[2.5]])
    assert (int(x), float(x), complex(x), bool(x)) == (2, 2.5, 2.5 + 0j, True)
    assert [10, 20, 30][t.tensor(1)] == 20
    assert range(5)[t.tensor([3])] == 3
    assert complex(t.tensor(1 - 2j)) == 1 - 2j
    assert float(t.tensor(2 + 0j)) == 2.0
    with pytest.raises(RuntimeError):
        float(t.tensor(1j))
    assert not t.tensor(0) and t.tensor(-1.0)


@BOTH
def test_membership_and_equality(t):
    x = t.tensor([1.0, 2.0])
    assert 2 in x and 3 not in x and t.tensor(1.0) in x
    with pytest.raises(RuntimeError):
        "a" in x  # noqa: B015
    assert (x == "a") is False and (x != None) is True  # noqa: E711
    assert (x == x).tolist() == [True, True]
    assert len({x, x, t.tensor([1.0, 2.0])}) == 2
    assert t.equal(x, t.tensor([1.0, 2.0])) and not t.equal(x, t.tensor([1.0]))
    assert t.allclose(x, x + 1e-9) and not x.allclose(x + 1)


@BOTH
def test_reversed(t):
    assert reversed(t.tensor([[1, 2], [3, 4]])).tolist() == [[3, 4], [1, 2]]


@BOTH
@pytest.mark.parametrize("symbol", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_operators_in_place_return_the_tensor_and_are_seen_by_others(t, symbol):
    memory = np.array([3.0, 5.0])
    x = t.from_numpy(memory)
    y = getattr(operator, symbol)(x, 2)
    assert y is x
    expected = getattr(operator, symbol)(np.array([3.0, 5.0]), 2)
    assert memory.tolist() == expected.tolist()


@BOTH
def test_bits_in_place(t):
    x = t.tensor([6, 5])
    x &= 3
    x |= 8
    x ^= 1
    x <<= 2
    x >>= 1
    assert x.tolist() == [22, 16]


@BOTH
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")  # torch's
def test_arrays_are_operands(t):
    x = t.tensor([1.0, 2.0], dtype=t.float64)
    assert (x + np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert (np.float64(2) * x).tolist() == [2.0, 4.0]


@BOTH
def test_in_place_under_no_grad_counts_as_a_modification(t):
    w = t.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    version = w._version
    with t.no_grad():
        w.add_(t.ones(2), alpha=-0.5)
        w.mul_(2)
        w.addcmul_(t.ones(2), t.ones(2), value=3)
        w.sqrt_()
    assert w._version == version + 4
    assert w.tolist() == [2.0, pytest.approx(6**0.5)]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
