"""Dependence of each entry of a result on the entries of the operands, operation by operation; `sparsity` composes it.

The answer for one operand is a list of sparse boolean matrices. Their product has an entry for each dependent pair; its
rows are the entries of the result, its columns those of the operand. It follows from the declaration of a primitive: an
elementwise operation is a broadcast, and a linear one is applied to numbers. For any other operation without a rule
here, everything depends on everything, which is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import Aval
from ..core.library import load_library
from ..kernels.contraction import parse_spec
from ..ops.indexing import ARRAY
from ..ops.kinds import Bilinear, Elementwise, Linear
from ..ops.masked import densify

FLOAT = np.dtype(float)
UNKNOWN = object()  # an operand of which only the aval is known

# Entries of a matrix that is found by applying an operation to all unit vectors, in total and at a time.
PROBED, PROBED_AT_ONCE = 4 * 10**8, 2**22
JOINED = 5 * 10**7  # pairs of entries that a contraction by known numbers may join


def sparse_library() -> Any:
    """Return `scipy.sparse`."""
    return load_library("scipy.sparse", "scipy", "a sparse derivative")


def dependence(
    primitive: Any, index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> list[Any] | None:
    """Return the factors of the matrix for operand `index`, of which the first is applied last: [] where each entry
    depends on the one at its place, None where no entry depends on any."""
    if 0 in (out.size, avals[index].size):
        return None
    if isinstance(primitive, Elementwise):
        return elementwise_dependence(primitive, index, values, avals, out, params)
    rule = RULES.get(primitive.name)
    found = NotImplemented if rule is None else rule(index, values, avals, out, params)
    if found is NotImplemented and isinstance(primitive, Linear):
        found = linear_dependence(primitive, index, values, avals, out, params)
    if found is NotImplemented and isinstance(primitive, Bilinear):
        others = [np.ones(a.shape) if v is UNKNOWN else v for v, a in zip(values, avals)]
        found = probed_dependence(primitive, index, others, avals, out, params)
    return full_dependence(avals[index], out) if found is NotImplemented else found


def selection(places: Any, size: int) -> Any:
    """Return the matrix of a move: row i has its entry in column places[i], or none where that is negative."""
    places = np.asarray(places).reshape(-1)
    kept = np.flatnonzero(places >= 0)
    return matrix(kept, places[kept], (places.size, size))


def matrix(rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    """Return the boolean matrix with entries at these places."""
    return sparse_library().csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)


def full_dependence(aval: Aval, out: Aval) -> list[Any]:
    """Return the factors of the matrix that is full."""
    return couple_axes(aval.shape, range(aval.ndim), np.zeros(out.shape, np.intp))


def places_of(aval: Aval) -> Any:
    """Return the numbers of the entries of a value, in its shape."""
    return np.arange(aval.size).reshape(aval.shape)


def shorten(shape: Sequence[int], axes: Any) -> tuple[int, ...]:
    """Return a shape with some of its axes of length one."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def couple_axes(shape: tuple[int, ...], axes: Any, groups: Any) -> list[Any]:
    """Return the factors for results that depend on all entries along some axes of an operand: on those of the group
    of number groups[i], numbered as the entries of the operand are with these axes of length one."""
    kept = shorten(shape, axes)
    number = np.broadcast_to(np.arange(prod(kept)).reshape(kept), shape)
    return [selection(groups, prod(kept)), selection(number, prod(kept)).T.tocsr()]


# -- elementwise ------------------------------------------
def elementwise_dependence(
    primitive: Any, index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> list[Any] | None:
    """An entry depends on those at its place, but where the coefficient is known to be zero."""
    aval = avals[index]
    if primitive.partials[index] is None:
        return None
    places = np.broadcast_to(places_of(aval), out.shape)
    if index in primitive.linear:
        together = primitive.linear if primitive.jointly else {index}
        others = [v for i, v in enumerate(values) if i not in together]
        if not any(v is UNKNOWN for v in others):
            operands = [
                (a.dtype.type(i == index) if i in together else v)
                for i, (v, a) in enumerate(zip(values, avals))
            ]
            with np.errstate(all="ignore"):
                scales = np.broadcast_to(np.asarray(primitive.kernel(*operands, **params)) != 0, out.shape)
            if not scales.all():
                places = np.where(scales, places, -1)
                return [selection(places, aval.size)] if scales.any() else None
    return [] if aval.shape == out.shape else [selection(places, aval.size)]


# -- linear -----------------------------------------------
def linear_dependence(
    primitive: Any, index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """A linear operation is applied to the numbers of the entries. If it only moves entries, or its transpose does,
    that tells the matrix, and else its columns do, one by one."""
    count = len(avals) if primitive.count is None else primitive.count
    if any(v is UNKNOWN for v in values[count:]) or primitive.bound_to_axis:
        return NotImplemented
    floats = [Aval(a.shape, FLOAT) for a in avals]
    zeros = [np.zeros(a.shape) for a in avals[:count]]

    def forward(x: Any) -> Any:
        return primitive.kernel(*zeros[:index], x, *zeros[index + 1 :], *values[count:], **params)

    def backward(ct: Any) -> Any:
        return densify(primitive.transpose(ct, [*floats[:count], *values[count:]], params)[index])

    places = moved_places(forward, avals[index], out)
    if places is not None:
        return [selection(places, avals[index].size)]
    places = moved_places(backward, out, avals[index])
    if places is not None:
        return [selection(places, out.size).T.tocsr()]
    return probed_dependence(primitive, index, [*zeros, *values[count:]], avals, out, params)


def moved_places(function: Callable[[Any], Any], given: Aval, result: Aval) -> Any:
    """Return from which entry each entry of a linear function's result comes, -1 where it is zero; None where the
    function does more than to move entries. Random numbers arrive as they are only if it does not."""
    numbers = np.arange(1.0, given.size + 1).reshape(given.shape)
    signs = np.random.default_rng(0).uniform(1, 2, given.shape)
    with np.errstate(all="ignore"):
        places, found = np.asarray(function(numbers)), np.asarray(function(signs))
    if places.dtype.kind != "f" or places.shape != result.shape or not (places == np.floor(places)).all():
        return None
    places = places.astype(np.intp) - 1
    if places.size and not (places.min() >= -1 and places.max() < given.size):
        return None
    moved = np.where(places >= 0, signs.reshape(-1)[np.maximum(places, 0)], 0) == found
    return places if moved.all() else None


def probed_dependence(
    primitive: Any, index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """Apply an operation, which is linear in one operand, to all unit vectors, unless these are too many. Along the
    axes that a param does not name as the operation's own, it does the same everywhere, and is asked once."""
    aval = avals[index]
    named = params.get("axes", params.get("axis"))
    if isinstance(named, int | tuple) and aval.ndim == out.ndim and index == 0 and len(avals) == 1:
        own = {axis % aval.ndim for axis in ((named,) if isinstance(named, int) else named)}
        along = [n if i in own or n != m else 1 for i, (n, m) in enumerate(zip(aval.shape, out.shape))]
        if prod(along) < aval.size:
            return repeated_dependence(primitive, along, aval, out, params)
    if aval.size * out.size > PROBED:
        return NotImplemented
    rows, columns = [], []
    step = max(1, PROBED_AT_ONCE // max(aval.size, out.size))
    flags = [i == index for i in range(len(values))]
    for scale in (1.0, 1j) if aval.dtype.kind == "c" else (1.0,):
        for start in range(0, aval.size, step):
            size = min(step, aval.size - start)
            units = np.zeros((size, aval.size), aval.dtype)
            units[np.arange(size), start + np.arange(size)] = scale
            given = [*values[:index], units.reshape(size, *aval.shape), *values[index + 1 :]]
            found = np.asarray(primitive.batch(given, flags, size, params)[0])
            number, place = np.nonzero(np.broadcast_to(found, (size, *out.shape)).reshape(size, -1))
            rows.append(place)
            columns.append(start + number)
    return [matrix(np.concatenate(rows), np.concatenate(columns), (out.size, aval.size))]


def repeated_dependence(primitive: Any, along: Sequence[int], aval: Aval, out: Aval, params: dict) -> Any:
    """Return the matrix of an operation that does along other axes what it does for a slice of the shape `along`."""
    small = Aval(tuple(along), aval.dtype)
    result = primitive.abstract_eval([small], params)
    factors = probed_dependence(primitive, 0, [UNKNOWN], [small], result, params)
    if factors is NotImplemented:
        return NotImplemented
    rows, columns = factors[0].nonzero()

    def lay(places: Any, slice_of: Aval, whole: Aval) -> Any:
        """Return the numbers that these entries of a slice have in each of the slices of the whole."""
        first = np.ravel_multi_index(np.unravel_index(places, slice_of.shape), whole.shape)
        repeated = places_of(whole)[tuple([slice(None) if n == 1 else slice(1) for n in along])]
        return (first[:, None] + repeated.reshape(1, -1)).reshape(-1)

    return [matrix(lay(rows, result, out), lay(columns, small, aval), (out.size, aval.size))]


# -- rules by name ----------------------------------------
def getitem_dependence(
    index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """Along axes that are indexed by values not known, an entry may come from everywhere."""
    if not any(v is UNKNOWN for v in values[1:]):
        return NotImplemented
    shape, arrays = avals[0].shape, iter(zip(values[1:], avals[1:]))
    axes, template, axis = set(), [], 0
    for e in params["index"]:
        if e is ARRAY:
            e, aval = next(arrays)
            if e is UNKNOWN:
                axes.add(axis)
                e = np.zeros(aval.shape, np.intp)
        template.append(e)
        axis += e is not None
    kept = shorten(shape, axes)
    return couple_axes(shape, axes, np.arange(prod(kept)).reshape(kept)[tuple(template)])


def window_dependence(
    index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """A slice whose starts along some axes are not known may lie anywhere along these."""
    if not any(v is UNKNOWN for v in values[1:]):
        return NotImplemented
    starts, shape = values[1:], avals[0].shape
    axes = {i for i, (v, n, m) in enumerate(zip(starts, shape, out.shape)) if v is UNKNOWN and n != m}
    kept = shorten(shape, axes)
    places = [
        np.zeros(m, np.intp) if i in axes else np.arange(m) + (0 if v is UNKNOWN else int(v))
        for i, (v, m) in enumerate(zip(starts, out.shape))
    ]
    groups = np.arange(prod(kept)).reshape(kept)[np.ix_(*places)]
    return couple_axes(shape, axes, groups)


def transpose_dependence(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule for an operand that is laid where `rule` finds it: operand 0 if it is the only one, or else
    operand 1, beside a first one that keeps its places."""

    def lay(index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict) -> Any:
        first = 1 if "shape" in params else 2
        if not any(v is UNKNOWN for v in values[first:]):
            return NotImplemented
        if index < first - 1:
            return []
        factors = rule(0, [UNKNOWN, *values[first:]], [out, *avals[first:]], avals[index], params)
        return [f.T.tocsr() for f in reversed(factors)]

    return lay


def contraction_dependence(
    index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """An entry depends on those with its letters, along all others; known numbers of the other operand that are zero
    do not count."""
    *operands, result = parse_spec(params["spec"])
    letters, other = operands[index], operands[1 - index]
    sizes = {c: n for spec, a in zip(operands, avals) for c, n in zip(spec, a.shape)}
    known = values[1 - index]
    fresh = [c for c in result if c not in other]
    if known is not UNKNOWN:
        places = np.nonzero(np.asarray(known))
        count, copies = len(places[0]), prod([sizes[c] for c in fresh])
        if count < avals[1 - index].size and count * copies <= JOINED:
            at = {c: p[:, None] for c, p in zip(other, places)}
            grid = np.indices([sizes[c] for c in fresh]).reshape(len(fresh), 1, copies)
            at.update(zip(fresh, grid))
            both = (count, copies)

            def number(spec: str) -> Any:
                total = np.zeros(both, np.intp)
                for c in spec:
                    total = total * sizes[c] + at[c]
                return total.reshape(-1)

            return [matrix(number(result), number(letters), (out.size, avals[index].size))]
    summed = {i for i, c in enumerate(letters) if c not in result}
    kept = shorten(avals[index].shape, summed)
    groups = np.arange(prod(kept)).reshape(kept).sum(tuple(summed))  # whose axes are letters of the result
    order = [c for c in letters if c in result]
    groups = groups.transpose([order.index(c) for c in result if c in order])
    groups = np.expand_dims(groups, tuple([i for i, c in enumerate(result) if c not in order]))
    return couple_axes(avals[index].shape, summed, np.broadcast_to(groups, out.shape))


def convolution_dependence(
    index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """y[i + k] has x[i]·w[k]."""
    other = values[1 - index]
    taps = np.arange(avals[1 - index].size) if other is UNKNOWN else np.flatnonzero(np.asarray(other))
    n = avals[index].size
    if n * len(taps) > JOINED or out.ndim != 1:
        return NotImplemented
    rows = np.add.outer(np.arange(n), taps)
    columns = np.broadcast_to(np.arange(n)[:, None], rows.shape)
    return [matrix(rows.reshape(-1), columns.reshape(-1), (out.size, n))]


def correlation_dependence(
    index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """y[b, g, f, …] depends on x[b, g, :, …] at the places of the taps, axis by axis, and on all of w[g, f]."""
    x, w = avals
    if index == 1:
        groups = np.arange(w.shape[0] * w.shape[1]).reshape(1, *w.shape[:2], *[1] * (out.ndim - 3))
        return couple_axes(w.shape, range(2, w.ndim), np.broadcast_to(groups, out.shape))
    product = sparse_library().kron
    batch, group, channels = x.shape[:3]
    found = sparse_library().eye_array(batch * group, dtype=bool, format="csr")
    found = product(found, np.ones((w.shape[1], channels), bool), format="csr")
    for axis, (n, k) in enumerate(zip(x.shape[3:], w.shape[3:])):
        own = {name: (value[axis],) for name, value in params.items()}
        taps = ops.correlate.primitive.kernel(np.eye(n).reshape(n, 1, 1, n), np.ones((1, 1, 1, k)), **own)
        found = product(found, taps.reshape(n, -1).T != 0, format="csr")
    return [found.astype(bool)]


def solution_dependence(
    index: int, values: Sequence[Any], avals: Sequence[Aval], out: Aval, params: dict
) -> Any:
    """A column of the solution depends on the column of the right-hand sides, and on all of its matrix."""
    aval = avals[index]
    if index == 1 and aval.shape == out.shape:
        kept = (*aval.shape[:-2], 1, aval.shape[-1])
    elif aval.ndim == out.ndim:
        kept = (*aval.shape[:-2], 1, 1)
    else:
        return NotImplemented
    axes = {i for i, n in enumerate(kept) if n == 1}
    return couple_axes(aval.shape, axes, np.broadcast_to(np.arange(prod(kept)).reshape(kept), out.shape))


RULES: dict[str, Callable[..., Any]] = {
    "getitem": getitem_dependence,
    "scatter_add": transpose_dependence(getitem_dependence),
    "update": transpose_dependence(getitem_dependence),
    "dynamic_slice": window_dependence,
    "dynamic_update_slice": transpose_dependence(window_dependence),
    "contract": contraction_dependence,
    "convolve": convolution_dependence,
    "correlate": correlation_dependence,
    "solve": solution_dependence,
    "triangular_solve": solution_dependence,
}
