"""The functions and numbers of the examples in the documents of torch.autograd."""

from __future__ import annotations

import math


def uniform(torch, *shape, requires_grad=False):
    """torch.rand with the same numbers in both libraries."""
    values = [((i * 7 + 3) % 11) / 11 + 0.05 for i in range(math.prod(shape))]
    return torch.tensor(values).reshape(shape).requires_grad_(requires_grad)


def exp_reducer(x):
    return x.exp().sum(dim=1)


def exp_adder(x, y):
    return 2 * x.exp() + 3 * y


def adder(x, y):
    return 2 * x + 3 * y


def pow_reducer(x):
    return x.pow(3).sum()


def pow_adder_reducer(x, y):
    return (2 * x.pow(2) + 3 * y.pow(2)).sum()
