"""Gradients of many examples with respect to one parameter, formed only as far as necessary.

The gradient of a parameter that meets an activation in a contraction is, for example i, a sum of outer products,

    Gᵢ = Σₚ lᵢₚ rᵢₚᵀ,        l: activations, r: cotangents, p: positions (of a sequence, an image; often one)

so that ‖Gᵢ‖² = Σₚ_q ⟨lᵢₚ, lᵢ_q⟩⟨rᵢₚ, rᵢ_q⟩ and Σᵢ wᵢGᵢ is one product of matrices (Goodfellow, "Efficient per-example
gradient computations", 2015; Li et al., "Large language models can be strong differentially private learners", 2022;
Bu et al., "Differentially private optimization on large model at small cost", 2023).

All functions here are composed of primitives, and so can be differentiated, mapped and staged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..core.aval import Aval, aval_of, kind_of
from ..core.costs import WRITTEN_GRADIENTS
from ..ops.contraction import parse_spec
from ..ops.indexing import ARRAY, take_along, update
from ..ops.shaping import inverse_permutation
from ..ops.sorting import argsort

ALL = slice(None)


def contract(x: Any, y: Any, spec: str) -> Any:
    """Contract by the specification, without the axes of one entry, which make NumPy's products slow."""
    left, right, out = parse_spec(spec)
    sizes = {**dict(zip(left, x.shape)), **dict(zip(right, y.shape))}
    if 1 not in sizes.values():
        return ops.contract(x, y, spec=spec)

    def long(letters: str) -> str:
        return "".join(c for c in letters if sizes[c] != 1)

    def shorten(value: Any, letters: str) -> Any:
        return ops.reshape(value, shape=tuple(sizes[c] for c in long(letters)))

    short = f"{long(left)},{long(right)}->{long(out)}"
    result = ops.contract(shorten(x, left), shorten(y, right), spec=short)
    return ops.reshape(result, shape=tuple(sizes[c] for c in out))


def widen(values: Any) -> Any:
    """Convert what has half precision, in which squares overflow and sums lose their small terms."""
    dtype = aval_of(values).dtype
    return ops.convert(values, dtype=np.dtype(np.float32)) if dtype.itemsize == 2 else values


def row_norms(values: Any) -> Any:
    """Return the sum of squares of each entry of the leading axis."""
    rows = ops.reshape(values, shape=(values.shape[0], prod(values.shape[1:])))
    if kind_of(rows.dtype) == "c":
        return ops.add(row_norms(ops.real(rows)), row_norms(ops.imag(rows)))
    return ops.reduce_sum(ops.square(rows), axes=(1,))


def root(squares: Any) -> Any:
    """Return square roots, whose derivative at zero is zero."""
    is_zero = ops.equal(squares, 0)
    return ops.where(is_zero, 0.0, ops.sqrt(ops.where(is_zero, 1.0, squares)))


def greatest_along(values: Any, axes: tuple[int, ...]) -> Any:
    """Return the greatest modulus along axes, as a constant."""
    size = ops.absolute(ops.stop_gradient(values))
    return ops.reduce_max(size, axes=axes) if values.size else ops.reduce_sum(size, axes=axes)


def unit_near(greatest: Any) -> Any:
    """Return powers of two near numbers, by which one can divide: 1 for 0."""
    limits = np.finfo(greatest.dtype)
    normal = ops.minimum(ops.maximum(greatest, float(limits.smallest_normal)), float(limits.max))
    return ops.exp2(ops.floor(ops.log2(ops.where(ops.equal(greatest, 0), 1.0, normal))))


def divide_rows(values: Any, divisors: Any) -> Any:
    """Divide each entry of the leading axis by a number."""
    return ops.divide(
        values, ops.reshape(divisors, shape=(values.shape[0],) + (1,) * (len(values.shape) - 1))
    )


def square(values: Any) -> Any:
    """Return |x|² of each entry."""
    return ops.square(ops.absolute(values) if kind_of(values.dtype) == "c" else values)


def sum_rows(values: Any, weights: Any) -> Any:
    """Return the weighted sum of the entries of the leading axis."""
    count, *shape = values.shape
    rows = ops.reshape(values, shape=(count, prod(shape)))
    return ops.reshape(ops.contract(weights, rows, spec="i,ij->j"), shape=tuple(shape))


def take_rows(value: Any, start: int, stop: int) -> Any:
    """Take the examples start…stop of the leading axis."""
    if (start, stop) == (0, value.shape[0]):
        return value
    return ops.getitem(value, index=(slice(start, stop, None),) + (ALL,) * (len(value.shape) - 1))


def join_rows(parts: Sequence[Any]) -> Any:
    """Join arrays along the axis of the examples."""
    return parts[0] if len(parts) == 1 else ops.concatenate(*parts, axis=0)


def blocks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut the examples, of `size` entries each, into blocks of bounded size."""
    step = max(1, WRITTEN_GRADIENTS // max(size, 1))
    for start in range(0, max(count, 1), step):
        yield start, min(start + step, count)


class Gradients:
    """The gradients of the examples with respect to one leaf of the parameters.

    `count` is the number of examples, `shape` and `dtype` are the leaf's. What is squared has float32 where the leaf
    has half precision.
    """

    count: int
    shape: tuple[int, ...]
    dtype: Any

    def take(self, start: int, stop: int) -> Any:
        """Write the gradients of the examples start…stop out, along a leading axis."""
        raise NotImplementedError

    def squared_norms(self) -> Any:
        """Return ‖Gᵢ‖² of every example."""
        raise NotImplementedError

    def sizes(self) -> Any:
        """Return numbers (N,) of about the size of the greatest entries, as constants; 0 where there are only zeros."""
        raise NotImplementedError

    def in_units(self, units: Any) -> Gradients:
        """Return the gradients divided by these numbers (N,), of which no square overflows if they are of the sizes."""
        raise NotImplementedError

    def weighted_sum(self, weights: Any) -> Any:
        """Return Σᵢ wᵢGᵢ."""
        raise NotImplementedError

    def square_sum(self, weights: Any, center: Any = None) -> Any:
        """Return Σᵢ wᵢ|Gᵢ − center|², entry by entry."""
        total: Any = None
        for start, stop in blocks(self.count, prod(self.shape)):
            values = self.take(start, stop)
            values = values if center is None else ops.subtract(values, center)
            part = sum_rows(square(values), take_rows(weights, start, stop))
            total = part if total is None else ops.add(total, part)
        return total

    def gram(self) -> Any:
        """Return ⟨Gᵢ, Gⱼ⟩, for complex gradients its real part, for all pairs of examples."""
        return row_products(self.take(0, self.count))


def row_products(values: Any) -> Any:
    """Return the inner products of all pairs of entries of the leading axis."""
    rows = ops.reshape(values, shape=(values.shape[0], prod(values.shape[1:])))
    if kind_of(rows.dtype) == "c":
        return ops.add(row_products(ops.real(rows)), row_products(ops.imag(rows)))
    return ops.contract(rows, rows, spec="ik,jk->ij")


class DenseGradients(Gradients):
    """Gradients that are written out: `values` has a leading axis for the examples."""

    def __init__(self, values: Any, dtype: Any):
        self.count, *shape = values.shape
        self.values, self.shape, self.dtype = widen(values), tuple(shape), dtype

    def take(self, start: int, stop: int) -> Any:
        return take_rows(self.values, start, stop)

    def squared_norms(self) -> Any:
        return row_norms(self.values)

    def sizes(self) -> Any:
        return greatest_along(self.values, tuple(range(1, len(self.values.shape))))

    def in_units(self, units: Any) -> Gradients:
        return DenseGradients(divide_rows(self.values, units), self.dtype)

    def weighted_sum(self, weights: Any) -> Any:
        return ops.convert(sum_rows(self.values, weights), dtype=self.dtype)


class OneHot(NamedTuple):
    """Rows of the identity matrix of a size, at (example, position): what a lookup multiplies a table with."""

    places: Any
    size: int

    def first_positions(self) -> Any:
        """Return for each position the first one of its example that looks up the same row."""
        count, positions = self.places.shape
        order = argsort(self.places, axis=1)
        found = take_along(self.places, order, 1)
        before = ops.getitem(found, np.arange(-1, positions - 1), index=(ALL, ARRAY))
        is_new = ops.not_equal(found, before)  # whatever this says of the very first
        starts = ops.cummax(ops.where(is_new, np.arange(positions), 0), axis=1)
        firsts = take_along(order, starts, 1)
        return update(firsts, firsts, np.arange(count)[:, None], order, index=(ARRAY, ARRAY))


class Factors(NamedTuple):
    """Sums of outer products: (example, stack, position, row) and (example, stack, position, column). They are
    `distinct` if no example looks up a row twice, except with zeros."""

    left: Any
    right: Any
    distinct: bool = False

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The numbers of entries of a stack, of positions, of rows and of columns."""
        rows = self.left.size if isinstance(self.left, OneHot) else self.left.shape[-1]
        return (*self.right.shape[1:3], rows, self.right.shape[3])

    def write_out(self, start: int, stop: int) -> Any:
        """Return the sums of the examples start…stop, (example, stack, row, column)."""
        right = take_rows(self.right, start, stop)
        if not isinstance(self.left, OneHot):
            return contract(take_rows(self.left, start, stop), right, "nbpm,nbpc->nbmc")
        places = take_rows(self.left.places, start, stop)
        count, _, positions, columns = right.shape
        update = ops.reshape(right, shape=(count, positions, columns))
        shape = (count, self.left.size, columns)
        examples = np.arange(count)[:, None]
        total = ops.scatter_add(update, examples, places, index=(ARRAY, ARRAY, ALL), shape=shape)
        return ops.reshape(total, shape=(count, 1, *shape[1:]))

    @property
    def scales(self) -> tuple[Any, Any]:
        """Units of the rows on the left, None for a lookup, and with these the sizes of the products, as constants
        (example, stack, position)."""
        sizes = greatest_along(self.right, (3,))
        if isinstance(self.left, OneHot):
            return None, sizes
        units = unit_near(greatest_along(self.left, (3,)))
        return units, ops.multiply(sizes, units)

    def in_units(self, units: Any, scales: tuple[Any, Any]) -> Factors:
        """Return the products divided by units (N,), with factors on the left of about unit size."""
        left, sizes = scales
        if left is None:
            return self._replace(right=divide_rows(self.right, units))
        right = divide_rows(ops.where(ops.equal(sizes, 0), 0.0, left), units)  # rows of zeros stay zeros
        shape = (*left.shape, 1)
        left, right = ops.reshape(left, shape=shape), ops.reshape(right, shape=shape)
        return Factors(ops.divide(self.left, left), ops.multiply(self.right, right))

    def weighted_sum(self, weights: Any) -> Any:
        """Return Σᵢ wᵢGᵢ, (stack, row, column)."""
        scale = ops.reshape(weights, shape=(weights.shape[0], 1, 1, 1))
        left, right, _ = self
        if isinstance(left, OneHot):
            count, _, positions, columns = right.shape
            update = ops.reshape(ops.multiply(right, scale), shape=(count * positions, columns))
            places = ops.reshape(left.places, shape=(count * positions,))
            shape = (left.size, columns)
            total = ops.scatter_add(update, places, index=(ARRAY, ALL), shape=shape)
            return ops.reshape(total, shape=(1, *shape))
        if left.shape[-1] < right.shape[-1]:
            left = ops.multiply(left, scale)
        else:
            right = ops.multiply(right, scale)
        return contract(left, right, "nbpm,nbpc->bmc")

    def squared_norms(self) -> Any:
        """Return ‖Gᵢ‖² of every example, of distinct products."""
        if self.distinct:
            return row_norms(self.right)
        stack, positions, rows, columns = self.sizes
        count = self.right.shape[0]
        if positions * (rows + columns) > rows * columns:
            pairs = blocks(count, stack * rows * columns)
            return join_rows([row_norms(self.write_out(*pair)) for pair in pairs])
        if positions == 1:
            left, right = (ops.reduce_sum(ops.square(v), axes=(2, 3)) for v in (self.left, self.right))
            return ops.reduce_sum(ops.multiply(left, right), axes=(1,))
        left, right = (contract(v, v, "nbpm,nbqm->nbpq") for v in (self.left, self.right))
        return contract(left, right, "nbpq,nbpq->n")

    def merge_repeated(self) -> Factors:
        """Return the same products, distinct: the first position that looks up a row has the sum of all."""
        if self.distinct or not isinstance(self.left, OneHot):
            return self
        count, _, positions, columns = self.right.shape
        if positions == 1:
            return self._replace(distinct=True)
        places = ops.add(self.left.first_positions(), positions * np.arange(count)[:, None])
        rows = (count * positions, columns)
        update, places = ops.reshape(self.right, shape=rows), ops.reshape(places, shape=rows[:1])
        total = ops.scatter_add(update, places, index=(ARRAY, ALL), shape=rows)
        return Factors(self.left, ops.reshape(total, shape=self.right.shape), True)


def join_uses(parts: Sequence[Factors]) -> list[Factors]:
    """Join those Factors that are alike: more uses are more positions."""

    def join(values: Sequence[Any], axis: int) -> Any:
        return values[0] if len(values) == 1 else ops.concatenate(*values, axis=axis)

    lookups = [f for f in parts if isinstance(f.left, OneHot)]
    others = [f for f in parts if not isinstance(f.left, OneHot)]
    found = [Factors(join([f.left for f in others], 2), join([f.right for f in others], 2))] if others else []
    if lookups:
        places = join([f.left.places for f in lookups], 1)
        found.append(Factors(OneHot(places, lookups[0].left.size), join([f.right for f in lookups], 2)))
    return found


def inner_products(a: Factors, b: Factors) -> Any:
    """Return ⟨Gᵢ, Hᵢ⟩ of every example, where the second one is of a lookup."""
    places = b.left.places
    count, _, positions, rows = a.left.shape
    table = ops.permute(ops.reshape(a.left, shape=(count, positions, rows)), axes=(0, 2, 1))
    left = ops.getitem(table, np.arange(count)[:, None], places, index=(ARRAY, ARRAY, ALL))
    right = contract(b.right, a.right, "nbqc,nbpc->nqp")
    return contract(left, right, "nqp,nqp->n")


class FactoredGradients(Gradients):
    """Gradients that are sums of outer products. `parts` are the Factors of each use of the leaf, `arrangement` the
    steps that lead from the leaf to (stack, row, column)."""

    def __init__(self, parts: Sequence[Factors], arrangement: Arrangement, leaf: Aval):
        self.parts = join_uses(parts) if len(parts) > 1 else [*parts]
        self.leaf, self.arrangement, self.shape, self.dtype = leaf, arrangement, leaf.shape, leaf.dtype
        self.count = self.parts[0].right.shape[0]

    def take(self, start: int, stop: int) -> Any:
        first, *rest = (part.write_out(start, stop) for part in self.parts)
        for other in rest:
            first = ops.add(first, other)
        return restore(first, self.arrangement, self.shape, 1)

    def squared_norms(self) -> Any:
        first, *rest = (part.merge_repeated() for part in self.parts)
        total = first.squared_norms()
        for lookup in rest:  # beside products
            crossed = ops.multiply(inner_products(first, lookup), 2)
            total = ops.add(total, ops.add(lookup.squared_norms(), crossed))
        return ops.maximum(total, 0)  # sums of terms of both signs may end below

    def sizes(self) -> Any:
        return reduce(ops.maximum, [greatest_along(sizes, (1, 2)) for _, (_, sizes) in self.scaled])

    def in_units(self, units: Any) -> Gradients:
        parts = [part.in_units(units, scales) for part, scales in self.scaled]
        return FactoredGradients(parts, self.arrangement, self.leaf)

    @cached_property
    def scaled(self) -> list[tuple[Factors, Any]]:
        """The parts, without repeated lookups, with their scales."""
        parts = [part.merge_repeated() for part in self.parts]
        return [(part, part.scales) for part in parts]

    def weighted_sum(self, weights: Any) -> Any:
        first, *rest = (part.weighted_sum(weights) for part in self.parts)
        for other in rest:
            first = ops.add(first, other)
        return ops.convert(restore(first, self.arrangement, self.shape, 0), dtype=self.dtype)

    def square_sum(self, weights: Any, center: Any = None) -> Any:
        part = self.parts[0]
        is_lookup = isinstance(part.left, OneHot)
        if center is not None or len(self.parts) > 1 or not (is_lookup or part.sizes[1] == 1):
            return super().square_sum(weights, center)
        if is_lookup:
            squares = Factors(part.left, ops.square(part.merge_repeated().right))
        else:
            squares = Factors(ops.square(part.left), ops.square(part.right))
        return restore(squares.weighted_sum(weights), self.arrangement, self.shape, 0)

    def gram(self) -> Any:
        part = self.parts[0]
        _, positions, rows, columns = part.sizes
        if len(self.parts) > 1 or isinstance(part.left, OneHot):
            return super().gram()
        if self.count * positions * positions > rows * columns:
            return super().gram()
        left = contract(part.left, part.left, "nbpm,kbqm->nkbpq")
        right = contract(part.right, part.right, "nbpc,kbqc->nkbpq")
        return ops.reduce_sum(ops.multiply(left, right), axes=(2, 3, 4))


# -- how the axes of a leaf become a stack, rows and columns
Arrangement = tuple[tuple[str, tuple[int, ...]], ...]  # ("permute", axes) and ("reshape", shape)


def simplify(steps: Sequence[tuple[str, tuple[int, ...]]], shape: tuple[int, ...]) -> Arrangement:
    """Write steps that rearrange an array of this shape in the one way in which they can be compared."""
    kept: list[tuple[str, tuple[int, ...]]] = []
    shapes = [shape]  # before each step kept, and after the last
    for kind, numbers in steps:
        if kept and kept[-1][0] == kind:
            _, before = kept.pop()
            shapes.pop()
            numbers = tuple(before[a] for a in numbers) if kind == "permute" else numbers
        have = shapes[-1]
        if numbers == (tuple(range(len(have))) if kind == "permute" else have):
            continue
        kept.append((kind, numbers))
        shapes.append(tuple(have[a] for a in numbers) if kind == "permute" else numbers)
    return tuple(kept)


def restore(value: Any, arrangement: Arrangement, shape: tuple[int, ...], lead: int) -> Any:
    """Take steps back to an array of this shape, after `lead` axes."""
    front = value.shape[:lead]
    shapes = [shape]
    for kind, numbers in arrangement:
        shapes.append(tuple(shapes[-1][a] for a in numbers) if kind == "permute" else numbers)
    for (kind, numbers), before in zip(reversed(arrangement), reversed(shapes[:-1])):
        if kind == "permute":
            axes = (*range(lead), *(a + lead for a in inverse_permutation(numbers)))
            value = ops.permute(value, axes=axes)
        else:
            value = ops.reshape(value, shape=(*front, *before))
    return value
