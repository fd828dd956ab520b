"""Samples of windows, overlapping sums and correlations."""

import itertools

import numpy as np

from tests.sample import written


def counts(shape, sizes, steps, dilations):
    return tuple(len(range(0, n - (k - 1) * d, s)) for n, k, s, d in zip(shape, sizes, steps, dilations))


def places(outer, taps, steps, dilations):
    """(window, tap, entry) of every axis, multiplied out."""
    for o in itertools.product(*map(range, outer)):
        for k in itertools.product(*map(range, taps)):
            yield o, k, tuple(i * s + j * d for i, j, s, d in zip(o, k, steps, dilations))


def windows(x, sizes, steps, dilations):
    lead = x.shape[: x.ndim - len(sizes)]
    outer = counts(x.shape[len(lead) :], sizes, steps, dilations)
    out = np.zeros((*lead, *sizes, *outer), x.dtype)
    for o, k, entry in places(outer, sizes, steps, dilations):
        out[(..., *k, *o)] = x[(..., *entry)]
    return out


def overlap(u, shape, steps, dilations):
    rank = len(shape)
    out = np.zeros((*u.shape[: u.ndim - 2 * rank], *shape), u.dtype)
    for o, k, entry in places(u.shape[-rank:], u.shape[-2 * rank : -rank], steps, dilations):
        out[(..., *entry)] += u[(..., *k, *o)]
    return out


def correlate(x, w, steps, pads, x_dilations, w_dilations):
    """By the definition, with the zeros written out."""
    extents = [(n - 1) * d + 1 for n, d in zip(x.shape[3:], x_dilations)]
    wide = np.zeros((*x.shape[:3], *extents), x.dtype)
    wide[(..., *(slice(None, None, d) for d in x_dilations))] = x
    margin = 20
    wide = np.pad(wide, [(0, 0)] * 3 + [(margin, margin)] * len(pads))
    cut = tuple(slice(margin - a, margin + n + b) for n, (a, b) in zip(extents, pads))
    parts = windows(wide[(..., *cut)], w.shape[3:], steps, w_dilations)
    letters = "ijk"[: len(pads)], "uvw"[: len(pads)]
    return np.einsum(f"bgc{letters[0]}{letters[1]},gfc{letters[0]}->bgf{letters[1]}", parts, w)


SLIDING = [
    ((5,), (2,), (1,), (1,)),
    ((7,), (3,), (2,), (2,)),
    ((2, 6), (4,), (1,), (1,)),
    ((2, 4, 5), (2, 3), (1, 2), (1, 1)),
    ((5, 4), (2, 1), (3, 1), (1, 1)),
    ((2,), (3,), (1,), (1,)),
]
# Shapes of x and the kernel, steps, pads, dilations of both.
CORRELATIONS = [
    ((1, 1, 2, 5), (1, 3, 2, 2), (1,), ((0, 0),), (1,), (1,)),
    ((2, 1, 2, 5), (1, 1, 2, 3), (1,), ((1, 2),), (1,), (1,)),
    ((2, 2, 1, 6), (2, 2, 1, 2), (2,), ((1, 0),), (1,), (2,)),
    ((2, 1, 1, 3), (1, 2, 1, 2), (1,), ((1, 1),), (3,), (1,)),
    ((1, 1, 2, 4), (1, 2, 2, 2), (2,), ((2, 1),), (2,), (2,)),
    ((2, 1, 1, 5), (1, 2, 1, 2), (1,), ((-1, -1),), (1,), (1,)),
    ((1, 1, 2, 4), (1, 1, 2, 2), (1,), ((-2, 1),), (2,), (1,)),
    ((1, 2, 2, 3, 4), (2, 2, 2, 2, 2), (1, 2), ((1, 0), (0, 1)), (1, 1), (1, 1)),
    ((2, 1, 3, 4, 4), (1, 1, 3, 2, 3), (1, 1), ((1, 1), (1, 1)), (1, 2), (2, 1)),
    ((1, 1, 1, 2, 3, 2), (1, 2, 1, 2, 1, 2), (1, 1, 1), ((0, 0), (0, 0), (1, 0)), (1, 1, 1), (1, 1, 1)),
]
SAMPLES = [
    *(
        written(
            "windows",
            (domain, shape),
            **(params := dict(sizes=sizes, steps=steps, dilations=dilations)),
            reference=lambda x, params=params: windows(x, **params),
        )
        for domain, cases in [("real", SLIDING), ("complex", SLIDING[:1]), ("int", SLIDING[:1])]
        for shape, sizes, steps, dilations in cases
    ),
    *(
        written(
            "window_sum",
            ("real", shape),
            **(params := dict(sizes=sizes, steps=steps, dilations=dilations)),
            reference=lambda x, params=params: windows(x, **params).sum(
                tuple(range(x.ndim - len(params["sizes"]), x.ndim))
            ),
        )
        for shape, sizes, steps, dilations in SLIDING
    ),
    *(
        written(
            "col2im",
            (domain, (*shape[: -len(sizes)], *sizes, *counts(shape[-len(sizes) :], sizes, steps, dilations))),
            **(params := dict(shape=shape[-len(sizes) :], steps=steps, dilations=dilations)),
            reference=lambda u, params=params: overlap(u, **params),
        )
        for domain, cases in [("real", SLIDING), ("complex", SLIDING[:1])]
        for shape, sizes, steps, dilations in cases
    ),
    *(
        written(
            "correlate",
            (domain, x),
            (other, w),
            **(params := dict(steps=steps, pads=pads, x_dilations=d, w_dilations=e)),
            reference=lambda x, w, params=params: correlate(x, w, **params),
        )
        for domain, other, cases in [
            ("real", "real", CORRELATIONS),
            ("complex", "complex", CORRELATIONS[:4]),
            ("real", "complex", CORRELATIONS[:2]),
        ]
        for x, w, steps, pads, d, e in cases
    ),
]
