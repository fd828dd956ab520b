"""Samples of the primitives of sequences and of the special functions of fxgrad.numpy."""

import math

import numpy as np

from tests.sample import Sample, written


def convolution(a, v):
    """By the definition, one product at a time."""
    batch = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
    a, v = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (a, v))
    out = np.zeros((*batch, a.shape[-1] + v.shape[-1] - 1), np.result_type(a, v))
    for i in range(a.shape[-1]):
        for j in range(v.shape[-1]):
            out[..., i + j] += a[..., i] * v[..., j]
    return out


def all_pole(a, x):
    """The recursion, one entry after the other."""
    y = np.zeros(x.shape, np.result_type(a, x))
    for t in range(x.shape[-1]):
        y[..., t] = x[..., t] - sum(a[..., k] * y[..., t - k - 1] for k in range(min(t, a.shape[-1])))
    return y


def bessel(x, order):
    """The power series (DLMF 10.25.2)."""
    terms = [(x / 2) ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order)) for k in range(25)]
    return sum(terms)


CONVOLUTIONS = [
    written("convolve", (left, a), (right, b), reference=convolution)
    for left, right, a, b in [
        ("real", "real", (4,), (3,)),
        ("real", "real", (2,), (5,)),
        ("real", "real", (1,), (1,)),
        ("real", "real", (2, 3), (2, 2)),
        ("real", "real", (2, 3), (4,)),
        ("real", "real", (2, 1, 3), (3, 2)),
        ("complex", "complex", (3,), (2,)),
        ("real", "complex", (3,), (2,)),
        ("int", "int", (3,), (2,)),
    ]
]
BESSEL = [
    Sample("bessel_i", ((domain, shape),), {"order": order}, lambda x, n=order: bessel(x, n))
    for domain, shape, order in [
        ("real", (2, 3), 0),
        ("nonzero", (3,), 1),
        ("real", (3,), 2),
        ("above1", (), 3),
    ]
]
FILTERS = [
    written("all_pole", (domain, a), (domain, x), reference=all_pole)
    for domain, a, x in [
        ("real", (2,), (4,)),
        ("real", (1,), (2, 3)),
        ("real", (3,), (2,)),
        ("complex", (2,), (3,)),
    ]
]
SAMPLES = [*FILTERS, *CONVOLUTIONS, *BESSEL]
