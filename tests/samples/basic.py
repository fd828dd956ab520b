"""Operands for every primitive of the registry: what the generated tests run on.

An operation enters here, or in the file of its family; without samples the suite fails.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fxgrad.ops import ARRAY
from tests.sample import Sample, written

ALL = slice(None, None, None)
STATIC = [
    *(
        written(
            "static_power",
            (domain, (2, 3)),
            p=p,
            reference=lambda x, p=p: np.exp(p * np.log(x.astype(complex))),
        )
        for domain, p in [
            ("nonzero", 2),
            ("nonzero", 3),
            ("positive", 0.5),
            ("nonzero", 1),
            ("nonzero", 0),
            ("nonzero", -1),
            ("complex", 3),
            ("complex", 0.5),
        ]
    ),
    written("round", ("fraction", (2, 3)), decimals=0, reference=np.floor),
    written(
        "round", ("complex", (3,)), decimals=0, reference=lambda z: np.rint(z.real) + 1j * np.rint(z.imag)
    ),
    written("checkpoint_name", ("real", (2, 3)), label="hidden", reference=lambda x: x),
    written("checkpoint_name", ("complex", ()), label="hidden", reference=lambda x: x),
    written("convert", ("real", (2, 3)), dtype=np.dtype("f4"), reference=lambda x: x),
    written("convert", ("real", (3,)), dtype=np.dtype(complex), reference=lambda x: x + 0j),
    written("convert", ("int", (3,)), dtype=np.dtype(float), reference=lambda x: x * 1.0),
    written("convert", ("nonzero", (3,)), dtype=np.dtype(bool), reference=lambda x: x != 0),
]


def loop_sum(x: np.ndarray, axes: tuple[int, ...], combine: Callable, start: Any) -> np.ndarray:
    """A reduction by Python's loop over the entries."""
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    out: dict[tuple, Any] = {}
    for place in np.ndindex(x.shape):
        rest = tuple(k for i, k in enumerate(place) if i not in axes)
        value = x[place].item()
        out[rest] = (
            combine(out[rest], value) if rest in out else (value if start is None else combine(start, value))
        )
    return np.array([out.get(place, start) for place in np.ndindex(shape)]).reshape(shape)


def reductions(name: str, domains: str, combine: Callable, start: Any, zero_size: bool) -> list[Sample]:
    samples = []
    for domain in domains.split():
        for shape, axes in [((2, 3), (0,)), ((2, 3), (0, 1)), ((2, 3, 2), (2, 0)), ((2, 3), ()), ((), ())][
            : None if domain == domains.split()[0] else 2
        ]:
            axes = tuple(sorted(axes))
            samples.append(
                written(
                    name,
                    (domain, shape),
                    axes=axes,
                    reference=lambda x, axes=axes: loop_sum(x, axes, combine, start),
                )
            )
    for shape, axes in [((0, 3), (1,)), *([((0, 3), (0,))] if zero_size else [])]:
        samples.append(written(name, ("real", shape), axes=axes))
    return samples


def running(combine: Callable) -> Callable:
    """A running reduction by Python's loop."""
    return lambda x, axis: np.apply_along_axis(
        lambda v: np.array(list(itertools.accumulate(v.tolist(), combine))), axis, x
    )


def runnings(name: str, domains: str, combine: Callable) -> list[Sample]:
    samples = [written(name, ("real", (0, 3)), axis=0)]
    for domain in domains.split():
        for shape, axis in [((4,), 0), ((2, 3), 0), ((2, 3), 1)]:
            samples.append(
                written(
                    name, (domain, shape), axis=axis, reference=lambda x, axis=axis: running(combine)(x, axis)
                )
            )
    return samples


def recurrence(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """zₖ = aₖ·zₖ₋₁ + bₖ by sums of products."""
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    z = [sum(np.prod(a[i + 1 : k + 1], axis=0) * b[i] for i in range(k + 1)) for k in range(len(a))]
    return np.moveaxis(np.array(z), 0, axis)


REDUCTIONS = [
    *reductions("reduce_sum", "real complex int bool", operator.add, 0, True),
    *reductions("reduce_prod", "nonzero complex int", operator.mul, 1, True),
    *reductions("reduce_max", "distinct int", max, None, False),
    *reductions("reduce_min", "distinct int", min, None, False),
    *reductions("reduce_any", "bool int", lambda a, b: bool(a or b), False, True),
    *reductions("reduce_all", "bool int", lambda a, b: bool(a and b), True, True),
    *(
        written("norm2", (domain, shape), axes=axes, reference=reference)
        for domain in ("nonzero", "complex")
        for shape, axes, reference in [
            ((3,), (0,), lambda x: math.hypot(*np.abs(x))),
            ((2, 3), (1,), lambda x: np.array([math.hypot(*np.abs(row)) for row in x])),
            ((2, 3), (0, 1), lambda x: math.hypot(*np.abs(x.ravel()))),
        ]
    ),
    written("norm2", ("real", (0, 3)), axes=(1,)),
    written("norm2", ("real", (0, 3)), axes=(0,)),
    *(
        written(
            name,
            ("distinct", shape),
            axis=axis,
            reference=lambda x, axis=axis, best=best: np.apply_along_axis(
                lambda v: v.tolist().index(best(v.tolist())), axis, x
            ),
        )
        for name, best in [("argmax", max), ("argmin", min)]
        for shape, axis in [((4,), 0), ((2, 3), 0), ((2, 3), 1)]
    ),
    *runnings("cumsum", "real complex int", operator.add),
    *runnings("cumprod", "real complex int", operator.mul),
    *runnings("cummax", "distinct int", max),
    *runnings("cummin", "distinct int", min),
    *(
        written(
            "recurrence",
            (a, shape),
            (b, shape),
            axis=axis,
            reference=lambda a, b, axis=axis: recurrence(a, b, axis),
        )
        for a, b in [("real", "real"), ("complex", "complex"), ("real", "complex")]
        for shape, axis in [((4,), 0), ((2, 3), 1), ((2, 3), 0)]
    ),
    written("recurrence", ("real", (0,)), ("real", (0,)), axis=0),
]

SHAPING = [
    *(
        written(
            "reshape", ("real", a), shape=b, reference=lambda x, b=b: np.array(x.ravel().tolist()).reshape(b)
        )
        for a, b in [((2, 3), (6,)), ((2, 3), (3, 2)), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0))]
    ),
    *(
        written(
            "permute",
            (domain, shape),
            axes=axes,
            reference=lambda x, axes=axes: np.moveaxis(x, axes, range(x.ndim)),
        )
        for domain, shape, axes in [
            ("real", (2, 3), (1, 0)),
            ("complex", (2, 3, 1), (2, 0, 1)),
            ("int", (), ()),
        ]
    ),
    *(
        written("broadcast_to", ("real", a), shape=b, reference=lambda x, b=b: x + np.zeros(b))
        for a, b in [((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2,)), ((1, 3), (0, 3)), ((1,), (2, 1, 3))]
    ),
    *(
        written(
            "flip",
            (domain, shape),
            axes=axes,
            reference=lambda x, axes=axes: x[
                tuple(slice(None, None, -1 if i in axes else 1) for i in range(x.ndim))
            ],
        )
        for domain, shape, axes in [("real", (2, 3), (0,)), ("complex", (2, 3), (0, 1)), ("int", (3,), ())]
    ),
    *(
        written(
            "concatenate",
            *[("real", s) for s in shapes],
            axis=axis,
            reference=lambda *xs, axis=axis: np.moveaxis(
                np.array([row for x in xs for row in np.moveaxis(x, axis, 0)]), 0, axis
            ),
        )
        for shapes, axis in [([(2, 3), (1, 3)], 0), ([(2, 1), (2, 2), (2, 1)], 1), ([(3,)], 0)]
    ),
    written("concatenate", ("real", (0, 3)), ("real", (2, 3)), axis=0, reference=lambda a, b: b),
    written("concatenate", ("complex", (2,)), ("complex", (1,)), axis=0),
    *(
        written("pad", (domain, shape), widths=widths, reference=lambda x, widths=widths: np.pad(x, widths))
        for domain, shape, widths in [
            ("real", (2, 3), ((1, 0), (0, 2))),
            ("complex", (3,), ((2, 1),)),
            ("int", (2,), ((0, 0),)),
            ("real", (0,), ((1, 1),)),
        ]
    ),
    written("full_like", ("real", (2, 3)), value=2.5, reference=lambda x: np.full((2, 3), 2.5)),
    written("full_like", ("int", ()), value=0, reference=lambda x: np.array(0)),
]

# (shape, index arrays as (domain, shape), template)
INDICES = [
    ((3, 4), [], (ALL, slice(1, None, 2))),
    ((3, 4), [], (2, None, slice(None, None, -1))),
    ((3, 4), [], (slice(2, 2, None), ALL)),
    ((3,), [], (-1,)),
    ((), [], ()),
    ((3,), [("index3", (5,))], (ARRAY,)),
    ((3, 4), [("index3", (2, 2))], (ARRAY, ALL)),
    ((3, 4), [("index4", (2,))], (ALL, ARRAY)),
    ((3, 4), [("index3", (2, 1)), ("index4", (3,))], (ARRAY, ARRAY)),
    ((3, 2, 4), [("index3", (2,)), ("index4", (2,))], (ARRAY, ALL, ARRAY)),
    ((2, 3, 4), [("index3", (2,)), ("index4", (1,))], (slice(None, 1, None), ARRAY, ARRAY)),
    ((3, 2, 4), [("index3", (2,)), ("index4", (2,))], (ARRAY, None, ALL, ARRAY)),
    ((3, 4), [("index3", ())], (ARRAY, ALL)),
    ((3, 4), [("index3", (0,))], (ARRAY, slice(None, None, 2))),
]
UNIQUE = [case for case in INDICES if not case[1]] + [
    ((3,), [("permuted3", (3,))], (ARRAY,)),
    ((3, 4), [("permuted3", (3,))], (ARRAY, slice(1, 3, None))),
    ((3, 4, 3), [("permuted3", (3,)), ("permuted3", (3,))], (ARRAY, slice(1, 3, None), ARRAY)),
]


def filled(index: tuple, arrays: tuple) -> tuple:
    rest = iter(arrays)
    return tuple(next(rest) if e is ARRAY else e for e in index)


def combined_reference(ufunc: np.ufunc) -> Any:
    def put(x: np.ndarray, u: np.ndarray, *arrays: np.ndarray, index: tuple) -> Any:
        out = np.array(x)
        ufunc.at(out, filled(index, arrays), u)
        return out

    return put


EXTREME_REFERENCES = {
    "scatter_max": combined_reference(np.maximum),
    "scatter_min": combined_reference(np.minimum),
}


def others_reference(x: np.ndarray, u: np.ndarray, *arrays: np.ndarray, index: tuple) -> np.ndarray:
    """For each value the products without it."""
    places = np.arange(x.size).reshape(x.shape)[filled(index, arrays)].reshape(-1)
    found = [
        x.ravel()[p] * math.prod(u.ravel()[(places == p) & (np.arange(u.size) != i)].tolist())
        for i, p in enumerate(places)
    ]
    return np.array(found, u.dtype).reshape(u.shape)


def taken_shape(shape: tuple[int, ...], arrays: list, index: tuple) -> tuple[int, ...]:
    return np.empty(shape)[filled(index, tuple(np.zeros(s, int) for _, s in arrays))].shape


def getitem_reference(x: np.ndarray, *arrays: np.ndarray, index: tuple) -> np.ndarray:
    """Through the positions in the flat array."""
    places = np.arange(x.size).reshape(x.shape)[filled(index, arrays)]
    return np.array([x.ravel()[p] for p in np.ravel(places)], x.dtype).reshape(np.shape(places))


def put_reference(u: np.ndarray, *arrays: np.ndarray, index: tuple, shape: tuple) -> np.ndarray:
    places = np.arange(math.prod(shape)).reshape(shape)[filled(index, arrays)]
    out = [0.0] * math.prod(shape)
    for place, value in zip(np.ravel(places), np.ravel(u)):
        out[place] += value
    return np.array(out).reshape(shape)


def update_reference(x: np.ndarray, u: np.ndarray, *arrays: np.ndarray, index: tuple) -> np.ndarray:
    places = np.arange(x.size).reshape(x.shape)[filled(index, arrays)]
    out = x.ravel().tolist()
    for place, value in zip(np.ravel(places), np.ravel(u)):
        out[place] = value
    return np.array(out).reshape(x.shape)


def partial(function: Callable, **params: Any) -> Callable:
    return lambda *operands: function(*operands, **params)


INDEXING = [
    *(
        written(
            "getitem",
            ("real", shape),
            *arrays,
            index=index,
            reference=partial(getitem_reference, index=index),
        )
        for shape, arrays, index in INDICES
    ),
    written("getitem", ("complex", (3,)), ("index3", (2,)), index=(ARRAY,)),
    *(
        written(
            "scatter_add",
            ("real", taken_shape(shape, arrays, index)),
            *arrays,
            index=index,
            shape=shape,
            reference=partial(put_reference, index=index, shape=shape),
        )
        for shape, arrays, index in INDICES
    ),
    written("scatter_add", ("complex", (2,)), ("index3", (2,)), index=(ARRAY,), shape=(3,)),
    *(
        written(
            name,
            ("apart", shape),
            ("distinct", taken_shape(shape, arrays, index)),
            *arrays,
            index=index,
            reference=partial(EXTREME_REFERENCES[name], index=index),
        )
        for name in ("scatter_max", "scatter_min")
        for shape, arrays, index in INDICES
    ),
    *(
        written(
            name,
            (domain, shape),
            (domain, taken_shape(shape, arrays, index)),
            *arrays,
            index=index,
            reference=partial(reference, index=index),
        )
        for name, reference in (
            ("scatter_mul", combined_reference(np.multiply)),
            ("multiply_others", others_reference),
        )
        for shape, arrays, index in INDICES
        for domain in ("real", "complex")[: 1 + (shape == (3,))]
    ),
    *(
        written(
            "update",
            ("real", shape),
            ("real", taken_shape(shape, arrays, index)),
            *arrays,
            index=index,
            reference=partial(update_reference, index=index),
        )
        for shape, arrays, index in UNIQUE
    ),
    written(
        "update",
        ("real", (3,)),
        ("real", (5,)),
        ("index3", (5,)),
        index=(ARRAY,),
        reference=partial(update_reference, index=(ARRAY,)),
    ),
    written("update", ("complex", (3,)), ("complex", (2,)), index=(slice(0, 2, None),)),
]

SIZES = {"i": 2, "j": 3, "k": 2, "l": 1, "m": 3, "z": 0}
CONTRACTIONS = [
    written(
        "contract",
        (domain, tuple(SIZES[c] for c in left)),
        (other, tuple(SIZES[c] for c in right)),
        spec=f"{left},{right}->{out}",
        reference=lambda a, b, s=f"{left},{right}->{out}": np.einsum(s, a, b),
    )
    for domain, other, spec in [
        ("real", "real", "ij,jk->ik"),
        ("real", "real", "ij,jk->ki"),
        ("real", "real", "ji,jk->ik"),
        ("real", "real", "j,j->"),
        ("real", "real", "ij,j->i"),
        ("real", "real", "i,j->ji"),
        ("real", "real", "mij,mjk->mik"),
        ("real", "real", "ijk,kjm->im"),
        ("real", "real", "imj,mkj->kmi"),
        ("real", "real", ",ij->ij"),
        ("real", "real", ",->"),
        ("real", "real", "ij,ij->ij"),
        ("real", "real", "iz,zj->ij"),
        ("real", "real", "zi,ij->zj"),
        ("complex", "complex", "ij,jk->ik"),
        ("real", "complex", "ij,j->i"),
        ("int", "int", "ij,jk->ik"),
        ("real", "real", "ikl,lj->ikj"),
    ]
    for (left, right), out in [(spec.split("->")[0].split(","), spec.split("->")[1])]
]

SAMPLES = [*STATIC, *REDUCTIONS, *SHAPING, *INDEXING, *CONTRACTIONS]
