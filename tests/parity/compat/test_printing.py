"""Tensors as text: letter by letter as torch writes them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

LIBRARIES = (torch, fxt)
SHAPES = [
    (),
    (1,),
    (7,),
    (30,),
    (3, 4),
    (0,),
    (0, 3),
    (2, 3, 4),
    (1, 1, 2, 2),
    (1001,),
    (40, 40),
    (2000, 2),
    (3, 3, 200),
]
OPTIONS = [
    {"precision": 2},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 40},
    {"threshold": 5},
    {"edgeitems": 1, "threshold": 2},
    {"profile": "short"},
    {"profile": "full"},
]


def rng(shape):
    return np.random.default_rng(len(shape))


# What is printed: shape → array.
ARRAYS = {
    "normal": lambda s: rng(s).standard_normal(s) * 10,
    "single": lambda s: rng(s).standard_normal(s).astype("f4"),
    "sizes": lambda s: (rng(s).standard_normal(s) * 10.0 ** rng(s).integers(-6, 9, s)).astype("f4"),
    "whole": lambda s: np.round(rng(s).standard_normal(s) * 100).astype("f4"),
    "half": lambda s: rng(s).standard_normal(s).astype("f2"),
    "special": lambda s: np.where(
        rng(s).random(s) < 0.3, np.nan, np.where(rng(s).random(s) < 0.4, -np.inf, 1.5)
    ),
    "integer": lambda s: rng(s).integers(-1000, 1000, s),
    "byte": lambda s: rng(s).integers(0, 255, s).astype("u1"),
    "bool": lambda s: rng(s).integers(0, 2, s).astype(bool),
    "complex": lambda s: (rng(s).standard_normal(s) + 100j * rng(s).standard_normal(s)).astype("c8"),
    "complex whole": lambda s: (
        np.round(rng(s).standard_normal(s) * 3) + 1j * np.round(rng(s).standard_normal(s))
    ),
}


@pytest.fixture(autouse=True)
def default_options():
    yield
    for T in LIBRARIES:
        T.set_printoptions(profile="default")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(kind, shape):
    array = np.asarray(ARRAYS[kind](shape))
    assert repr(fxt.from_numpy(array)) == repr(torch.from_numpy(array))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["normal", "integer", "bool", "complex"])
def test_options(kind, options):
    for T in LIBRARIES:
        T.set_printoptions(**options)
    for shape in [(20,), (4, 5), (2, 3, 4)]:
        array = ARRAYS[kind](shape)
        assert repr(fxt.from_numpy(array)) == repr(torch.from_numpy(array))


TENSORS = [
    "T.ones(2, requires_grad=True)",
    "T.ones(2, requires_grad=True) * 2",
    "(T.ones(2, requires_grad=True) * 2).sum()",
    "T.ones(30, requires_grad=True).exp()",
    "T.ones(11, dtype=T.float64, requires_grad=True).view(11)",
    "T.tensor([], dtype=T.int32)",
    "T.zeros(0, 3, dtype=T.int64)",
    "T.ones(2, dtype=T.bfloat16)",
    "T.tensor([1e-5, 1])",
    "T.tensor([1e9, 1])",
    "T.tensor([0.1, 2000.0])",
    "T.tensor(1e10)",
    "T.tensor([complex(0, -0.0), complex(float('nan'), 1)])",
    "T.nn.Parameter(T.ones(2, 2))",
    "T.nn.Parameter(T.ones(2), requires_grad=False)",
    "T.Size([2, 3])",
    "T.nn.Parameter(T.ones(2)).unbind()",
]


@pytest.mark.parametrize("code", TENSORS)
def test_tensors(code):
    ours, theirs = (repr(eval(code, {"T": T})) for T in LIBRARIES)
    assert ours == theirs


def test_formatted():
    def run(T):
        with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor\.__format__"):
            f"{T.ones(2):.3f}"
        return f"{T.tensor(1 / 3):.3f} {T.tensor(7):>4} {T.ones(2)} {T.tensor(1.5)!s} {T.tensor(2.5)}"

    assert run(fxt) == run(torch)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, when it is first asked for a dual
def test_a_dual():
    def run(T):
        with T.autograd.forward_ad.dual_level():
            return repr(T.autograd.forward_ad.make_dual(T.ones(2), T.zeros(2)))

    assert run(fxt) == run(torch)


def test_default_dtype_is_not_written():
    def run(T):
        T.set_default_dtype(T.float64)
        try:
            return repr([T.ones(1), T.ones(1, dtype=T.float32), T.tensor(1j), T.tensor([])])
        finally:
            T.set_default_dtype(T.float32)

    assert run(fxt) == run(torch)


def test_traced():
    texts = []

    def f(x):
        texts.append(repr(x * 2))
        return x

    fxt.func.vmap(f)(fxt.ones(2, 3))
    assert texts == [
        "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[2., 2., 2.],\n            [2., 2., 2.]])\n)"
    ]


def test_print_options_are_known():
    fxt.set_printoptions(precision=2, linewidth=50)
    assert fxt.get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 50,
        "sci_mode": None,
    }
    with pytest.raises(ValueError, match="no profile"):
        fxt.set_printoptions(profile="long")
