"""Entries at places, read and written: Tensors of positions and masks as keys, with numbers and Tensors as values, give
torch's results, versions and refusals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

DTYPES = ("float32", "float64", "int64", "uint8", "bool", "complex64")
KEYS = {
    "rows": lambda T, x: T.tensor([2, 0]),
    "rows twice": lambda T, x: T.tensor([[1, 1], [-1, 0]]),
    "no rows": lambda T, x: T.tensor([], dtype=T.int64),
    "a row that is not there": lambda T, x: T.tensor([0, 3]),
    "entries": lambda T, x: (T.tensor([0, 2]), T.tensor([-1, 1])),
    "entries that are not there": lambda T, x: (T.tensor([0, 2]), T.tensor([4, 1])),
    "entries, broadcast": lambda T, x: (T.tensor([0, 2]), T.tensor([1])),
    "int32": lambda T, x: T.tensor([2, 0], dtype=T.int32),
    "mask": lambda T, x: T.tensor(MASK),
    "mask of rows": lambda T, x: T.tensor([True, False, True]),
    "mask in a tuple": lambda T, x: (T.tensor(MASK),),
    "no entry": lambda T, x: T.zeros(3, 4, dtype=T.bool),
    "mask of another shape": lambda T, x: T.tensor([True, False]),
}
MASK = np.arange(12).reshape(3, 4) % 5 < 2
VALUES = {
    "number": lambda T, x: 1,
    "fraction": lambda T, x: 2.5,
    "negative": lambda T, x: -3,
    "large": lambda T, x: 300,
    "too large": lambda T, x: 1e300,
    "nan": lambda T, x: float("nan"),
    "truth": lambda T, x: True,
    "array": lambda T, x: T.tensor(7).to(x.dtype),
    "row": lambda T, x: T.arange(4).to(x.dtype),
    "of another dtype": lambda T, x: T.ones(4, dtype=T.float16),
    "of another shape": lambda T, x: T.arange(3).to(x.dtype),
    "of its shape": lambda T, x: (T.arange(8).reshape(2, 4) + 20).to(x.dtype),
}
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.t().clone().t(),
    "a view": lambda x: x.repeat(2, 1)[1:4],
}


def outcome(call):
    try:
        return call()
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def assert_same(ours, theirs, what):
    assert type(ours) is type(theirs), (what, ours, theirs)
    if isinstance(theirs, str):
        assert ours == theirs, what
    else:
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=str(what))


@pytest.mark.parametrize("dtype, key", [*product(DTYPES, KEYS)])
def test_what_is_read_and_its_gradient(dtype, key):
    for layout in LAYOUTS:
        found = []
        for T in (fxt, torch):

            def read(T=T, layout=layout):
                x = LAYOUTS[layout](T.arange(12).reshape(3, 4).to(getattr(T, dtype)))
                if not x.is_floating_point():
                    return [x[KEYS[key](T, x)]]
                x.requires_grad_()
                y = x[KEYS[key](T, x)]
                (slope,) = T.autograd.grad((y**3).sum(), x, create_graph=True)
                return [y.detach(), slope.detach(), T.autograd.grad(slope.sum(), x)[0]]

            found.append(outcome(read))
        assert_same(*found, (layout,))


# torch stores 2⁶³ or 0 for a number that no 64 bits hold, where it does not refuse it, as here.
@pytest.mark.parametrize("dtype, key", [*product(DTYPES, KEYS)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_written_and_the_version(dtype, key):
    values = ["number"] if key == "mask of another shape" else VALUES  # of two mistakes either may be told
    for value, layout in product(values, LAYOUTS):
        found = []
        for T in (fxt, torch):

            def write(T=T, value=value, layout=layout):
                x = LAYOUTS[layout](T.arange(12).reshape(3, 4).to(getattr(T, dtype)))
                before = x._version
                x[KEYS[key](T, x)] = VALUES[value](T, x)
                return [x, x._version - before]

            found.append(outcome(write))
        assert_same(*found, (value, layout))


@pytest.mark.parametrize("key", ["rows", "entries", "mask", "mask of rows"])
def test_what_is_written_where_there_is_a_history(key):
    found = []
    for T in (fxt, torch):
        x = T.arange(12.0).reshape(3, 4).requires_grad_()
        y = x * 1
        y[KEYS[key](T, x)] = 0
        y[KEYS[key](T, x)] = x[0, 1] * 2
        (y**2).sum().backward()
        with T.no_grad():
            x[KEYS[key](T, x)] = 5
        kept = T.arange(12.0).reshape(3, 4)
        z = x * kept
        kept[KEYS[key](T, x)] = 1
        found.append([x.grad, x.detach(), outcome(lambda z=z: z.sum().backward())])
    (*ours, refused), (*theirs, wanted) = found
    assert_same(ours, theirs, key)
    assert refused == wanted == "RuntimeError"
