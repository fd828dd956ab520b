"""Index assignment inside transforms: indices, masks and values of a batch, written into Tensors that may have none."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as torch

X = np.arange(15.0).reshape(5, 3) / 7
PLACES = [0, 1, 2, 1, 0]
MASKS = np.array([3.0, 0.0, 13.0]) / 7 < X


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.float64)


def into_copy(x, i):
    y = x * 1
    y[i] = x[0]
    return y


def scaled(x, i):
    y = x * 1
    y[i] *= 3
    return y


def through_view(x, i):
    y = x * 1
    y[i].mul_(3)
    return y


def among_slices(x, i):
    out = zeros(2, 3, 4)
    out[:, i, 1:] += x
    return out


def part_of_view(x, i):
    out = zeros(2, 3, 4)
    out[0, i][1:3].add_(x[:2])
    return out


def twice(x, i):
    out = zeros(2, 3, 4)
    out[..., i, i] = x[:2]
    return out


def read_beside_lists(x, i):
    return zeros(2, 3, 4)[None, :, i, [0, 1]] + x[i]


def after_its_base(x, i):
    """The view has no memory of its base, which is an array."""
    out = zeros(2, 3, 4)
    row = out[:, i]
    out += 1
    row *= x[0]
    return out + row.sum()


def from_the_end(x, i):
    out = zeros(3)
    out[i - 3] = x[1]
    return out


def constant_where(x, m):
    y = x * 1
    y[m] = 0
    return y


def value_where(x, m):
    out = zeros(3)
    out[m] = x[1]
    return out


def rows_where(x, m):
    out = zeros(3, 2)
    out[m] = x[:2]
    return out


def beside_slices(x, m):
    out = zeros(4, 3, 2)
    out[1:3, m] = x[:2].view(1, 1, 2)
    out[..., m, :] = x[1:]
    return out


def of_two_dimensions(x, m):
    out = zeros(3, 3, 2)
    out[:, m, 0] = x[0]
    out[m[None] & m[:, None]] = x[2]
    return out


BY_PLACE = [
    into_copy, scaled, through_view, among_slices, part_of_view, twice, read_beside_lists, after_its_base, from_the_end,
]  # fmt: skip
BY_MASK = [constant_where, value_where, rows_where, beside_slices, of_two_dimensions]


def looped(function, *batches):
    return torch.stack([function(*entry) for entry in zip(*batches)])


@pytest.mark.parametrize("function", BY_PLACE + BY_MASK, ids=lambda f: f.__name__)
def test_batched_assignment(function):
    func = torch.func
    x, chosen = torch.tensor(X), torch.tensor(PLACES if function in BY_PLACE else MASKS)

    def energy(x, chosen):
        return (function(x, chosen) ** 2).sum()

    def compare(found, expected):
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)

    compare(func.vmap(function)(x, chosen), looped(function, x, chosen))
    compare(func.vmap(func.grad(energy))(x, chosen), looped(func.grad(energy), x, chosen))
    compare(func.vmap(func.jacfwd(function))(x, chosen), looped(func.jacrev(function), x, chosen))
    compare(func.grad(lambda x: func.vmap(energy)(x, chosen).sum())(x), looped(func.grad(energy), x, chosen))
    leaf = torch.tensor(X, requires_grad=True)
    (g,) = torch.autograd.grad(func.vmap(energy)(leaf, chosen).sum(), leaf)
    compare(g, looped(func.grad(energy), x, chosen))
    nested = func.vmap(func.vmap(function, in_dims=(None, 0)), in_dims=(0, None))(x, chosen)
    compare(nested[1], looped(function, x[1].expand(5, 3), chosen))


def two_at_once(x, m):
    zeros(3)[m] = torch.ones(2, dtype=torch.float64)


def beside_a_list(x, m):
    zeros(3, 3)[m, [0]] = 1.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, m: x[m], "dynamic shape"),
        (two_at_once, "a mask that is not known"),
        (beside_a_list, "a mask that is not known"),
    ],
    ids=["read", "values", "list"],
)
def test_what_a_mask_chooses_is_not_known(function, message):
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        torch.func.vmap(function)(torch.tensor(X), torch.tensor(MASKS))


def test_a_batched_place_that_is_not_there():
    with pytest.raises(IndexError, match="out of bounds"):
        torch.func.vmap(into_copy)(torch.tensor(X), torch.tensor([0, 1, 3, 0, 0]))
