"""Operands for sorting and searching."""

import numpy as np

from tests.sample import DOMAINS, written

DOMAINS["ascending"] = lambda rng, shape: np.sort(rng.uniform(-2, 2, shape), axis=-1)


def by_comparison(a, v, side):
    """How many entries come before each value, by comparing all pairs; the leading axes of a are those of v."""
    entries = a.reshape(*a.shape[:-1], *(1,) * (v.ndim - a.ndim + 1), a.shape[-1])
    return np.sum(entries < v[..., None] if side == "left" else entries <= v[..., None], axis=-1)


ARRAYS = [
    ("distinct", (5,), 0),
    ("distinct", (2, 3), 0),
    ("distinct", (2, 3), 1),
    ("distinct", (2, 3, 2), 1),
    ("distinct", (0,), 0),
    ("distinct", (2, 0), 0),
    ("complex", (4,), 0),
    ("complex", (3, 2), 0),
    ("int", (6,), 0),
    ("bool", (2, 4), 1),
]
SAMPLES = [
    written(
        name,
        (domain, shape),
        reference=lambda x, f=reference, axis=axis: f(x, axis=axis, stable=True),
        axis=axis,
    )
    for name, reference in (("sort", np.sort), ("argsort", np.argsort))
    for domain, shape, axis in ARRAYS
]
SAMPLES += [
    written(
        "searchsorted",
        ("ascending", a),
        ("real", v),
        reference=lambda a, v, side=side: by_comparison(a, v, side),
        side=side,
    )
    for side in ("left", "right")
    for a, v in [
        ((5,), (3,)),
        ((4,), ()),
        ((1,), (2, 3)),
        ((0,), (2,)),
        ((2, 7), (2, 3)),
        ((2, 3, 2), (2, 3)),
    ]
]
