"""torch.testing: the same messages, to the letter, and Tensors of the same kind."""

from __future__ import annotations

import collections
import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

COMPARED = """
    T.ones(2), T.ones(2) + 1
    T.ones(2), T.ones(2) + 1e-6
    T.ones(2, 3), T.tensor([[1, 1, 1], [1, 2, 3.0]])
    T.ones(2), T.zeros(2)
    T.tensor(1.0), T.tensor(2.0)
    1.0, 2.0
    1, 2
    1.0, 1
    2.0, 2.0 + 1e-8
    1 + 1j, 1 + 2j
    True, False
    None, 1
    None, None
    float("nan"), float("nan")
    T.ones(2, dtype=T.int64), T.zeros(2, dtype=T.int64)
    T.tensor([True, False]), T.tensor([True, True])
    T.tensor(5, dtype=T.uint8), T.tensor(3, dtype=T.uint8)
    T.ones(2), T.ones(3)
    T.ones(2), T.ones(2, dtype=T.float64)
    T.ones(2), T.ones(2, dtype=T.float64) + 1, dict(check_dtype=False)
    T.ones(2, dtype=T.int32), T.ones(2) * 1.5, dict(check_dtype=False)
    T.ones(2, 3), T.ones(3, 2).t(), dict(check_stride=True)
    T.ones(2, 3), T.ones(3, 2).t()
    T.nn.Parameter(T.ones(2)), T.ones(2)
    T.ones(2, requires_grad=True), T.ones(2)
    [T.ones(2)], [T.ones(2) * 2]
    [1], (1,)
    [1], [1, 2]
    (1, 2), (1, 3)
    {"a": [T.ones(2), T.zeros(2)]}, {"a": [T.ones(2), T.ones(2)]}
    {"a": 1}, {"b": 1}
    C.OrderedDict(a=1), {"a": 2}
    [[1, 2], [3, T.ones(1)]], [[1, 2], [3, T.zeros(1)]]
    T.tensor([1.0, float("nan")]), T.tensor([1.0, float("nan")])
    T.tensor([1.0, float("nan")]), T.tensor([1.0, float("nan")]), dict(equal_nan=True)
    T.tensor([1.0, float("nan")]), T.tensor([1.0, 2.0])
    T.tensor([1.0, float("inf")]), T.tensor([1.0, -float("inf")])
    T.tensor([1.0, 2.0], dtype=T.float16), T.tensor([1.0, 2.5], dtype=T.float16)
    T.tensor([1.0, 2.0], dtype=T.bfloat16), T.tensor([1.0, 2.5], dtype=T.bfloat16)
    T.ones(2, dtype=T.complex64), T.ones(2, dtype=T.complex64) * 2
    T.zeros(0), T.zeros(0)
    T.arange(6.0).reshape(2, 3), T.arange(6.0).reshape(2, 3) + T.tensor([0, 0, 1e-3])
    T.ones(2), T.ones(2) + 1, dict(rtol=0.1, atol=0.1)
    T.ones(2), T.ones(2) + 1, dict(rtol=0, atol=0)
    T.ones(2), T.ones(2) + 1, dict(msg="hello")
    T.ones(2), T.ones(2) + 1, dict(msg=lambda m: "see " + m)
    T.ones(2), T.ones(2) + 1, dict(rtol=1)
    np.ones(2), np.zeros(2)
    np.float64(1), 1.0
    "a", "a"
    T.ones(2), [1.0, 1.0]
    T.ones(2), 1.0
    {1: 2}, [2]
    object(), object()
"""


def outcome(function, T, text: str) -> tuple[str, str]:
    """(the built-in class, the message without our lines and the names of classes) of what a comparison raises."""
    values = eval(f"({text},)", {"T": T, "np": np, "C": collections})
    options = values[2] if len(values) == 3 else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*values[:2], **options)
    except Exception as error:
        kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
        message = str(error).split("\n  at:")[0]
        if kind is TypeError:
            message = message.split("<class")[0]
        return kind.__name__, message
    return "fine", ""


@pytest.mark.parametrize("text", [line.strip() for line in COMPARED.strip().splitlines()])
def test_assert_close(text):
    ours, theirs = (outcome(T.testing.assert_close, T, text) for T in (fxt, torch))
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "T.ones(2), [1.0, 2.0]",
        "T.ones(2), T.ones(2, dtype=T.float64)",
        "T.ones(2), T.ones(2) + 2e-4",
        "T.ones(2), T.ones(2) + 5e-5",
        "1.0, T.tensor(float('nan'))",
        "T.tensor(float('nan')), T.tensor(float('nan'))",
    ],
)
def test_assert_allclose(text):
    ours, theirs = (outcome(T.testing.assert_allclose, T, text) for T in (fxt, torch))
    assert ours == theirs


DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
OPTIONS = [
    {},
    {"low": 1, "high": 3},
    {"noncontiguous": True},
    {"exclude_zero": True},
    {"low": -1e9, "high": 1e9},
    {"low": 2, "high": 1},
    {"low": float("nan")},
    {"requires_grad": True},
]


def make(T, dtype: str, options: dict):
    """A Tensor and what can be compared of it, or (None, ValueError)."""
    try:
        x = T.testing.make_tensor((3, 40), dtype=getattr(T, dtype), device="cpu", **options)
    except ValueError:
        return None, ValueError
    return x.detach(), (str(x.dtype), tuple(x.shape), x.stride(), x.requires_grad)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_make_tensor(dtype, options):
    (ours, mine), (theirs, other) = make(fxt, dtype, options), make(torch, dtype, options)
    assert mine == other
    if ours is None:
        return
    parts = [T.view_as_real(x) if x.is_complex() else x for T, x in ((fxt, ours), (torch, theirs))]
    limits = [(part.double().min().item(), part.double().max().item()) for part in parts]
    # 120 entries: as likely as not the ends are within a tenth of each other
    scale = max(map(abs, limits[1]))
    assert all(abs(a - b) <= 0.5 * scale for a, b in zip(*limits))
    assert not (options == {"exclude_zero": True} and bool((ours == 0).any()))
