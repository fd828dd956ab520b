"""How operations fail: the class of the error and the first line of its message, as torch's; and how `out=` does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

BROADCAST = {
    "two shapes": lambda t: t.ones(2, 3) + t.ones(4),
    "the last dimension counts": lambda t: t.ones(2, 3) * t.ones(2, 2),
    "of different ranks": lambda t: t.maximum(t.ones(5, 2, 3), t.ones(4, 3)),
    "three operands": lambda t: t.addcmul(t.ones(2, 3), t.ones(2, 3), t.ones(4)),
    "with a gradient": lambda t: t.ones(2, requires_grad=True) * t.ones(3),
    "of a mask": lambda t: t.where(t.tensor([True, False]), t.ones(3), t.ones(3)),
    "in place": lambda t: t.ones(2, 3).add_(t.ones(4)),
    "in place, to more": lambda t: t.ones(3).add_(t.ones(2, 3)),
    "an argument that is no operand": lambda t: t.masked_select(t.ones(2), t.ones(3) > 0),
}
DIMENSIONS = {
    "sum": lambda t: t.ones(2, 3).sum(5),
    "negative": lambda t: t.ones(2, 3).sum(-3),
    "none": lambda t: t.tensor(1.0).sum(1),
    "argmax": lambda t: t.argmax(t.ones(2), 1),
    "max": lambda t: t.max(t.ones(2), 1),
    "cumsum": lambda t: t.ones(2).cumsum(2),
    "sort": lambda t: t.sort(t.ones(2), 4),
    "one of several": lambda t: t.ones(2, 3).mean((0, 2)),
    "diff": lambda t: t.diff(t.ones(2), dim=3),
    "quantile": lambda t: t.quantile(t.ones(2), 0.5, 3),
}
VALUES = {
    "elu of integers": lambda t: t.nn.functional.elu(t.tensor([1])),
    "softplus of integers": lambda t: t.nn.functional.softplus(t.tensor([1])),
    "logit of complex numbers": lambda t: t.logit(t.tensor([1j])),
    "twice": lambda t: t.ones(2, 3).sum((0, 0)),
    "sum to another size": lambda t: t.ones(2, 3).sum_to_size(2, 2),
    "diagonal of unequal sizes": lambda t: t.ones(2, 3, 2).fill_diagonal_(1),
    "diagonal of a vector": lambda t: t.ones(2).fill_diagonal_(1),
    "covariances of a cube": lambda t: t.cov(t.ones(2, 2, 2)),
    "correlations of a cube": lambda t: t.corrcoef(t.ones(2, 2, 2)),
    "counts that are not whole": lambda t: t.cov(t.ones(2, 2), fweights=t.ones(2)),
    "too few counts": lambda t: t.cov(t.ones(2, 3), fweights=t.tensor([1, 2])),
    "too few weights": lambda t: t.cov(t.ones(2, 3), aweights=t.ones(2)),
    "tables of repeats": lambda t: t.repeat_interleave(t.tensor([[1, 2]])),
    "negative repeats": lambda t: t.repeat_interleave(t.tensor([-1])),
    "places that are not whole": lambda t: t.ones(2).scatter(0, t.ones(1), 1.0, reduce="multiply"),
    "more places than slices": lambda t: t.ones(2).index_copy(0, t.tensor([1, 0]), t.ones(1)),
    "a vector as the value of index_fill": lambda t: t.ones(2).index_fill(0, t.tensor([1]), t.ones(1)),
    "twice, counted from the end": lambda t: t.ones(2, 3).sum((1, -1)),
    "rounding mode": lambda t: t.div(t.ones(1), 2, rounding_mode="up"),
    "integers by zero": lambda t: t.tensor([1]) // t.tensor([0]),
    "remainder by zero": lambda t: t.tensor([1]) % 0,
    "negative power": lambda t: t.tensor([2]) ** -1,
    "no limit": lambda t: t.clamp(t.ones(2)),
    "alpha of integers": lambda t: t.add(t.tensor([1]), 1, alpha=1.5),
    "boolean alpha": lambda t: t.add(t.ones(1), 1, alpha=True),
    "complex alpha": lambda t: t.add(t.ones(1), 1, alpha=1j),
    "booleans subtracted": lambda t: t.tensor([True]) - t.tensor([False]),
    "a boolean subtracted": lambda t: t.ones(1) - t.tensor([False]),
    "a boolean negated": lambda t: -t.tensor([True]),
    "plus a boolean": lambda t: +t.tensor([True]),
    "mean of integers": lambda t: t.tensor([1, 2]).mean(),
    "sign of complex numbers": lambda t: t.sign(t.tensor([1j])),
    "k of topk": lambda t: t.topk(t.ones(2), 3),
    "q of quantile": lambda t: t.quantile(t.ones(2), 1.5),
    "dtype of q": lambda t: t.quantile(t.ones(2), t.tensor([0.5], dtype=t.float64)),
    "quantile of integers": lambda t: t.quantile(t.tensor([1, 2]), 0.5),
    "filled with what does not fit": lambda t: t.ones(2, dtype=t.uint8).fill_(300),
    "masked_fill with what does not fit": lambda t: t.ones(2, dtype=t.int8).masked_fill(
        t.tensor([True, False]), -129
    ),
    "index_fill with what does not fit": lambda t: t.ones(2, dtype=t.int64).index_fill(
        0, t.tensor([0]), 1e30
    ),
    "full of what does not fit": lambda t: t.full((2,), 1e6, dtype=t.float16),
    "masked_fill by a vector": lambda t: t.ones(3).masked_fill(t.ones(3) > 0, t.ones(1)),
    "two dtypes": lambda t: t.isclose(t.ones(1), t.tensor([1])),
    "no extremum": lambda t: t.ones(0, 3).amax(0),
    "no place": lambda t: t.ones(0, 3).argmax(1) + t.ones(2, 0).argmax(1),
    "truth of many": lambda t: bool(t.ones(2)),
    "truth of none": lambda t: bool(t.ones(0)),
    "number of many": lambda t: float(t.ones(2)),
    "index that is no integer": lambda t: [1, 2][t.ones(1)],
    "integers into complex": lambda t: t.tensor([1, 2]).add_(1.5),
    "floats into integers": lambda t: t.tensor([1, 2]).mul_(t.ones(2)),
    "bincount of negative numbers": lambda t: t.bincount(t.tensor([-1])),
    "side of searchsorted": lambda t: t.searchsorted(t.ones(2), t.ones(1), side="up"),
    "order of polygamma": lambda t: t.polygamma(-1, t.ones(1)),
    "not of floats": lambda t: ~t.ones(1),
    "complex order": lambda t: t.maximum(t.tensor([1j]), t.tensor([1j])),
}
# torch names its kernel in these messages: only the class is compared.
UNSUPPORTED = {
    "bits of floats": lambda t: t.ones(1) & t.ones(1),
    "shift of floats": lambda t: t.ones(1) << 1,
    "floor of booleans": lambda t: t.floor(t.tensor([True])),
    "complex comparison": lambda t: t.tensor([1j]) < 1,
    "complex floor": lambda t: t.floor(t.tensor([1j])),
    "hypot of integers": lambda t: t.hypot(t.tensor([3]), t.tensor([4])),
    "pow of booleans": lambda t: t.tensor([True]) ** t.tensor([True]),
}
TYPES = {
    "text": lambda t: t.add(t.ones(1), "a"),
    "text on the right": lambda t: t.ones(1) + "a",
    "text on the left": lambda t: "a" * t.ones(1),
    "None": lambda t: t.ones(1) - None,
    "a list": lambda t: t.mul(t.ones(1), [1.0]),
    "a number for a Tensor": lambda t: t.sin(2.0),
    "an unknown keyword": lambda t: t.sin(t.ones(1), dim=1),
    "too many arguments": lambda t: t.sin(t.ones(1), 2),
    "out that is no Tensor": lambda t: t.sin(t.ones(1), out=3),
    "divmod": lambda t: divmod(t.ones(1), 2),
}


def parametrized(table):
    return pytest.mark.parametrize("call", table.values(), ids=[name.replace(" ", "-") for name in table])


def failure(call, library) -> Exception:
    with pytest.raises(Exception) as caught:
        call(library)
    return caught.value


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@parametrized(BROADCAST | DIMENSIONS | VALUES)
def test_class_and_message(call):
    ours, theirs = failure(call, fxt), failure(call, torch)
    assert isinstance(ours, type(theirs))
    assert first_line(ours) == first_line(theirs)


@parametrized(UNSUPPORTED | TYPES)
def test_class(call):
    assert isinstance(failure(call, fxt), type(failure(call, torch)))


def test_the_argument_is_named():
    assert first_line(failure(TYPES["a number for a Tensor"], fxt)) == first_line(
        failure(TYPES["a number for a Tensor"], torch)
    )
    assert first_line(failure(TYPES["text"], fxt)) == first_line(failure(TYPES["text"], torch))


def test_the_user_s_line_is_named_also_inside_transforms():
    for call in (BROADCAST["two shapes"], BROADCAST["with a gradient"], BROADCAST["in place"]):
        assert "test_operation_errors.py" in str(failure(call, fxt))
    inside = failure(lambda t: t.func.vmap(lambda x: x + t.ones(4))(t.ones(2, 3)), fxt)
    assert "vmap" in str(inside) and "must match the size of tensor b (4)" in first_line(inside)


@pytest.mark.filterwarnings("error")
def test_kernels_do_not_warn():
    for library in (torch, fxt):
        x = library.tensor([-1.0, 0.0, 1e38], requires_grad=True)
        y = library.log(x) + x / 0 + x * x + library.exp(x) + library.sqrt(x[0])
        y.sum().backward()
        library.tensor([1]) / 0
        assert np.isnan(y.detach().numpy()).any()


# -- out= ------------------------------------------
def test_out_is_written_and_returned():
    for library in (torch, fxt):
        out = library.empty(0)
        assert library.add(library.ones(2), 1, out=out) is out
        assert out.tolist() == [2.0, 2.0]
        values, indices = library.empty(0), library.empty(0, dtype=library.int64)
        found = library.max(library.tensor([[1.0, 3.0]]), 1, out=(values, indices))
        assert found.values is values and (values.tolist(), indices.tolist()) == ([3.0], [1])
        wide = library.zeros(2, dtype=library.float64)
        assert library.mul(library.ones(2), 3, out=wide).dtype is library.float64 and wide.tolist() == [
            3.0,
            3.0,
        ]


def test_out_of_another_shape_is_resized_with_a_warning():
    for library in (torch, fxt):
        out = library.zeros(3)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            library.sin(library.zeros(2), out=out)
        assert tuple(out.shape) == (2,)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            library.sin(library.zeros(2), out=library.empty(0))


@parametrized(
    {
        "of a lower category": lambda t: t.div(t.ones(2), 2, out=t.zeros(2, dtype=t.int64)),
        "and operands that require a gradient": lambda t: t.sin(
            t.ones(2, requires_grad=True), out=t.empty(2)
        ),
        "that requires a gradient": lambda t: t.sin(t.ones(2), out=t.empty(2, requires_grad=True)),
    }
)
def test_out_is_refused(call):
    ours, theirs = failure(call, fxt), failure(call, torch)
    assert isinstance(ours, type(theirs))
    assert first_line(ours) == first_line(theirs)


def test_out_without_gradients_under_no_grad():
    for library in (torch, fxt):
        x = library.ones(2, requires_grad=True)
        with library.no_grad():
            out = library.empty(2)
            library.add(x, 1, out=out)
        assert out.tolist() == [2.0, 2.0] and not out.requires_grad
