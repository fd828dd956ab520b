"""`x[...]` and `x[...] = v` under torch and fxgrad.compat: values, gradients, nodes, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy, attempt, check_same, outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Keys as functions of the library; for a Tensor of shape (3, 4, 2).
KEYS = {
    "0": lambda t: 0,
    "-1": lambda t: -1,
    "tuple": lambda t: (1, 2, 1),
    "slice": lambda t: slice(1, None),
    "steps": lambda t: (slice(None, None, 2), slice(3, 0)),
    "all": lambda t: slice(None),
    "dots": lambda t: (..., 1),
    "only-dots": lambda t: ...,
    "none": lambda t: (None, 1, None, ..., None),
    "true": lambda t: True,
    "false": lambda t: False,
    "list": lambda t: [0, 2],
    "lists": lambda t: ([0, 2], [1, 1]),
    "apart": lambda t: ([0, 2], slice(None), [1, 0]),
    "beside-int": lambda t: (0, slice(None), [1, 0]),
    "tensor": lambda t: t.tensor([[0], [2]]),
    "tensors": lambda t: (slice(1), t.tensor([[0], [1]]), t.tensor([1, 0])),
    "number": lambda t: t.tensor(1),
    "numbers": lambda t: (t.tensor(1), slice(None), t.tensor(-1)),
    "empty": lambda t: t.tensor([], dtype=t.int64),
    "mask": lambda t: t.tensor([True, False, True]),
    "matrix-mask": lambda t: t.tensor(np.arange(12).reshape(3, 4) % 3 == 0),
    "mask-beside": lambda t: (t.tensor([True, False, True]), [0, 1]),
    "mask-of-none": lambda t: t.tensor([False, False, False]),
    "late-mask": lambda t: (slice(None), t.tensor([True, False, True, False])),
    "array": lambda t: np.array([2, 0]),
    "int32": lambda t: t.tensor([2, 0], dtype=t.int32),
    "repeated": lambda t: [1, 1, 1],
}


def source(library):
    return library.from_numpy(np.arange(24.0).reshape(3, 4, 2) / 7 - 1).requires_grad_()


def read(library, key):
    x = source(library)
    y = (x * 1)[key(library)]
    (y * y).sum().backward()
    return y, x.grad, y._is_view(), y.grad_fn.name().partition("Backward")[0]


@pytest.mark.parametrize("name", KEYS)
def test_reads(name):
    ours, theirs = read(fxt, KEYS[name]), read(torch, KEYS[name])
    for a, b in zip(ours[:2], theirs[:2]):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_array_equal(as_numpy(a), as_numpy(b))
    assert ours[2:] == theirs[2:]


def written(library, key, value):
    x = source(library)
    w = library.from_numpy(np.array(0.5)).requires_grad_()
    y = x * 1
    y[key(library)] = value(library, w)
    (y * y).sum().backward()
    return y, x.grad, w.grad, y._version


VALUES = {
    "number": lambda t, w: 3,
    "tensor": lambda t, w: w * 2,
    "row": lambda t, w: w * t.ones(1, 1, 1, 2, dtype=t.float64),
    "single": lambda t, w: (w * 2).to(t.float32),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", [n for n in KEYS if n != "repeated"])
def test_writes(name, value):
    ours, error = outcome(lambda: written(fxt, KEYS[name], VALUES[value]))
    theirs, expected = outcome(lambda: written(torch, KEYS[name], VALUES[value]))
    assert error is expected
    if error is None:
        for a, b in zip(ours[:3], theirs[:3]):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(as_numpy(a), as_numpy(b), rtol=1e-6)
        assert ours[3] == theirs[3]


# Entries of keys, for a Tensor of shape (3, 3, 2).
ENTRIES = {
    "0": lambda t: 0,
    "slice": lambda t: slice(1, None),
    "none": lambda t: None,
    "dots": lambda t: ...,
    "true": lambda t: True,
    "false": lambda t: False,
    "list": lambda t: [1, 0],
    "nested": lambda t: [[0], [1]],
    "no-tuple": lambda t: (),
    "no-list": lambda t: [],
    "range": lambda t: range(2),
    "truths": lambda t: [True, False, True],
    "array": lambda t: np.array([1, 0]),
    "truth": lambda t: np.array(True),
    "number": lambda t: t.tensor(1),
    "tensor": lambda t: t.tensor([1, 0]),
    "mask": lambda t: t.tensor([True, False, True]),
    "set": lambda t: t.tensor(True),
    "unset": lambda t: t.tensor(False),
    "byte": lambda t: t.tensor(1, dtype=t.uint8),
}


def got(library, x, key):
    return x[key]


def given_number(library, x, key):
    x[key] = 7.5
    return x


def given_tensor(library, x, key):
    x[key] = library.tensor(0.5, dtype=library.float64, requires_grad=True) * 2
    return x


def put(library, x, key):
    return x.index_put([*key], library.tensor(7.5, dtype=library.float64))


def used(library, step, make_key):
    """(result, gradient) of one use of a key."""
    x = library.arange(18.0, dtype=library.float64).view(3, 3, 2).requires_grad_()
    y = step(library, x * 1, make_key(library))
    (y * y).sum().backward()
    return y, x.grad


def differs(step, make_key) -> bool:
    ours, error = outcome(lambda: used(fxt, step, make_key))
    theirs, expected = outcome(lambda: used(torch, step, make_key))
    if error is not expected or error is not None:
        return error is not expected
    return any(
        tuple(a.shape) != tuple(b.shape) or not np.array_equal(as_numpy(a), as_numpy(b))
        for a, b in zip(ours, theirs)
    )


# torch counts a dimension for the array behind the dots.
ODD = {("dots", "truth")}


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("first", ENTRIES)
def test_keys_of_two_entries(first, kind):
    """Tuples, and lists that are taken as tuples, of all pairs of entries."""
    for second in (None, *ENTRIES):
        names = [first] if second is None else [first, second]
        if tuple(names) not in ODD:
            for step in (got, given_number, given_tensor):
                make_key = lambda t, names=names: kind(ENTRIES[n](t) for n in names)  # noqa: E731
                assert not differs(step, make_key), (step.__name__, names)


@pytest.mark.parametrize("first", ["number", "tensor", "mask", "set"])
@pytest.mark.parametrize("second", [None, "number", "tensor", "mask"])
def test_index_put_of_two_indices(first, second):
    names = [n for n in (first, second) if n is not None]
    assert not differs(put, lambda t: [ENTRIES[n](t) for n in names])


@pytest.mark.parametrize("mask", [True, False])
def test_masks_of_one_entry(mask):
    for value in (3.0, lambda t: t.tensor([4.0])):
        written = []
        for t in (fxt, torch):
            x = t.tensor(5.0)
            x[t.tensor(mask)] = value if isinstance(value, float) else value(t)[0]
            written.append((x.item(), x[t.tensor(mask)].tolist(), x[x > 2].shape))
        assert written[0] == written[1]
    x = fxt.tensor(5.0).index_put((fxt.tensor(mask),), fxt.tensor(2.0))
    assert x.item() == (2 if mask else 5)  # torch has an IndexError


def test_a_mask_that_differs_in_a_batch():
    def cleared(x, mask):
        x = x.clone()
        x[mask] = 0.0
        return x

    x, masks = fxt.arange(6.0).view(2, 3), fxt.tensor([True, False])
    assert fxt.vmap(cleared)(x, masks).tolist() == [[0, 0, 0], [3, 4, 5]]
    assert fxt.vmap(cleared)(x[:, 1], masks).tolist() == [0, 4]


def test_a_list_as_a_tuple_warns():
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        fxt.arange(6).view(2, 3)[[0, slice(None)]]


def test_the_last_of_repeated_entries_has_the_gradient():
    x, v = fxt.zeros(3), fxt.tensor([1.0, 2.0], requires_grad=True)
    x[[1, 1]] = v
    x.sum().backward()
    assert x.tolist() == [0, 2, 0] and v.grad.tolist() == [0, 1]


MISUSE = {
    "int": lambda t, x: x[3],
    "negative": lambda t, x: x[:, -5],
    "too-many": lambda t, x: x[0, 0, 0, 0],
    "number": lambda t, x: t.tensor(1.0)[0],
    "slice-of-number": lambda t, x: t.tensor(1.0)[:],
    "step": lambda t, x: x[::-1],
    "float": lambda t, x: x[1.5],
    "float-tensor": lambda t, x: x[t.tensor([0.5])],
    "tensor": lambda t, x: x[t.tensor([3])],
    "mask": lambda t, x: x[t.tensor([True, False])],
    "wide-mask": lambda t, x: x[t.ones(3, 4, 2, 1, dtype=t.bool)],
    "write-shape": lambda t, x: x.detach().__setitem__(slice(0, 2), t.ones(3, dtype=t.float64)),
    "write-chosen": lambda t, x: x.detach().__setitem__([0, 1], t.ones(3, dtype=t.float64)),
    "write-leaf": lambda t, x: x.__setitem__(0, 1.0),
    "gather": lambda t, x: x.gather(0, t.tensor([[[7]]])),
    "gather-rank": lambda t, x: x.gather(0, t.tensor([0])),
    "gather-dtype": lambda t, x: x.gather(0, t.tensor([[[0.0]]])),
    "index_select": lambda t, x: x.index_select(0, t.tensor([4])),
    "take": lambda t, x: x.take(t.tensor([24])),
    "scatter": lambda t, x: x.scatter(0, t.tensor([[[3]]]), 1.0),
    "scatter-dtype": lambda t, x: x.scatter(0, t.tensor([[[0]]]), t.ones(1, 1, 1)),
    "scatter_reduce": lambda t, x: x.scatter_reduce(0, t.tensor([[[0]]]), x, "median"),
    "index_add": lambda t, x: x.index_add(0, t.tensor([0, 1]), x),
    "index_put": lambda t, x: x.index_put((t.tensor([0]),), t.tensor(1)),
    "view": lambda t, x: x.view(5),
    "view-inferred": lambda t, x: x.view(-1, -1),
    "view-strides": lambda t, x: x.transpose(0, 1).view(-1),
    "transpose": lambda t, x: x.transpose(0, 3),
    "select": lambda t, x: x.select(0, 7),
    "narrow": lambda t, x: x.narrow(0, 1, 3),
    "expand": lambda t, x: x.expand(3, 5, 2),
    "permute": lambda t, x: x.permute(0, 0, 1),
    "t": lambda t, x: x.t(),
    "unfold": lambda t, x: x.unfold(0, 4, 1),
    "as_strided": lambda t, x: x.as_strided((40,), (1,)),
    "split": lambda t, x: x.split([1, 1]),
    "chunk": lambda t, x: x.chunk(0),
    "squeeze": lambda t, x: x.squeeze(3),
    "imag": lambda t, x: x.imag,
    "flatten": lambda t, x: x.flatten(1, 0),
    "unflatten": lambda t, x: x.unflatten(1, (3, 2)),
    "repeat": lambda t, x: x.repeat(2),
    "diagonal": lambda t, x: x.diagonal(0, 1, 1),
    "diag": lambda t, x: t.diag(x),
    "mT": lambda t, x: x[0, 0].mT,
    "roll": lambda t, x: x.roll((1, 2)),
    "cat": lambda t, x: t.cat([x, x[:, :2]]),
    "cat-none": lambda t, x: t.cat([]),
    "cat-number": lambda t, x: t.cat([t.tensor(1.0)]),
    "stack": lambda t, x: t.stack([x, x[:2]]),
    "tensors": lambda t, x: t.cat(x),
    "copy_": lambda t, x: x.detach().copy_(t.ones(3)),
    "fill_": lambda t, x: x.detach().fill_(t.ones(3)),
    "fill_-complex": lambda t, x: x.detach().fill_(1j),
    "resize_": lambda t, x: x.resize_(2),
    "expanded": lambda t, x: x.detach().expand(2, 3, 4, 2).mul_(2),
    "channels_last": lambda t, x: x.contiguous(memory_format=t.channels_last),
}


def failure(library, misuse):
    try:
        misuse(library, source(library))
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    ours, theirs = failure(fxt, MISUSE[name]), failure(torch, MISUSE[name])
    assert theirs is not None and isinstance(ours, type(theirs))
    assert str(ours).partition("\n")[0] == str(theirs).partition("\n")[0]


LISTS = {  # which torch takes for tuples, but warns of
    "slices": [slice(None), [1, 0]],
    "dots": [..., 0],
    "none": [None, 0],
    "lists": [[0, 1], [1, 0]],
    "a list and a number": [[0, 1], 1],
    "truths": [[True, False, True], 0],
    "rows of different lengths": [[0, [1, 2]]],
    "nothing": [[]],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_as_keys(name):
    def run(library, action):
        x = library.arange(12.0, dtype=library.float64).view(3, 4)
        return attempt(lambda: action(library, x, LISTS[name]))

    for action in (got, given_number, given_tensor):
        ours, theirs = run(fxt, action), run(torch, action)
        if isinstance(theirs, str):
            assert ours == theirs
        else:
            check_same(ours, theirs, 1e-12)
