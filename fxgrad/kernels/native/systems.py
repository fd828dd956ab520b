"""Small linear systems and factorizations in the steps of loops. A zero pivot is a doubt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ...core.costs import SOLVED_ORDER
from ...core.graph import Equation, Literal
from . import lanes, math
from .entries import Position, flat_number, operand_of, walk, write_entries
from .ir import I64, Type, Value, fma
from .math import formats
from .math.complex_numbers import Complex
from .processor import vector_bytes
from .products import COLUMNS
from .steps import StepWriter, size_in_memory, step_rule


class Block(NamedTuple):
    """Columns of a matrix from `begin` on, as vectors of a width; a mask tells which lanes of one are inside."""

    begin: Value
    width: int
    masks: Sequence[Value | None]


class Matrices:
    """A stack of matrices in memory, the last two axes of a value: at one place of the stack. With `swapped` they are
    seen as their transposes."""

    swapped = False

    def __init__(self, w: StepWriter, pointer: Value, shape: tuple[int, ...], type: Type, stack: Value | int):
        self.w, self.type, (self.rows, self.columns) = w, type, shape[-2:]
        self.pointer = w.function.place(pointer, stack * (self.rows * self.columns), type.element)

    @property
    def transpose(self) -> Matrices:
        """The same matrices, whose rows are columns."""
        found = copy(self)
        found.swapped = not self.swapped
        return found

    def load(self, i: Value, j: Value) -> Value:
        i, j = (j, i) if self.swapped else (i, j)
        return self.w.function.load(self.pointer, self.type, i * self.columns + j)

    def store(self, value: Value, i: Value, j: Value) -> None:
        i, j = (j, i) if self.swapped else (i, j)
        self.w.function.store(value, self.pointer, i * self.columns + j)

    def load_block(self, i: Value, block: Block) -> list[Value]:
        """Load the vectors of a row in a block of columns."""
        f, found = self.w.function, []
        for number, mask in enumerate(block.masks):
            type = Type(self.type.element, block.width)
            at = i * self.columns + block.begin + number * block.width
            found.append(
                f.load(self.pointer, type, at)
                if mask is None
                else f.load_masked(self.pointer, mask, type, at)
            )
        return found

    def store_block(self, vectors: Sequence[Value], i: Value, block: Block) -> None:
        f = self.w.function
        for number, (vector, mask) in enumerate(zip(vectors, block.masks)):
            at = i * self.columns + block.begin + number * block.width
            if mask is None:
                f.store(vector, self.pointer, at)
            else:
                f.store_masked(vector, self.pointer, mask, at)

    def for_blocks(self, visit: Callable[[Block], None]) -> None:
        """Write a loop over blocks of columns, which are so narrow that a row of one is in registers."""
        f, width = self.w.function, vector_bytes() * 8 // self.type.bits
        whole = self.columns - self.columns % (width * COLUMNS)
        if whole:
            with f.loop(whole, step=width * COLUMNS) as loop:
                visit(Block(loop.index, width, [None] * COLUMNS))
        if rest := self.columns - whole:
            masks: list[Value | None] = [None] * (rest // width)
            if rest % width:
                masks.append(f.lanes_below(f.constant(rest % width, I64), width))
            visit(Block(f.constant(whole, I64), width, masks))

    def mirror_lower(self) -> None:
        """Write the lower triangle into the upper one."""
        with self.w.function.loop(self.rows) as row, self.w.function.loop(row.index) as column:
            self.store(self.load(row.index, column.index), column.index, row.index)

    def assign_transpose(self, other: Matrices) -> None:
        """Write the transpose of another matrix."""
        with self.w.function.loop(self.rows) as row, self.w.function.loop(self.columns) as column:
            self.store(other.load(column.index, row.index), row.index, column.index)

    def assign_product(
        self, left: Matrices, right: Matrices, range_of: Callable[[Value], tuple[Value | int, Value | int]]
    ) -> None:
        """Write the product of two matrices, of which row i has terms in a range only."""
        f = self.w.function

        def visit(block: Block) -> None:
            zero = f.constant(0.0, Type(self.type.element, block.width))
            with f.loop(self.rows) as rows:
                i = rows.index
                first, stop = range_of(i)
                with f.loop(stop, first, carry=[zero] * len(block.masks)) as terms:
                    factor = f.splat(left.load(i, terms.index), block.width)
                    vectors = right.load_block(terms.index, block)
                    terms.update(*(fma(factor, v, t) for v, t in zip(vectors, terms.carry)))
                self.store_block(terms.carry, i, block)

        self.for_blocks(visit)

    def exchange(self, i: Value, k: Value) -> None:
        """Exchange two rows."""
        with self.w.function.loop(self.columns) as column:
            j = column.index
            one, other = self.load(i, j), self.load(k, j)
            self.store(one, k, j)
            self.store(other, i, j)

    def subtract_row(self, factor: Value, k: Value, i: Value, start: Value | int = 0) -> None:
        """Subtract a multiple of row k from row i, from a column on."""
        with self.w.function.loop(self.columns, start) as column:
            j = column.index
            self.store(fma(-factor, self.load(k, j), self.load(i, j)), i, j)


def admits_system(e: Equation) -> bool:
    a, b = e.inputs[:2]
    dtypes = {v.aval.dtype for v in (*e.inputs, *e.outputs)}
    known = dtypes in ({np.dtype(np.float64)}, {np.dtype(np.float32)}) and not e.params.get("transposed")
    return known and len(e.inputs) == 2 and a.aval.shape[-1] <= SOLVED_ORDER and type(b) is not Literal


def copy_operand(w: StepWriter, atom: object, target: Value | None = None) -> Value:
    """Return where a copy of an operand lies."""
    place = w.reserve(size_in_memory(atom.aval)) if target is None else target  # type: ignore[attr-defined]
    w.copy(place, w.place(atom), atom.aval)  # type: ignore[attr-defined]
    return place


@step_rule("solve", admits=admits_system)
def write_solve(w: StepWriter, e: Equation) -> None:
    (a, b), (result,) = e.inputs, e.outputs
    target = w.target(result)
    eliminate(w, a, copy_operand(w, b, target), b.aval.shape)
    w.settle(result, target)


def admits_factor(e: Equation) -> bool:
    """Whether an equation is one of small matrices of one floating dtype."""
    dtypes = {v.aval.dtype for v in (*e.inputs, *e.outputs)}
    sound = dtypes in ({np.dtype(np.float64)}, {np.dtype(np.float32)})
    return (
        sound and e.inputs[0].aval.shape[-1] <= SOLVED_ORDER and all(type(a) is not Literal for a in e.inputs)
    )


@step_rule("inv", admits=admits_factor)
def write_inverse(w: StepWriter, e: Equation) -> None:
    """Write the solution of systems whose right-hand sides are the columns of the identity."""
    (a,), (result,), f = e.inputs, e.outputs, w.function
    shape, target = a.aval.shape, w.target(result)
    w.clear(target, result.aval)
    type = Type(lanes.memory_element(result.aval.dtype))

    def visit(position: Position) -> None:
        x = Matrices(w, target, shape, type, stack_number(position, shape[:-2]))
        with f.loop(shape[-1]) as loop:
            x.store(f.constant(1.0, type), loop.index, loop.index)

    walk(w, shape[:-2], visit)
    eliminate(w, a, target, shape)
    w.settle(result, target)


def eliminate(
    w: StepWriter,
    a: Any,
    right: Value | None = None,
    shape: tuple[int, ...] = (),
    finish: Callable[[Position, Matrices, Value], None] | None = None,
) -> None:
    """Write Gaussian elimination, by which right-hand sides of a shape at a place become the solutions. `finish` is
    given what is left of each matrix, an upper triangle, and the sign of the exchanges of its rows."""
    f, type, order = w.function, Type(lanes.memory_element(a.aval.dtype)), a.aval.shape[-1]
    left = copy_operand(w, a)

    def visit(position: Position) -> None:
        stack = stack_number(position, a.aval.shape[:-2])
        matrix = Matrices(w, left, a.aval.shape, type, stack)
        columns = [] if right is None else [Matrices(w, right, shape, type, stack)]
        with f.loop(order, carry=[f.constant(1.0, type)]) as pivots:
            k = pivots.index
            with f.loop(order, k + 1, carry=[matrix.load(k, k).intrinsic("fabs"), k]) as rows:
                size = matrix.load(rows.index, k).intrinsic("fabs")
                best, place = rows.carry
                rows.update((size > best).select(size, best), (size > best).select(rows.index, place))
            best, place = rows.carry
            w.doubt(~(best > 0.0))
            with f.when(place > k):
                for x in (matrix, *columns):
                    x.exchange(k, place)
            pivot = matrix.load(k, k)
            pivot = formats.guard(pivot.equals(0.0), 1.0, pivot)
            with f.loop(order, k + 1) as rows:
                factor = matrix.load(rows.index, k) / pivot
                matrix.subtract_row(factor, k, rows.index, k + 1)
                for x in columns:
                    x.subtract_row(factor, k, rows.index)
            (sign,) = pivots.carry
            pivots.update((place > k).select(-sign, sign))
        for x in columns:
            substitute(matrix, x, order, False, False)
        if finish is not None:
            finish(position, matrix, pivots.carry[0])

    walk(w, a.aval.shape[:-2], visit)


@step_rule("det", "slogdet", admits=admits_factor)
def write_determinant(w: StepWriter, e: Equation) -> None:
    """Write determinants, or their signs and the logarithms of their sizes; of a singular matrix they are a doubt."""
    (a,), f = e.inputs, w.function
    stack, dtype = a.aval.shape[:-2], a.aval.dtype
    type, targets = Type(lanes.memory_element(dtype)), [w.target(v) for v in e.outputs]

    def finish(position: Position, matrix: Matrices, sign: Value) -> None:
        with f.loop(matrix.rows, carry=[sign, f.constant(0.0, type)]) as loop:
            pivot = matrix.load(loop.index, loop.index)
            product, total = loop.carry
            if e.primitive.computes == "det":
                loop.update(product * pivot, total)
            else:
                size = formats.guard(pivot.equals(0.0), 1.0, pivot.intrinsic("fabs"))
                logarithm: Any = math.apply("log", size)
                loop.update((pivot < 0.0).select(-product, product), total + logarithm)
        for target, value in zip(targets, loop.carry):
            w.store_entry(value, target, flat_number(position, stack))

    eliminate(w, a, finish=finish)
    for v, target in zip(e.outputs, targets):
        w.settle(v, target)


def stack_number(position: Position, shape: tuple[int, ...]) -> Value | int:
    """Return the number of a matrix in a stack."""
    total: Value | int = 0
    for index, n in zip(position, shape):
        total = index + total * n if isinstance(index, Value) else total * n + index
    return total


def substitute(matrix: Matrices, x: Matrices, order: int, lower: bool, unit: bool) -> None:
    """Write the solution of a triangular system in the place of the right-hand sides."""
    w, f = matrix.w, matrix.w.function

    def visit(block: Block) -> None:
        with f.loop(order) as turns:
            i = turns.index if lower else (order - 1) - turns.index
            with f.loop(turns.index, carry=x.load_block(i, block)) as known:
                k = known.index if lower else i + 1 + known.index
                factor = f.splat(-matrix.load(i, k), block.width)
                known.update(*(fma(factor, v, t) for v, t in zip(x.load_block(k, block), known.carry)))
            totals = known.carry
            if not unit:
                pivot = matrix.load(i, i)
                w.doubt(pivot.equals(0.0))
                divisor = f.splat(formats.guard(pivot.equals(0.0), 1.0, pivot), block.width)
                totals = [t / divisor for t in totals]
            x.store_block(totals, i, block)

    x.for_blocks(visit)


@step_rule("triangular_solve", admits=admits_system)
def write_triangular_solve(w: StepWriter, e: Equation) -> None:
    (a, b), (result,), params = e.inputs, e.outputs, e.params
    type = Type(lanes.memory_element(result.aval.dtype))
    target = w.target(result)
    left, right = w.place(a), copy_operand(w, b, target)

    def visit(position: Position) -> None:
        stack = stack_number(position, a.aval.shape[:-2])
        matrix = Matrices(w, left, a.aval.shape, type, stack)
        x = Matrices(w, right, b.aval.shape, type, stack)
        substitute(matrix, x, a.aval.shape[-1], params["lower"], params["unit_diagonal"])

    walk(w, a.aval.shape[:-2], visit)
    w.settle(result, target)


@step_rule("cholesky", admits=admits_factor)
def write_cholesky(w: StepWriter, e: Equation) -> None:
    """Write the lower factor of the symmetric part of a matrix; one that is not positive definite raises a doubt."""
    (a,), (result,), f = e.inputs, e.outputs, w.function
    type = Type(lanes.memory_element(result.aval.dtype))
    order, target, source = a.aval.shape[-1], w.target(result), w.place(a)

    def visit(position: Position) -> None:
        stack = stack_number(position, a.aval.shape[:-2])
        matrix, factor = (Matrices(w, p, a.aval.shape, type, stack) for p in (source, target))
        with f.loop(order) as rows, f.loop(order) as columns:
            i, j = rows.index, columns.index
            if e.params.get("hermitian"):
                total = matrix.load(i, j)
            else:
                total = matrix.load(i, j) * 0.5 + matrix.load(j, i) * 0.5
            inside = j <= i
            with f.loop(inside.select(j, 0), carry=[total]) as terms:
                k = terms.index
                terms.update(fma(-factor.load(i, k), factor.load(j, k), terms.carry[0]))
            (left,) = terms.carry
            w.doubt(j.equals(i) & ~(left > 0.0))
            root = formats.guard(~(j.equals(i) & (left > 0.0)), 1.0, left).intrinsic("sqrt")
            known = inside.select(j, 0)
            pivot = formats.guard(~(j < i), 1.0, factor.load(known, known))
            factor.store(inside.select(j.equals(i).select(root, left / pivot), 0.0), i, j)

    walk(w, a.aval.shape[:-2], visit)
    w.settle(result, target)


@step_rule("cholesky_slope", "cholesky_slope_transpose", admits=admits_factor)
def write_cholesky_slope(w: StepWriter, e: Equation) -> None:
    """Write LΦ(L⁻¹HL⁻ᵀ), H the symmetric part of T, or its transpose, the symmetric part of L⁻ᵀΦ(LᵀT)L⁻¹. Φ is the
    lower triangle with half of the diagonal; see `kernels.cholesky`."""
    (a, t), (result,), f = e.inputs, e.outputs, w.function
    type, shape, order = Type(lanes.memory_element(result.aval.dtype)), a.aval.shape, a.aval.shape[-1]
    places = [
        w.place(a),
        w.place(t),
        w.target(result),
        *(w.reserve(order * order * type.bits // 8) for _ in range(2)),
    ]
    forwards = e.primitive.computes == "cholesky_slope"

    def visit(position: Position) -> None:
        stack = stack_number(position, shape[:-2])
        factor, slope, y = (Matrices(w, p, shape, type, stack) for p in places[:3])
        inner, turned = (Matrices(w, p, shape, type, 0) for p in places[3:])
        solved = factor if forwards else factor.transpose
        if forwards:
            with f.loop(order) as rows, f.loop(order) as columns:
                i, j = rows.index, columns.index
                inner.store(0.5 * (slope.load(i, j) + slope.load(j, i)), i, j)
        else:  # P + Pᵀ for P = Φ(LᵀT)
            inner.assign_product(factor.transpose, slope, lambda i: (i, order))
            inner.mirror_lower()
        substitute(solved, inner, order, forwards, False)
        turned.assign_transpose(inner)
        substitute(solved, turned, order, forwards, False)
        with f.loop(order) as rows, f.loop(order) as columns:
            i, j = rows.index, columns.index
            if forwards:
                entry = turned.load(j, i)
                inner.store((j < i).select(entry, j.equals(i).select(0.5 * entry, 0.0)), i, j)
            else:
                y.store(0.25 * (turned.load(i, j) + turned.load(j, i)), i, j)
        if forwards:
            y.assign_product(factor, inner, lambda i: (0, i + 1))

    walk(w, shape[:-2], visit)
    w.settle(result, places[2])


@step_rule("mirror_triangle")
def write_mirrored(w: StepWriter, e: Equation) -> None:
    """Write a Hermitian matrix from one of its triangles."""
    x, upper = operand_of(w, e, e.inputs[0]), e.params["upper"]

    def entry(position: Position) -> Any:
        *stack, row, column = position
        if isinstance(row, int) and isinstance(column, int):
            low, high = min(row, column), max(row, column)
            value = x.at((*stack, low, high) if upper else (*stack, high, low))
            return conjugate_below(value, (row <= column) if upper else (row >= column), row == column)
        i, j = (w.function.constant(0, I64) + k for k in (row, column))
        least, most = i.intrinsic("smin", j), i.intrinsic("smax", j)
        value = x.at((*stack, least, most) if upper else (*stack, most, least))
        return conjugate_below(value, i.equals(least if upper else most), i.equals(j))

    def conjugate_below(value: Any, is_given: Any, is_diagonal: Any) -> Any:
        """Of complex numbers, conjugate what stands in the other triangle; the diagonal is real."""
        if not isinstance(value, Complex):
            return value
        real, imag = value
        zero = w.function.constant(0.0, imag.type)
        if isinstance(is_given, bool):
            return Complex(real, zero if is_diagonal else imag if is_given else -imag)
        return Complex(real, is_diagonal.select(zero, is_given.select(imag, -imag)))

    write_entries(w, e, entry)
