"""Samples of windows, their sums and extrema, and of correlations."""

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


def extents(shape, pads):
    return tuple(n + low + high for n, (low, high) in zip(shape[len(shape) - len(pads) :], pads))


def taps_of(x, params):
    """The axes of the taps of windows."""
    return tuple(range(x.ndim - len(params["sizes"]), x.ndim))


def padded_windows(x, number, sizes, steps, pads, dilations):
    """The windows of x among a number; negative pads cut off."""
    lead = x.ndim - len(pads)
    wide = np.pad(
        x.astype(np.result_type(x, type(number))),
        [(0, 0)] * lead + [(max(low, 0), max(high, 0)) for low, high in pads],
        constant_values=number,
    )
    cut = tuple(slice(max(-low, 0), n + max(-low, 0)) for n, (low, _) in zip(extents(x.shape, pads), pads))
    return windows(wide[(..., *cut)], sizes, steps, dilations)


def extreme_places(x, least, **params):
    """By the definition: the place in the image of the first of the best entries, −1 where there is none."""
    rank = len(params["sizes"])
    size = int(np.prod(x.shape[x.ndim - rank :]))
    places = np.broadcast_to(np.arange(size).reshape(x.shape[x.ndim - rank :]), x.shape)
    taps = padded_windows(x, np.inf if least else -np.inf, **params)
    found = padded_windows(places, -1, **params)
    flat = (*taps.shape[: x.ndim - rank], int(np.prod(params["sizes"])), *taps.shape[x.ndim :])
    taps, found = taps.reshape(flat), found.reshape(flat)
    first = np.expand_dims((np.argmin if least else np.argmax)(taps, axis=x.ndim - rank), x.ndim - rank)
    return np.take_along_axis(found, first, x.ndim - rank)[(slice(None),) * (x.ndim - rank) + (0,)]


def spread(u, shape, sizes, steps, pads, dilations):
    """The transpose of the sums of windows, entry by entry."""
    rank = len(sizes)
    wide = extents(shape, pads)
    out = np.zeros(
        (*u.shape[: u.ndim - rank], *(max(n + 2 * 9, w + 2 * 9) for n, w in zip(shape[-rank:], wide))),
        u.dtype,
    )
    for o, _, entry in places(u.shape[u.ndim - rank :], sizes, steps, dilations):
        out[(..., *(e - low + 9 for e, (low, _) in zip(entry, pads)))] += u[(..., *o)]
    return out[(..., *(slice(9, 9 + n) for n in shape[-rank:]))]


def deposited(u, places):
    out = np.zeros((2, 6), u.dtype)
    for i, place in np.ndenumerate(places):
        if 0 <= place < 6:
            out[i[0], place] += u[i]
    return out.reshape(2, 3, 2)


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
# Shape, sizes, steps, pads, dilations.
PADDED = [
    *(
        (shape, sizes, steps, ((0, 0),) * len(sizes), dilations)
        for shape, sizes, steps, dilations in SLIDING[:5]
    ),
    ((5,), (2,), (2,), ((1, 0),), (1,)),
    ((2, 6), (3,), (2,), ((1, 2),), (2,)),
    ((2, 4, 5), (2, 3), (1, 2), ((1, 0), (0, 2)), (1, 1)),
    ((6,), (2,), (1,), ((-1, -2),), (1,)),
    ((3,), (2,), (1,), ((0, -2),), (1,)),
    ((2, 3, 4, 2), (2, 2, 2), (2, 1, 1), ((1, 0), (0, 0), (1, 1)), (1, 2, 1)),
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
            (domain, shape),
            **(params := dict(sizes=sizes, steps=steps, pads=pads, dilations=dilations)),
            reference=lambda x, params=params: padded_windows(x, 0, **params).sum(taps_of(x, params)),
        )
        for domain, cases in [("real", PADDED), ("complex", PADDED[:1]), ("int", PADDED[:2])]
        for shape, sizes, steps, pads, dilations in cases
    ),
    *(
        written(
            name,
            ("distinct", shape),
            **(params := dict(sizes=sizes, steps=steps, pads=pads, dilations=dilations)),
            reference=lambda x, combine=combine, worst=worst, params=params: getattr(
                padded_windows(x, worst, **params), combine
            )(taps_of(x, params)),
        )
        for name, combine, worst in [("window_max", "max", -np.inf), ("window_min", "min", np.inf)]
        for shape, sizes, steps, pads, dilations in PADDED
    ),
    *(
        written(
            "window_places",
            ("real", shape),
            **(params := dict(sizes=sizes, steps=steps, pads=pads, dilations=dilations)),
            least=least,
            reference=lambda x, least=least, params=params: extreme_places(x, least, **params),
        )
        for least in (False, True)
        for shape, sizes, steps, pads, dilations in PADDED
    ),
    *(
        written(
            "spread_windows",
            (domain, (*shape[: -len(sizes)], *counts(extents(shape, pads), sizes, steps, dilations))),
            **(params := dict(sizes=sizes, steps=steps, pads=pads, dilations=dilations)),
            shape=shape[-len(sizes) :],
            reference=lambda u, shape=shape, params=params: spread(u, shape, **params),
        )
        for domain, cases in [("real", PADDED), ("complex", PADDED[:1])]
        for shape, sizes, steps, pads, dilations in cases
    ),
    *(
        written(
            "pick",
            (domain, (2, 3, 2)),
            ("index6", (2, 4, 1)),
            rank=2,
            reference=lambda x, places: np.where(
                places % 7 == 6,
                0,
                np.take_along_axis(x.reshape(2, 6), places.reshape(2, 4) % 6, 1).reshape(2, 4, 1),
            ),
        )
        for domain in ("real", "complex")
    ),
    *(
        written(
            "deposit",
            (domain, (2, 4, 1)),
            ("index6", (2, 4, 1)),
            shape=(3, 2),
            reference=deposited,
        )
        for domain in ("real", "complex")
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
